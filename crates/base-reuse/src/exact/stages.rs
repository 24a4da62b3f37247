//! The analysis in stages, for several processors at once.
//!
//! ```text
//!                         inputs                   tasks
//!   Interleaver -> Router --------> TopStage -+------------> private Stage
//!                                             |                   | Part: a copy of it ...
//!                                             |                   v
//!                                             +------------> shared Stage     ... takes the tasks since then
//! ```
//!
//! Each of the three processes what comes to it in order. The top answers most accesses, for both kinds of caches; the stages
//! get the [`Moves`] that it makes of the others. A stage needs the other one only once: until a second thread accesses
//! something, the private cache of the first is the shared one too, and only the private stage has work to do.

use std::sync::Arc;

use carom_base::{ReuseCell, Scope, ThreadId};

use super::{analyser::Exact, moves::Moves, router::Input, sequence::Sequence, tops::Tops};

/// The next work of a [`Stage`].
#[derive(Clone, Debug)]
pub enum Task {
    /// Analyse these accesses, where places are sampled.
    Accesses(Arc<Sequence>),
    /// Analyse what the top could not answer, where they are not.
    Moves(Arc<Moves>),
    /// Hand over the counts of this thread, which makes no more accesses.
    Ended(ThreadId),
    /// The private stage gives the shared one the state with which to begin.
    Part,
}

/// Tasks of both stages, in order.
#[derive(Debug, Default)]
pub struct Tasks {
    /// For the private stage.
    pub private: Vec<Task>,
    /// For the shared stage. Not processed before the private stage has given it its state.
    pub shared: Vec<Task>,
}

/// The stage before the two others. See the [module](self).
#[derive(Debug, Default)]
pub struct TopStage {
    /// `None`: nothing is analysed.
    tops: Option<Tops>,
    /// Several threads make accesses, and the shared stage has something to do.
    several: bool,
    spare: Vec<Moves>,
    tasks: Tasks,
}

impl TopStage {
    /// Before the first access.
    pub fn new(tops: Tops) -> Self {
        Self { tops: Some(tops), ..Self::nothing() }
    }

    /// Analyses nothing.
    pub const fn nothing() -> Self {
        let tasks = Tasks { private: Vec::new(), shared: Vec::new() };
        Self { tops: None, several: false, spare: Vec::new(), tasks }
    }

    /// The tasks since the last call.
    pub fn tasks(&mut self) -> &mut Tasks {
        &mut self.tasks
    }

    /// Moves for reuse.
    pub fn give_back(&mut self, mut moves: Moves) {
        moves.clear();
        self.spare.push(moves);
    }

    /// Processes an input: `answer` is [`Tops::sequence`]. Returns the accesses for reuse, where they are not in a task.
    pub fn take(
        &mut self,
        input: Input,
        answer: impl FnOnce(&mut Tops, &Sequence, &mut Moves),
    ) -> Option<Sequence> {
        let tops = self.tops.as_mut()?;
        match input {
            Input::Accesses(sequence) if tops.are_used() => {
                let mut moves = self.spare.pop().unwrap_or_else(|| tops.no_moves());
                answer(tops, &sequence, &mut moves);
                self.tell(&Task::Moves(Arc::new(moves)));
                return Some(sequence);
            }
            Input::Accesses(sequence) => self.tell(&Task::Accesses(Arc::new(sequence))),
            Input::Ended(thread) => {
                self.empty();
                self.tell(&Task::Ended(thread));
            }
            Input::Part => {
                self.empty();
                self.tell(&Task::Part);
                self.several = true;
            }
        }
        None
    }

    /// Hands over everything that the top has.
    pub fn empty(&mut self) {
        let Some(tops) = &mut self.tops else { return };
        let mut moves = self.spare.pop().unwrap_or_else(|| tops.no_moves());
        tops.empty(&mut moves);
        self.tell(&Task::Moves(Arc::new(moves)));
    }

    fn tell(&mut self, task: &Task) {
        self.tasks.private.push(task.clone());
        if self.several {
            self.tasks.shared.push(task.clone());
        }
    }
}

/// One of the two stages. See the [module](self).
#[derive(Debug, Default)]
pub struct Stage {
    /// `None`: the other stage has still to give it.
    exact: Option<Exact>,
    /// It counts for the other stage, too.
    for_both: bool,
}

impl Stage {
    /// The private stage; `exact` must count only private caches, and must not have seen an access.
    pub fn private(exact: Exact) -> Self {
        Self { exact: Some(exact), for_both: true }
    }

    /// The shared stage, which waits for the result of [`take`](Self::take).
    pub const fn shared() -> Self {
        Self { exact: None, for_both: false }
    }

    /// The shared stage begins.
    pub fn begin(&mut self, exact: Exact) {
        self.exact = Some(exact);
    }

    /// Whether it can process tasks.
    pub const fn has_begun(&self) -> bool {
        self.exact.is_some()
    }

    /// Processes a task: `analyse` is [`Exact::work`], `counted` gets the counts of threads that have ended.
    /// Returns the state for the other stage, if the task asks for it.
    pub fn take(
        &mut self,
        task: &Task,
        analyse: impl FnOnce(&mut Exact, &Task),
        counted: impl FnOnce(&[ReuseCell]),
    ) -> Option<Exact> {
        let exact = self.exact.as_mut()?;
        match task {
            Task::Accesses(_) | Task::Moves(_) => analyse(exact, task),
            Task::Ended(thread) => counted(&exact.end(*thread)),
            Task::Part => {
                self.for_both = false;
                return Some(exact.shared_by_one());
            }
        }
        None
    }

    /// The counts of each thread since the last call.
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
