//! Every access that the exact analysis takes in, in its order, in a file for an independent check.

use carom_base::{Access, ThreadId};
use carom_base_reuse::Domain;
use carom_base_wire::{kept_access, kept_turn};

use crate::session;

/// Bytes that are written at a time.
const WRITE_BYTES: usize = 1 << 20;

/// Accesses that wait to be written. What the disk has no room for ends the keeping: a trace with gaps checks nothing.
#[derive(Debug, Default)]
pub struct Kept {
    bytes: Vec<u8>,
    whose: Option<(ThreadId, Domain)>,
    failed: bool,
}

impl Kept {
    /// The next accesses.
    pub fn keep(&mut self, thread: ThreadId, domain: Domain, accesses: &[Access]) {
        if self.failed {
            return;
        }
        if self.whose != Some((thread, domain)) {
            self.whose = Some((thread, domain));
            self.bytes.extend(kept_turn(thread, domain.0 as u16).to_le_bytes());
        }
        for access in accesses {
            self.bytes.extend(kept_access(access).to_le_bytes());
        }
        if self.bytes.len() >= WRITE_BYTES {
            self.write();
        }
    }

    /// Writes down what waits.
    pub fn write(&mut self) {
        // The child of a fork has its parent's session until it has one of its own.
        let session = session::current().filter(|session| session.is_of_this_process());
        if !self.bytes.is_empty() {
            self.failed |= !session.is_some_and(|session| session.append_kept(&self.bytes));
            self.bytes.clear();
        }
    }
}
