//! Reuses by other threads at other addresses of a line: false sharing (thesis 6.5.6).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use carom_base::{Addr, Ip, ProcessId, ReuseEvent, ReuseKind, ReuseOutcome, Scope, StackId, ThreadId, Touch};

use super::{
    FalseSharing, MAX_FALSE_SHARING, Part, ReuseInput,
    pairs::{part, same},
    weights::Weights,
};
use crate::recording::Names;

/// One side of a pair: an instruction, how it was reached, and the bytes that it accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Side {
    ip: Ip,
    stack: StackId,
    addr: Addr,
    width: u32,
}

impl Side {
    fn of(touch: &Touch) -> Self {
        let access = touch.access;
        Self { ip: access.ip, stack: touch.stack, addr: access.addr, width: access.width }
    }

    fn part(self, process: ProcessId, names: &mut dyn Names) -> Part {
        let offset = self.addr.offset_in_line() as u32;
        Part { offset, width: self.width, field: names.field(process, self.addr, self.width) }
    }
}

/// Events of one line.
#[derive(Default)]
struct LineTally {
    after_write: [f64; 2],
    distances: Vec<f64>,
    threads: BTreeSet<ThreadId>,
    pairs: HashMap<(Side, Side), f64>,
}

/// Reuses in the shared cache of bytes beside those that another thread had just written, by object, the one with most first.
/// A reuse by another thread is sure to move the line from core to core only after a write. So the shares leave out reuses
/// after reads, which would hide written data behind data that all threads read.
pub(super) fn false_sharing(input: &dyn ReuseInput, names: &mut dyn Names) -> Vec<FalseSharing> {
    let mut lines: BTreeMap<(ProcessId, Addr), LineTally> = BTreeMap::new();
    let mut moved = 0.0;
    let weights = Weights::of(input);
    let told_by = weights.tells_of_lines(Scope::Shared);
    for event in input.events().filter(|event| event.locality == told_by) {
        let Some(later) = by_another(&event) else { continue };
        let written = match ReuseKind::of(event.earlier.access.kind, later.access.kind) {
            ReuseKind::Raw => 0,
            ReuseKind::Waw => 1,
            ReuseKind::Rar | ReuseKind::War => continue,
        };
        let weight = weights.accesses(&event);
        moved += weight;
        if event.earlier.access.overlaps(later.access) {
            continue;
        }
        let process =
            input.threads().get(later.thread.0 as usize).map_or_else(ProcessId::default, |t| t.process);
        let line = lines.entry((process, later.access.addr.line().start())).or_default();
        if let Some(sum) = line.after_write.get_mut(written) {
            *sum += weight;
        }
        line.distances.push(event.distance as f64);
        line.threads.extend([event.earlier.thread, later.thread].map(|id| input.in_first_run(id)));
        let pair = (Side::of(&event.earlier), Side::of(&later));
        *line.pairs.entry(pair).or_default() += weight;
    }
    findings(lines, &Wholes { moved, accesses: weights.all() }, names)
}

/// What shares are of.
struct Wholes {
    /// Reuses by another thread after a write.
    moved: f64,
    accesses: f64,
}

/// The reuse, where another thread of the domain made it.
fn by_another(event: &ReuseEvent) -> Option<Touch> {
    let shared = event.scope == Scope::Shared && event.outcome == ReuseOutcome::Reused;
    event.later.filter(|later| shared && later.thread != event.earlier.thread)
}

/// One finding per object: the lines of an array of counters are one problem.
fn findings(
    lines: BTreeMap<(ProcessId, Addr), LineTally>,
    wholes: &Wholes,
    names: &mut dyn Names,
) -> Vec<FalseSharing> {
    let mut ranked: Vec<_> = lines.into_iter().collect();
    ranked.sort_by(|a, b| sum(&b.1).total_cmp(&sum(&a.1)).then(a.0.cmp(&b.0)));
    let mut found: Vec<(FalseSharing, LineTally)> = Vec::new();
    for ((process, line), tally) in ranked {
        let object = names.object(process, line);
        if let Some((_, known)) = found.iter_mut().find(|(f, _)| same(&f.object, &object)) {
            known.after_write.iter_mut().zip(tally.after_write).for_each(|(sum, more)| *sum += more);
            known.distances.extend(tally.distances);
            known.threads.extend(tally.threads);
            continue;
        }
        if found.len() >= MAX_FALSE_SHARING {
            continue;
        }
        let most = tally.pairs.iter().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(a.0)));
        let Some((earlier, later)) = most.map(|(sides, _)| *sides) else { continue };
        let parts = [earlier, later].map(|side| side.part(process, names));
        let [earlier, later] = [earlier, later].map(|side| names.call_path(process, side.ip, side.stack));
        let finding = FalseSharing {
            process,
            line,
            object,
            read_after_write: 0.0,
            write_after_write: 0.0,
            share: 0.0,
            share_of_accesses: 0.0,
            distance: 0.0,
            threads: Vec::new(),
            earlier,
            later,
            parts,
            seen: 0,
        };
        found.push((finding, tally));
    }
    let mut found: Vec<FalseSharing> =
        found.into_iter().map(|(finding, tally)| finding.with(tally, wholes)).collect();
    found.sort_by(|a, b| b.share.total_cmp(&a.share));
    found
}

fn sum(tally: &LineTally) -> f64 {
    tally.after_write.iter().sum()
}

impl FalseSharing {
    fn with(self, tally: LineTally, wholes: &Wholes) -> Self {
        let [read_after_write, write_after_write] = tally.after_write;
        Self {
            read_after_write,
            write_after_write,
            share: part(sum(&tally), wholes.moved),
            share_of_accesses: part(sum(&tally), wholes.accesses),
            distance: carom_study_stats::median(&tally.distances).unwrap_or(0.0),
            seen: tally.distances.len() as u64,
            threads: tally.threads.into_iter().collect(),
            ..self
        }
    }
}
