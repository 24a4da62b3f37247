use carom_base::AccessKind;

use crate::{input::Reference, protocol::State};

/// A change of a line's states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The access that changed them: how many accesses, of all cores, were before it.
    pub position: u64,
    /// Its core.
    pub core: usize,
    /// What it belongs to.
    pub reference: Reference,
    /// Load, store, or both. The access need not be one to this line: another line may have needed the place.
    pub kind: AccessKind,
    /// The state in each core afterwards.
    pub states: Box<[State]>,
}

/// The changes of one line, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// The line: its address divided by the bytes of a line.
    pub line: u64,
    /// At first it is in no cache.
    pub changes: Vec<Change>,
}

impl History {
    pub(crate) fn new(line: u64) -> Self {
        Self { line, changes: Vec::new() }
    }

    /// Whether these states differ from the last ones.
    pub(crate) fn differs(&self, mut states: impl Iterator<Item = State>) -> bool {
        match self.changes.last() {
            Some(last) => !states.eq(last.states.iter().copied()),
            None => states.any(|state| state != State::Invalid),
        }
    }
}
