//! From findings to the model.

use carom_study::{
    simulate::{
        Counts, Inclusion, LineFinding, Machine, Matched, Misses, Pair, Part, Protocol, Replacement, Sharing,
        SimulateFindings, Site, Taken,
    },
    symbols::Frame,
};

use super::{compare, what_if};
use crate::{
    model::{
        Real, SimulatedCore, SimulatedCounts, SimulatedLevel, SimulatedLine, SimulatedMachine,
        SimulatedMatrix, SimulatedMisses, SimulatedObject, SimulatedPair, SimulatedPart, SimulatedReference,
        SimulatedSharing, SimulatedSynchronisations, Simulation,
    },
    named::{self, frame, hexadecimal},
};

/// The whole answer.
pub fn simulation(findings: &SimulateFindings) -> Simulation {
    let total = counts(findings, &findings.total);
    // Cores without accesses have nothing to show.
    let busy: Vec<usize> = (0..findings.cores.len())
        .filter(|core| findings.cores.get(*core).is_some_and(|c| !c.is_empty()))
        .collect();
    let cells = |of: &dyn Fn((usize, usize)) -> u64| -> Vec<Vec<u64>> {
        busy.iter().map(|row| busy.iter().map(|column| of((*row, *column))).collect()).collect()
    };
    Simulation {
        machine: findings.problem.is_none().then(|| machine(&findings.name, &findings.machine)),
        order: findings.order.name().into(),
        synchronisations: findings
            .matched
            .map(|Matched { all, unmatched }| SimulatedSynchronisations { all, unmatched }),
        references: findings.sites.iter().map(|site| reference(findings, site, total.cycles.0)).collect(),
        implied_accesses: findings.implied,
        other_instructions: findings.other_sites,
        objects: findings.objects.iter().map(object).collect(),
        unnamed_lines: findings.unnamed_lines,
        lines: findings.lines.iter().map(line).collect(),
        other_lines: findings.other_lines,
        cores: busy
            .iter()
            .filter_map(|core| {
                let threads = findings.cores.get(*core)?;
                Some(SimulatedCore { core: *core, threads: threads.iter().map(|thread| thread.0).collect() })
            })
            .collect(),
        invalidations: SimulatedMatrix {
            true_sharing: cells(&|at| findings.invalidations[at].true_sharing),
            false_sharing: cells(&|at| findings.invalidations[at].false_sharing),
        },
        transfers: cells(&|at| findings.transfers[at]),
        what_if: match &findings.what_if {
            Some(Ok(found)) => Some(what_if::convert(findings, found)),
            _ => None,
        },
        compare: findings.comparison.as_ref().map(compare::convert),
        total,
    }
}

fn machine(name: &str, machine: &Machine) -> SimulatedMachine {
    let levels = machine.levels().map(|(name, level)| SimulatedLevel {
        name: name.into(),
        bytes: level.bytes,
        ways: level.ways,
        sets: machine.sets(&level),
        replacement: match level.replacement {
            Replacement::Lru => "lru",
            Replacement::Plru => "plru",
            Replacement::Random => "random",
        }
        .into(),
        inclusion: match level.inclusion {
            Inclusion::Inclusive => "inclusive",
            Inclusion::Exclusive => "exclusive",
            Inclusion::NonInclusive => "non-inclusive",
        }
        .into(),
    });
    SimulatedMachine {
        name: name.into(),
        protocol: match machine.protocol {
            Protocol::Msi => "MSI",
            Protocol::Mesi => "MESI",
            Protocol::Mesif => "MESIF",
            Protocol::Moesi => "MOESI",
        }
        .into(),
        sockets: machine.sockets,
        cores_per_socket: machine.cores_per_socket,
        line_bytes: machine.line_bytes,
        levels: levels.collect(),
    }
}

fn object(taken: &Taken) -> SimulatedObject {
    SimulatedObject {
        object: named::object(&taken.object),
        invalidations: sharing(taken.sharing),
        lines: taken.lines,
    }
}

fn reference(findings: &SimulateFindings, site: &Site, cycles: f64) -> SimulatedReference {
    let innermost = site.path.first();
    let counts = counts(findings, &site.counts);
    SimulatedReference {
        process: site.process.0,
        function: innermost.and_then(|frame| frame.function.clone()),
        file: innermost.and_then(|frame| frame.file.clone()),
        line: innermost.and_then(|frame| frame.line),
        call_path: path(&site.path),
        object: site.object.as_ref().map(named::object),
        share: Real(if cycles > 0.0 { counts.cycles.0 / cycles } else { 0.0 }),
        counts,
    }
}

pub(super) fn counts(findings: &SimulateFindings, counts: &Counts) -> SimulatedCounts {
    SimulatedCounts {
        accesses: counts.accesses(),
        loads: counts.loads,
        stores: counts.stores,
        read_modify_writes: counts.read_modify_writes,
        l1: misses(counts.l1),
        l2: misses(counts.l2),
        socket: misses(counts.socket),
        coherence_load_misses: counts.coherence_load_misses,
        upgrades: counts.upgrades,
        caused: sharing(counts.caused),
        received: sharing(counts.received),
        from_core: counts.sources.core,
        from_l3: counts.sources.l3,
        from_remote: counts.sources.remote,
        from_memory: counts.sources.memory,
        back_invalidations: counts.back_invalidations,
        writebacks: counts.writebacks,
        memory_writebacks: counts.memory_writebacks,
        cycles: Real(findings.cycles(counts)),
        coherence_cycles: Real(findings.coherence_cycles(counts)),
    }
}

fn misses(misses: Misses) -> SimulatedMisses {
    let Misses { cold, capacity, conflict, coherence } = misses;
    SimulatedMisses { total: misses.total(), cold, capacity, conflict, coherence }
}

pub(super) fn sharing(sharing: Sharing) -> SimulatedSharing {
    let Sharing { true_sharing, false_sharing } = sharing;
    SimulatedSharing { true_sharing, false_sharing }
}

fn line(line: &LineFinding) -> SimulatedLine {
    SimulatedLine {
        process: line.process.0,
        address: hexadecimal(line.address.0),
        object: named::object(&line.object),
        invalidations: sharing(line.sharing),
        pairs: line.pairs.iter().map(pair).collect(),
        other_pairs: line.other_pairs,
    }
}

fn pair(pair: &Pair) -> SimulatedPair {
    SimulatedPair {
        by: path(&pair.by),
        of: path(&pair.of),
        invalidations: sharing(pair.sharing),
        stored: part(&pair.stored),
        accessed: part(&pair.accessed),
    }
}

fn part(part: &Part) -> SimulatedPart {
    SimulatedPart { offset_bytes: part.offset, width_bytes: part.width, field: part.field.clone() }
}

fn path(frames: &[Frame]) -> Vec<crate::model::Frame> {
    frames.iter().map(frame).collect()
}
