//! Accesses that a reduced trace lacks, although it has a later one of the same basic block.
//!
//! Of two stores to one line in a row, the first takes the line from other cores. A trace that lacks it blames the second one,
//! which the paper saw (Marathe, Mueller and de Supinski, section 6.2.1: FT), and likewise loads behind a store to the same line
//! (section 6.3: BT). The code tells what the block must have accessed before: these accesses are put in again.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
};

use carom_base::{Addr, Domain, Ip, Nanos, ProcessId, ThreadId};
use carom_base_sim::Input;
use carom_base_stream::{Sink, Streamed, Synchronisation, frame::Form};
use carom_store::Spread;

use super::instructions::Instructions;
use crate::{
    recording::{Combine, Names as _, Recordings, ThreadEntry},
    symbols::Preceding,
};

/// What precedes the instructions of a trace, where something does.
#[derive(Debug, Default)]
pub(super) struct Implied {
    before: HashMap<(ProcessId, Ip), Vec<Preceding>>,
    /// Accesses that were put in.
    pub count: u64,
}

impl Implied {
    /// Nothing for recordings that keep all accesses.
    pub fn of(recordings: &mut Recordings<'_>, threads: &[ThreadEntry]) -> Self {
        if recordings.manifests().iter().all(|(manifest, _)| manifest.engine.trace.is_none()) {
            return Self::default();
        }
        let processes = threads.iter().map(|thread| thread.process).collect();
        let mut seen = Seen { processes, instructions: HashSet::new() };
        // What cannot be read is told when it is simulated.
        let _ = recordings.streams_as(Spread::ALL, &mut seen, &mut Nowhere);
        let mut instructions: Vec<_> = seen.instructions.into_iter().collect();
        instructions.sort_unstable();
        let (_, mut names) = recordings.merged(Combine::Ranks);
        let all = instructions.into_iter().map(|(process, ip)| ((process, ip), names.preceding(process, ip)));
        Self { before: all.filter(|(_, before)| !before.is_empty()).collect(), count: 0 }
    }

    /// Gives accesses on to `sink`, with those that they imply.
    pub fn complete<'a, S: Sink<Input>>(
        &'a mut self,
        instructions: &'a RefCell<Instructions>,
        sink: &'a mut S,
    ) -> impl Sink<Input> + use<'a, S> {
        Whole { implied: self, instructions, sink, accesses: Vec::new() }
    }
}

/// The instructions of a trace.
struct Seen {
    /// By number of the thread.
    processes: Vec<ProcessId>,
    instructions: HashSet<(ProcessId, Ip)>,
}

impl Form for Seen {
    type Access = ();

    fn site(&mut self, thread: ThreadId, first: &Streamed) {
        if let Some(&process) = self.processes.get(thread.0 as usize) {
            self.instructions.insert((process, first.access.ip));
        }
    }

    fn at((): (), _: Addr) {}
}

struct Nowhere;

impl Sink<()> for Nowhere {
    fn accesses(&mut self, _: ThreadId, _: Domain, _: &[()], _: Nanos) {}

    fn ended(&mut self, _: ThreadId) {}
}

struct Whole<'a, S> {
    implied: &'a mut Implied,
    instructions: &'a RefCell<Instructions>,
    sink: &'a mut S,
    accesses: Vec<Input>,
}

impl<S: Sink<Input>> Sink<Input> for Whole<'_, S> {
    fn accesses(&mut self, thread: ThreadId, domain: Domain, accesses: &[Input], until: Nanos) {
        let Implied { before, count } = &mut *self.implied;
        if before.is_empty() {
            return self.sink.accesses(thread, domain, accesses, until);
        }
        let mut instructions = self.instructions.borrow_mut();
        self.accesses.clear();
        let mut last: Option<Input> = None;
        for each in accesses {
            let addr = Addr(each.addr());
            let known = instructions.of(each.reference());
            let preceding =
                known.and_then(|known| before.get(&(known.process, known.ip))).into_iter().flatten();
            let near = preceding.filter_map(|preceding| preceding.access(addr));
            for access in near.filter(|access| access.addr.line() == addr.line()) {
                let Some(input) = instructions.input(thread, access).filter(|input| last != Some(*input))
                else {
                    continue;
                };
                self.accesses.push(input);
                *count += 1;
            }
            self.accesses.push(*each);
            last = Some(*each);
        }
        drop(instructions);
        self.sink.accesses(thread, domain, &self.accesses, until);
    }

    fn synchronises(&mut self, thread: ThreadId, synchronisation: Synchronisation, at: Nanos) {
        self.sink.synchronises(thread, synchronisation, at);
    }

    fn ended(&mut self, thread: ThreadId) {
        self.sink.ended(thread);
    }
}

#[cfg(test)]
mod tests {
    use carom_base::{Access, AccessKind};

    use super::*;

    #[derive(Default)]
    struct Given(Vec<Input>);

    impl Sink<Input> for Given {
        fn accesses(&mut self, _: ThreadId, _: Domain, accesses: &[Input], _: Nanos) {
            self.0.extend(accesses);
        }

        fn ended(&mut self, _: ThreadId) {}
    }

    fn store(ip: u64, addr: u64) -> Access {
        Access { ip: Ip(ip), addr: Addr(addr), width: 8, kind: AccessKind::Store }
    }

    /// The sink gets `expected` of these stores, where the instruction at 0x20 follows a store at 0x10 to 8 bytes less.
    fn completed(accesses: &[Access], expected: &[Access]) -> u64 {
        let before = Preceding { at: 0x10, offset: -8, width: 8, kind: AccessKind::Store as u8 };
        let mut implied =
            Implied { before: HashMap::from([((ProcessId(0), Ip(0x20)), vec![before])]), count: 0 };
        let instructions = RefCell::new(Instructions::new(vec![ProcessId(0)]));
        let inputs = |accesses: &[Access]| -> Vec<Input> {
            let input = |&access| instructions.borrow_mut().input(ThreadId(0), access);
            accesses.iter().filter_map(input).collect()
        };
        let mut given = Given::default();
        let made = inputs(accesses);
        implied.complete(&instructions, &mut given).accesses(ThreadId(0), Domain(0), &made, Nanos(0));
        assert_eq!(given.0, inputs(expected));
        implied.count
    }

    #[test]
    fn what_came_before_is_put_in() {
        let (first, second) = (store(0x10, 0x1000), store(0x20, 0x1008));
        assert_eq!(completed(&[second], &[first, second]), 1);
        assert_eq!(completed(&[first, second], &[first, second]), 0, "it is there");
        assert_eq!(completed(&[first], &[first]), 0);
        // In the line before: whether that one was taken says nothing of this one.
        let other = store(0x20, 0x1000);
        assert_eq!(completed(&[other], &[other]), 0);
    }
}
