//! What every study reads of a recording alike.

use std::cell::Cell;

use carom_store::{Manifest, Recording, Row};

use crate::share::ThreadEntry;

/// A recording whose rows are read anew from disk for each pass.
pub(crate) struct Recorded<'a> {
    /// The recording.
    pub recording: &'a Recording,
    /// Its threads, in order of id.
    pub threads: Vec<ThreadEntry>,
    unreadable: Cell<u64>,
}

impl<'a> Recorded<'a> {
    /// Of this recording.
    pub fn new(recording: &'a Recording) -> Self {
        let threads = recording.manifest().threads.iter();
        let threads = threads.map(|thread| ThreadEntry::new(thread.id, thread.process)).collect();
        Self { recording, threads, unreadable: Cell::new(0) }
    }

    /// Its manifest.
    pub fn manifest(&self) -> &'a Manifest {
        self.recording.manifest()
    }

    /// Damaged chunks and unreadable files met so far. Their rows are missing from whatever was found, which the
    /// report must say.
    pub fn unreadable(&self) -> u64 {
        self.unreadable.get()
    }

    /// The rows of one kind that can be read; what cannot is counted.
    pub fn rows<R: Row>(&self) -> Box<dyn Iterator<Item = R> + '_> {
        Box::new(self.recording.rows::<R>().filter_map(|row| {
            if row.is_err() {
                self.unreadable.set(self.unreadable.get().saturating_add(1));
            }
            row.ok()
        }))
    }
}
