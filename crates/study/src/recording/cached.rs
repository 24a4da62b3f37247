//! Names that were stored with a recording, before those that its binaries give.

use std::collections::{BTreeSet, HashMap};

use carom_base::{Addr, Ip, Line, ProcessId, StackId};
use carom_store::{About, Name, Question, Recording, StoreError, store_names};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::heap::own_frames;
use super::{NamedBytes, Names, RecordedNames};
use crate::symbols::{ArrayObject, DataObject, Frame, Loop, Note, Preceding};

/// The most bytes of answers that are stored with a recording. Studies ask for what they rank first first, so what is left out
/// matters least.
const MAX_STORED_BYTES: usize = 16 << 20;
/// The most bytes of one answer: a chunk has room for it, whatever its other rows are.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// The names of a recording: an answer that was stored with it counts, and only for other questions the binaries are read.
/// Every answer is remembered, so that it can be stored.
pub struct CachedNames<'a> {
    recording: &'a Recording,
    binaries: RecordedNames<'a>,
    /// In the order in which they were asked for.
    answers: Vec<Name>,
    /// Where each is.
    index: HashMap<Question, usize>,
    /// Bytes of all of them.
    bytes: usize,
    /// Some are not stored yet.
    grown: bool,
    notes: BTreeSet<(ProcessId, Note)>,
    damaged: bool,
}

/// An answer as it is stored.
#[derive(Serialize, Deserialize)]
struct Answer<A> {
    is: A,
    /// Modules that gave no names for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<Note>,
}

impl<'a> CachedNames<'a> {
    /// Reads what was stored. Damaged parts are left out: the binaries are asked instead.
    pub fn new(recording: &'a Recording) -> Self {
        let mut names = Self {
            recording,
            binaries: RecordedNames::new(recording),
            answers: Vec::new(),
            index: HashMap::new(),
            bytes: 0,
            grown: false,
            notes: BTreeSet::new(),
            damaged: false,
        };
        let mut rows = recording.rows::<Name>();
        for row in rows.by_ref() {
            match row {
                Ok(name) => names.remember(name),
                Err(_) => names.damaged = true,
            }
        }
        names.damaged |= rows.truncated();
        names
    }

    /// Stores all answers, unless they are.
    ///
    /// # Errors
    /// They cannot be written. What was stored before remains.
    pub fn store(&mut self) -> Result<(), StoreError> {
        if self.grown {
            store_names(self.recording.dir(), &self.answers)?;
            self.grown = false;
        }
        Ok(())
    }

    /// Modules that gave no names for what was asked since the last call, and why, in order of processes and addresses.
    pub fn notes(&mut self) -> impl Iterator<Item = Note> + use<> {
        std::mem::take(&mut self.notes).into_iter().map(|(_, note)| note)
    }

    /// Whether parts of what was stored could not be read.
    pub fn are_damaged(&self) -> bool {
        self.damaged
    }

    fn remember(&mut self, name: Name) {
        let bytes = self.bytes + name.answer.len();
        if name.answer.len() <= MAX_ANSWER_BYTES && bytes <= MAX_STORED_BYTES {
            self.index.insert(name.question, self.answers.len());
            self.answers.push(name);
            self.bytes = bytes;
        }
    }

    fn known<A: DeserializeOwned>(&self, question: Question) -> Option<Answer<A>> {
        let name = self.answers.get(*self.index.get(&question)?)?;
        serde_json::from_str(&name.answer).ok()
    }

    /// The functions on a call path, as [`Symbols::call_path`](crate::symbols::Symbols::call_path) has them.
    fn frames(&mut self, process: ProcessId, path: &[Ip]) -> Vec<Frame> {
        let mut frames = Vec::new();
        for (index, ip) in path.iter().enumerate() {
            let is_return = index > 0;
            let question = Question { process, about: About::Code, at: Addr(ip.0), of: is_return.into() };
            frames.extend(self.answer(question, |names| names.frames(process, *ip, is_return)));
        }
        // A reader looks at the innermost source of the program's own; the others would only make reports larger.
        let excerpts = frames.iter_mut().filter(|frame: &&mut Frame| frame.source.is_some());
        excerpts.skip(1).for_each(|frame| frame.source = None);
        frames
    }

    /// The answer that is known, or that of the binaries.
    fn answer<A: Serialize + DeserializeOwned>(
        &mut self,
        question: Question,
        ask: impl FnOnce(&mut RecordedNames<'a>) -> A,
    ) -> A {
        let answer = self.known(question).unwrap_or_else(|| {
            let is = ask(&mut self.binaries);
            let answer = Answer { is, notes: self.binaries.notes(question.process) };
            if let Ok(json) = serde_json::to_string(&answer) {
                self.remember(Name { question, answer: json });
                self.grown = true;
            }
            answer
        });
        self.notes.extend(answer.notes.into_iter().map(|note| (question.process, note)));
        answer.is
    }
}

impl Names for CachedNames<'_> {
    fn call_path(&mut self, process: ProcessId, ip: Ip, stack: StackId) -> Vec<Frame> {
        let path = self.binaries.path(process, ip, stack);
        self.frames(process, &path)
    }

    fn object(&mut self, process: ProcessId, at: Addr) -> DataObject {
        let question = Question { process, about: About::Object, at, of: 0 };
        // Many blocks have one allocation site: its call path is not stored with each of them.
        let object =
            self.answer(question, |names| DataObject { allocation: Vec::new(), ..names.object(process, at) });
        let site = self.binaries.site_of(process, at);
        DataObject { allocation: own_frames(self.frames(process, &site)), ..object }
    }

    fn field(&mut self, process: ProcessId, at: Addr, width: u32) -> Option<String> {
        let question = Question { process, about: About::Field, at, of: u64::from(width) };
        self.answer(question, |names| names.field(process, at, width))
    }

    fn array(&mut self, process: ProcessId, at: Addr) -> Option<ArrayObject> {
        let question = Question { process, about: About::Array, at, of: 0 };
        self.answer(question, |names| names.array(process, at))
    }

    fn loop_around(&mut self, process: ProcessId, ip: Ip) -> Option<Loop> {
        let question = Question { process, about: About::Loop, at: Addr(ip.0), of: 0 };
        self.answer(question, |names| names.loop_around(process, ip))
    }

    fn preceding(&mut self, process: ProcessId, ip: Ip) -> Vec<Preceding> {
        let question = Question { process, about: About::Preceding, at: Addr(ip.0), of: 0 };
        self.answer(question, |names| names.preceding(process, ip))
    }

    /// The manifest has these.
    fn local(&mut self, process: ProcessId, shared: Addr) -> Option<Addr> {
        self.binaries.local(process, shared)
    }

    fn layout(&mut self, process: ProcessId, line: Line) -> Vec<NamedBytes> {
        let question = Question { process, about: About::Layout, at: line.start(), of: 0 };
        self.answer(question, |names| names.layout(process, line))
    }
}

#[cfg(test)]
mod tests;
