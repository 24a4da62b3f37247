use carom_base::{Ip, ProcessId, StackId};

use super::{Row, collect};
use crate::chunk::{ColumnReader, ColumnWriter, Kind};
use crate::error::Damage;
use crate::rules::{Report, RowContext, Rule};

/// The most frames of a call path that are stored. The writer cuts longer ones and marks them as truncated.
pub const MAX_FRAMES: usize = 1 << 16;

/// A call path, stored once per process and referred to by its id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    /// Whose addresses these are.
    pub process: ProcessId,
    /// What samples, events and objects of the process call it. Never [`StackId::NONE`].
    pub id: StackId,
    /// Innermost first: the instruction itself, then the return addresses.
    pub frames: Vec<Ip>,
    /// The path goes on, but unwinding stopped or the depth was limited.
    pub truncated: bool,
}

impl Row for Stack {
    const KIND: Kind = Kind::new(3, "stacks.chunks");
    const HAS_STACKS: bool = false;

    fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(stored_frames(self))
    }

    fn encode(rows: &[Self], columns: &mut ColumnWriter) {
        columns.integers(rows.iter().map(|row| u64::from(row.process.0)));
        columns.words(rows.iter().map(|row| row.id.0));
        columns.bytes(rows.iter().map(|row| u8::from(row.truncated || row.frames.len() > MAX_FRAMES)));
        columns.integers(rows.iter().map(|row| stored_frames(row).len() as u64));
        columns.integers(rows.iter().flat_map(|row| stored_frames(row).iter().map(|ip| ip.0)));
    }

    fn decode(rows: u32, columns: &mut ColumnReader<'_>) -> Result<Vec<Self>, Damage> {
        let mut process = columns.integers()?;
        let mut id = columns.words()?;
        let mut truncated = columns.bytes()?;
        let mut depth = columns.integers()?;
        let mut frame = columns.integers()?;
        collect(rows, |_| {
            Ok(Self {
                process: ProcessId(process.read_u32()?),
                id: StackId(id.read()?),
                frames: collect(depth.read_u32()?, |_| frame.read().map(Ip))?,
                truncated: truncated.read_bool()?,
            })
        })
    }

    fn check(&self, context: &mut RowContext<'_>, report: Report<'_>) {
        context.process(self.process, report);
        if self.id == StackId::NONE {
            report(Rule::StackIsNone);
        }
        if self.frames.is_empty() {
            report(Rule::StackIsEmpty(self.id));
        }
        if !context.add_stack(self.process, self.id) {
            report(Rule::StackTwice(self.id));
        }
    }
}

fn stored_frames(stack: &Stack) -> &[Ip] {
    stack.frames.get(..MAX_FRAMES).unwrap_or(&stack.frames)
}
