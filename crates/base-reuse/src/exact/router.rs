//! What comes out of an [`Interleaver`](carom_base_stream::Interleaver), as inputs of the first of the [stages](super::stages).

use carom_base::{Access, Domain, Nanos, ThreadId};
use carom_base_stream::Sink;

use super::sequence::Sequence;

/// The most accesses of an [`Input`], unless one thread hands over more at once. With the other data of the analysis
/// they fit into a core's second-level cache.
const MOST_ACCESSES: usize = 8 << 10;

/// What the [`TopStage`](super::TopStage) takes.
#[derive(Clone, Debug)]
pub enum Input {
    /// Accesses of threads.
    Accesses(Sequence),
    /// This thread makes no more accesses.
    Ended(ThreadId),
    /// From here on there are several threads.
    Part,
}

/// The thread that made accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Met {
    #[default]
    Nobody,
    One(ThreadId, Domain),
    Several,
}

/// Makes inputs from the output of an [`Interleaver`](carom_base_stream::Interleaver).
#[derive(Debug, Default)]
pub struct Router {
    met: Met,
    /// Accesses that are not in an input yet.
    next: Sequence,
    spare: Vec<Sequence>,
    inputs: Vec<Input>,
}

impl Router {
    /// The inputs since the last call.
    pub fn inputs(&mut self) -> &mut Vec<Input> {
        self.close();
        &mut self.inputs
    }

    /// A sequence for reuse.
    pub fn give_back(&mut self, mut sequence: Sequence) {
        sequence.clear();
        self.spare.push(sequence);
    }

    fn close(&mut self) {
        if !self.next.is_empty() {
            let sequence = std::mem::replace(&mut self.next, self.spare.pop().unwrap_or_default());
            self.inputs.push(Input::Accesses(sequence));
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
            self.inputs.push(Input::Part);
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
        // Its private cache ends, the shared one stays.
        self.part();
        self.close();
        self.inputs.push(Input::Ended(thread));
    }
}
