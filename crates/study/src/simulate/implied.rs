//! Accesses that a reduced trace lacks, although it has a later one of the same basic block.
//!
//! Of two stores to one line in a row, the first takes the line from other cores. A trace that lacks it blames the second one,
//! which the paper saw (Marathe, Mueller and de Supinski, section 6.2.1: FT), and likewise loads behind a store to the same line
//! (section 6.3: BT). The code tells what the block must have accessed before: these accesses are put in again.

use std::collections::{HashMap, HashSet};

use carom_base::{Access, Domain, Ip, Nanos, ProcessId, ThreadId};
use carom_base_stream::{Sink, Streamed, Synchronisation};

use crate::{
    recording::{Combine, Names as _, Recordings, ThreadEntry},
    symbols::Preceding,
};

/// What precedes the instructions of a trace, where something does.
#[derive(Debug, Default)]
pub(super) struct Implied {
    /// By number of the thread.
    processes: Vec<ProcessId>,
    before: HashMap<(ProcessId, Ip), Vec<Preceding>>,
    /// Accesses that were put in.
    pub count: u64,
}

impl Implied {
    /// Nothing for recordings that keep all accesses.
    pub fn of(recordings: &mut Recordings<'_>, threads: &[ThreadEntry]) -> Self {
        let processes = threads.iter().map(|thread| thread.process).collect();
        let mut implied = Self { processes, ..Self::default() };
        if recordings.manifests().iter().all(|(manifest, _)| manifest.engine.trace.is_none()) {
            return implied;
        }
        let mut seen = Seen { processes: &implied.processes, instructions: HashSet::new() };
        // What cannot be read is told when it is simulated.
        let _ = recordings.streams(&mut seen);
        let mut instructions: Vec<_> = seen.instructions.into_iter().collect();
        instructions.sort_unstable();
        let (_, mut names) = recordings.merged(Combine::Ranks);
        let all = instructions.into_iter().map(|(process, ip)| ((process, ip), names.preceding(process, ip)));
        implied.before = all.filter(|(_, before)| !before.is_empty()).collect();
        implied
    }

    /// Gives accesses on to `sink`, with those that they imply.
    pub fn complete<'a, S>(&'a mut self, sink: &'a mut S) -> impl Sink<Streamed> + use<'a, S>
    where
        S: Sink<Streamed>,
    {
        Whole { implied: self, sink, accesses: Vec::new() }
    }
}

/// The instructions of a trace.
struct Seen<'a> {
    processes: &'a [ProcessId],
    instructions: HashSet<(ProcessId, Ip)>,
}

impl Sink<Streamed> for Seen<'_> {
    fn accesses(&mut self, thread: ThreadId, _: Domain, accesses: &[Streamed], _: Nanos) {
        if let Some(&process) = self.processes.get(thread.0 as usize) {
            self.instructions.extend(accesses.iter().map(|each| (process, each.access.ip)));
        }
    }

    fn ended(&mut self, _: ThreadId) {}
}

struct Whole<'a, S> {
    implied: &'a mut Implied,
    sink: &'a mut S,
    accesses: Vec<Streamed>,
}

impl<S: Sink<Streamed>> Sink<Streamed> for Whole<'_, S> {
    fn accesses(&mut self, thread: ThreadId, domain: Domain, accesses: &[Streamed], until: Nanos) {
        let Implied { processes, before, count } = &mut *self.implied;
        let Some(&process) = processes.get(thread.0 as usize).filter(|_| !before.is_empty()) else {
            return self.sink.accesses(thread, domain, accesses, until);
        };
        self.accesses.clear();
        let mut last: Option<Access> = None;
        for each in accesses {
            let line = each.access.addr.line();
            let preceding = before.get(&(process, each.access.ip)).into_iter().flatten();
            let lacking = preceding
                .filter_map(|preceding| preceding.access(each.access.addr))
                .filter(|access| access.addr.line() == line && last != Some(*access));
            for access in lacking {
                self.accesses.push(Streamed { access, atomic: false });
                *count += 1;
            }
            self.accesses.push(*each);
            last = Some(each.access);
        }
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
    use carom_base::{AccessKind, Addr};

    use super::*;

    #[derive(Default)]
    struct Given(Vec<Access>);

    impl Sink<Streamed> for Given {
        fn accesses(&mut self, _: ThreadId, _: Domain, accesses: &[Streamed], _: Nanos) {
            self.0.extend(accesses.iter().map(|each| each.access));
        }

        fn ended(&mut self, _: ThreadId) {}
    }

    fn store(ip: u64, addr: u64) -> Access {
        Access { ip: Ip(ip), addr: Addr(addr), width: 8, kind: AccessKind::Store }
    }

    /// What the sink gets of these stores, where the instruction at 0x20 follows a store at 0x10 to 8 bytes less.
    fn whole(accesses: &[Access]) -> (Vec<Access>, u64) {
        let before = Preceding { at: 0x10, offset: -8, width: 8, kind: AccessKind::Store as u8 };
        let mut implied = Implied {
            processes: vec![ProcessId(0)],
            before: HashMap::from([((ProcessId(0), Ip(0x20)), vec![before])]),
            count: 0,
        };
        let mut given = Given::default();
        let streamed: Vec<_> = accesses.iter().map(|&access| Streamed { access, atomic: false }).collect();
        implied.complete(&mut given).accesses(ThreadId(0), Domain(0), &streamed, Nanos(0));
        (given.0, implied.count)
    }

    #[test]
    fn what_came_before_is_put_in() {
        let (first, second) = (store(0x10, 0x1000), store(0x20, 0x1008));
        assert_eq!(whole(&[second]), (vec![first, second], 1));
        assert_eq!(whole(&[first, second]), (vec![first, second], 0), "it is there");
        assert_eq!(whole(&[first]), (vec![first], 0));
        // In the line before: whether that one was taken says nothing of this one.
        assert_eq!(whole(&[store(0x20, 0x1000)]), (vec![store(0x20, 0x1000)], 0));
    }
}
