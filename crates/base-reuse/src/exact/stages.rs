//! The analysis of private caches and that of shared ones, for two processors to do at once.
//!
//! ```text
//!                                    tasks
//!   Interleaver -> Router -----+--------------> private Stage
//!                              |                     | Part: a copy of it ...
//!                              |                     v
//!                              +--------------> shared Stage        ... takes the tasks since then
//! ```
//!
//! Each [`Stage`] takes its tasks in order, and needs the other one only once: until a second thread accesses something,
//! the private cache of the first is the shared one too, and only the private stage has something to do.

use std::sync::Arc;

use carom_base::{Access, Domain, Nanos, ReuseCell, Scope, ThreadId};
use carom_base_stream::Sink;

use super::{analyser::Exact, sequence::Sequence};

/// Accesses of a [`Task`] at most, unless one thread hands over more at once. With what the analysis needs beside them
/// they fit in a core's second-level cache.
const MOST_ACCESSES: usize = 8 << 10;

/// What a [`Stage`] is to do next.
#[derive(Clone, Debug)]
pub enum Task {
    /// To take these in.
    Accesses(Arc<Sequence>),
    /// To hand over what it made of this thread, which makes no more.
    Ended(ThreadId),
    /// The private stage is to give the shared one what it needs to begin.
    Part,
}

/// Tasks of both stages, in their order.
#[derive(Debug, Default)]
pub struct Tasks {
    /// Of the private stage.
    pub private: Vec<Task>,
    /// Of the shared stage. Not before the private stage has given it what it needs.
    pub shared: Vec<Task>,
}

/// Who has made accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Met {
    #[default]
    Nobody,
    One(ThreadId, Domain),
    Several,
}

/// Makes tasks of the accesses that an [`Interleaver`](carom_base_stream::Interleaver) gives on.
#[derive(Debug, Default)]
pub struct Router {
    met: Met,
    /// Not yet a task.
    next: Sequence,
    spare: Vec<Sequence>,
    tasks: Tasks,
}

impl Router {
    /// The tasks since this was last asked.
    pub fn tasks(&mut self) -> &mut Tasks {
        self.close();
        &mut self.tasks
    }

    /// A sequence to use again.
    pub fn give_back(&mut self, mut sequence: Sequence) {
        sequence.clear();
        self.spare.push(sequence);
    }

    fn close(&mut self) {
        if !self.next.is_empty() {
            let sequence = std::mem::replace(&mut self.next, self.spare.pop().unwrap_or_default());
            self.tell(&Task::Accesses(Arc::new(sequence)));
        }
    }

    fn tell(&mut self, task: &Task) {
        self.tasks.private.push(task.clone());
        if self.met == Met::Several {
            self.tasks.shared.push(task.clone());
        }
    }

    #[inline(always)]
    fn meet(&mut self, thread: ThreadId, domain: Domain) {
        match self.met {
            Met::Several => {}
            Met::Nobody => self.met = Met::One(thread, domain),
            Met::One(one, its) if (one, its) == (thread, domain) => {}
            Met::One(..) => self.part(),
        }
        if self.next.len() >= MOST_ACCESSES {
            self.close();
        }
    }

    #[cold]
    fn part(&mut self) {
        if self.met != Met::Several {
            self.close();
            self.tell(&Task::Part);
            self.met = Met::Several;
        }
    }
}

impl Sink for Router {
    #[inline]
    fn accesses(&mut self, thread: ThreadId, domain: Domain, accesses: &[Access], _: Nanos) {
        self.meet(thread, domain);
        self.next.push(thread, domain, accesses);
    }

    fn batch(&mut self, thread: ThreadId, domain: Domain, accesses: &mut Vec<Access>, _: Nanos) {
        self.meet(thread, domain);
        self.next.push_all(thread, domain, accesses);
    }

    fn ended(&mut self, thread: ThreadId) {
        // Its private cache goes, the shared one stays.
        self.part();
        self.close();
        self.tell(&Task::Ended(thread));
    }
}

/// One of the two. See the [module](self).
#[derive(Debug, Default)]
pub struct Stage {
    /// `None`: the other one is to give it.
    exact: Option<Exact>,
    /// It counts for the other one too.
    for_both: bool,
}

impl Stage {
    /// The private one; `exact` is to count private caches alone, and has seen nothing.
    pub fn private(exact: Exact) -> Self {
        Self { exact: Some(exact), for_both: true }
    }

    /// The shared one, which waits for what [`take`](Self::take) returns.
    pub const fn shared() -> Self {
        Self { exact: None, for_both: false }
    }

    /// The shared one begins.
    pub fn begin(&mut self, exact: Exact) {
        self.exact = Some(exact);
    }

    /// Whether it can take tasks.
    pub const fn has_begun(&self) -> bool {
        self.exact.is_some()
    }

    /// Does a task: `analyse` is [`Exact::sequence`], `counted` takes what threads that ended have done. Returns what the
    /// other stage begins with, where that is what was asked for.
    pub fn take(
        &mut self,
        task: &Task,
        analyse: impl FnOnce(&mut Exact, &Sequence),
        counted: impl FnOnce(&[ReuseCell]),
    ) -> Option<Exact> {
        let exact = self.exact.as_mut()?;
        match task {
            Task::Accesses(sequence) => analyse(exact, sequence),
            Task::Ended(thread) => counted(&exact.end(*thread)),
            Task::Part => {
                self.for_both = false;
                return Some(exact.shared_by_one());
            }
        }
        None
    }

    /// What each thread has done since this was last asked.
    pub fn drain(&mut self, mut counted: impl FnMut(&[ReuseCell])) {
        let Some(exact) = &mut self.exact else { return };
        let threads: Vec<ThreadId> = exact.threads().collect();
        for thread in threads {
            let mut cells = exact.drain(thread);
            counted(&cells);
            if self.for_both {
                cells.iter_mut().for_each(|cell| cell.scope = Scope::Shared);
                counted(&cells);
            }
        }
    }
}
