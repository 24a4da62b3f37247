use carom_base::{Addr, ProcessId};

use super::{Row, collect};
use crate::chunk::{ColumnReader, ColumnWriter, Kind};
use crate::error::Damage;
use crate::rules::{Report, RowContext, Rule};

/// What was asked about an address of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Question {
    /// Whose address.
    pub process: ProcessId,
    /// Which question.
    pub about: About,
    /// An instruction, a byte of data, or the first byte of a line.
    pub at: Addr,
    /// What else the answer depends on: see [`About`].
    pub of: u64,
}

/// The questions that have names as answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum About {
    /// The functions at an instruction, or, where `of` is 1, at the call that returns to it.
    Code,
    /// The object that holds a byte.
    Object,
    /// The variable or field that holds `of` bytes.
    Field,
    /// The variables and fields in a line.
    Layout,
    /// The array that holds a byte.
    Array,
    /// The innermost loop around an instruction.
    Loop,
    /// What the basic block of an instruction accessed before it.
    Preceding,
}

impl About {
    const ALL: [Self; 7] =
        [Self::Code, Self::Object, Self::Field, Self::Layout, Self::Array, Self::Loop, Self::Preceding];

    fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

/// A name as it was when the recording ended: a question and its answer as JSON, which only studies read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The question.
    pub question: Question,
    /// The answer.
    pub answer: String,
}

impl Row for Name {
    const KIND: Kind = Kind::new(8, "names.chunks");
    const HAS_STACKS: bool = false;

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.answer.len()
    }

    fn encode(rows: &[Self], columns: &mut ColumnWriter) {
        columns.integers(rows.iter().map(|row| u64::from(row.question.process.0)));
        columns.bytes(rows.iter().map(|row| row.question.about as u8));
        columns.integers(rows.iter().map(|row| row.question.at.0));
        columns.words(rows.iter().map(|row| row.question.of));
        columns.integers(rows.iter().map(|row| row.answer.len() as u64));
        columns.bytes(rows.iter().flat_map(|row| row.answer.bytes()));
    }

    fn decode(rows: u32, columns: &mut ColumnReader<'_>) -> Result<Vec<Self>, Damage> {
        let mut process = columns.integers()?;
        let mut about = columns.bytes()?;
        let mut at = columns.integers()?;
        let mut of = columns.words()?;
        let mut length = columns.integers()?;
        let mut answer = columns.bytes()?;
        collect(rows, |_| {
            let question = Question {
                process: ProcessId(process.read_u32()?),
                about: about.read_as(About::from_code)?,
                at: Addr(at.read()?),
                of: of.read()?,
            };
            let length = usize::try_from(length.read()?).map_err(|_| Damage::Column)?;
            let answer = answer.read_slice(length)?.to_vec();
            Ok(Self { question, answer: String::from_utf8(answer).map_err(|_| Damage::Value)? })
        })
    }

    fn check(&self, context: &mut RowContext<'_>, report: Report<'_>) {
        context.process(self.question.process, report);
        if serde_json::from_str::<serde::de::IgnoredAny>(&self.answer).is_err() {
            report(Rule::NotJson);
        }
    }
}
