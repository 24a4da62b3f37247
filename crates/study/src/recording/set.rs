use carom_base::{Addr, Domain, Nanos, ThreadId};
use carom_base_stream::{Sink, Streamed, Synchronisation, frame::Form};
use carom_store::{Manifest, Recording, Row, Spread, StoreError};

use super::{CachedNames, Combine, Merged, MergedNames, Names, Offsets, Recorded};
use crate::symbols::Note;

/// The recordings of one report.
pub struct Recordings<'a> {
    recorded: Vec<Recorded<'a>>,
    names: Vec<CachedNames<'a>>,
}

/// Gives accesses on with other numbers of threads.
struct Renumbered<'a, S> {
    sink: &'a mut S,
    offsets: Offsets,
}

/// The same before that.
struct RenumberedForm<'a, F> {
    form: &'a mut F,
    offsets: Offsets,
}

impl<F: Form> Form for RenumberedForm<'_, F> {
    type Access = F::Access;

    fn site(&mut self, thread: ThreadId, first: &Streamed) -> F::Access {
        self.form.site(self.offsets.thread(thread), first)
    }

    #[inline]
    fn at(access: F::Access, addr: Addr) -> F::Access {
        F::at(access, addr)
    }
}

impl<A, S: Sink<A>> Sink<A> for Renumbered<'_, S> {
    fn accesses(&mut self, thread: ThreadId, domain: Domain, accesses: &[A], until: Nanos) {
        self.sink.accesses(self.offsets.thread(thread), domain, accesses, until);
    }

    fn synchronises(&mut self, thread: ThreadId, synchronisation: Synchronisation, at: Nanos) {
        self.sink.synchronises(self.offsets.thread(thread), synchronisation, at);
    }

    fn ended(&mut self, thread: ThreadId) {
        self.sink.ended(self.offsets.thread(thread));
    }
}

impl<'a> Recordings<'a> {
    /// Prepares the study of `recordings`.
    pub fn new(recordings: &'a [Recording]) -> Self {
        Self {
            recorded: recordings.iter().map(Recorded::new).collect(),
            names: recordings.iter().map(CachedNames::new).collect(),
        }
    }

    /// All of them as one, and the names that belong to it.
    pub fn merged(&mut self, combine: Combine) -> (Merged<'_, Recorded<'a>>, MergedNames<'_>) {
        let merged = Merged::new(&self.recorded, combine);
        let names = MergedNames::new(&merged, self.names.iter_mut().map(|names| names as &mut dyn Names));
        (merged, names)
    }

    /// The rows of one kind, recording by recording, with the numbers that they have there. What cannot be read is
    /// counted as unreadable.
    pub fn rows<R: Row>(&self) -> impl Iterator<Item = R> + '_ {
        self.recorded.iter().flat_map(Recorded::rows::<R>)
    }

    /// Gives the accesses that recordings keep to `sink`, one recording after the other, with the numbers that threads have among
    /// all, in the form that is asked for. Those of each process are in the order of time.
    ///
    /// Returns the first problem, where not all could be read.
    pub fn streams_as<F: Form>(
        &self,
        spread: Spread,
        form: &mut F,
        sink: &mut impl Sink<F::Access>,
    ) -> Option<StoreError> {
        let offsets = Merged::new(&self.recorded, Combine::Ranks).offsets();
        let mut problem = None;
        for (recorded, offsets) in self.recorded.iter().zip(offsets) {
            let mut form = RenumberedForm { form: &mut *form, offsets };
            let mut sink = Renumbered { sink: &mut *sink, offsets };
            let done = recorded.recording().stream_as(spread, &mut form, &mut sink);
            problem = problem.or(done.err());
        }
        problem
    }

    /// Each manifest, with the offsets of its numbers.
    pub fn manifests(&self) -> Vec<(&'a Manifest, Offsets)> {
        let offsets = Merged::new(&self.recorded, Combine::Ranks).offsets();
        self.recorded.iter().map(Recorded::manifest).zip(offsets).collect()
    }

    /// Recordings of one command line without ranks are runs of one program.
    pub fn combine(&self) -> Combine {
        let mut manifests = self.recorded.iter().map(Recorded::manifest);
        let Some(first) = manifests.next() else { return Combine::Ranks };
        let same = |each: &Manifest| each.argv == first.argv && each.rank.is_none();
        if same(first) && manifests.all(same) { Combine::Runs } else { Combine::Ranks }
    }

    /// Modules that gave no names, each once, and why. Ask after each study.
    pub fn notes(&mut self) -> Vec<Note> {
        let mut once: Vec<Note> = Vec::new();
        for note in self.names.iter_mut().flat_map(CachedNames::notes) {
            // Processes of one program share their libraries, wherever these are mapped.
            if !once.iter().any(|known| known.module == note.module && known.problem == note.problem) {
                once.push(note);
            }
        }
        once
    }

    /// Stores with each recording the names that studies have asked it for, so that they stay the same when binaries change
    /// or are not at hand.
    ///
    /// # Errors
    /// A recording cannot be written to.
    pub fn store_names(&mut self) -> Result<(), StoreError> {
        self.names.iter_mut().try_for_each(CachedNames::store)
    }

    /// Whether parts of the names that were stored are damaged.
    pub fn has_damaged_names(&self) -> bool {
        self.names.iter().any(CachedNames::are_damaged)
    }

    /// Damaged chunks and unreadable files. Their rows are missing from what the study found. Ask after each study.
    pub fn unreadable(&self) -> u64 {
        self.recorded.iter().map(Recorded::unreadable).sum()
    }
}
