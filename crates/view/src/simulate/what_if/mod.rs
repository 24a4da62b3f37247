//! What a change of the layout would do.

pub mod model;
mod text;

use carom_study::simulate::{Changed, SimulateFindings, WhatIf};

use self::model::{SimulatedChange, SimulatedWhatIf};
pub use self::text::print;
use super::{
    convert::{counts, sharing},
    part,
    verdict::times,
};
use crate::{
    model::{SimulatedCounts, SimulatedLine, Simulation},
    words::{self, percent},
};

/// A change of less than this part of the modelled cycles, or of the lines taken, is none.
const NOTABLE: f64 = 0.02;

/// From the findings to the model.
pub fn convert(findings: &SimulateFindings, found: &WhatIf) -> SimulatedWhatIf {
    let change = |changed: &Changed| SimulatedChange {
        change: changed.change.to_string(),
        objects: changed.objects,
        before: sharing(changed.before),
        after: sharing(changed.after),
    };
    SimulatedWhatIf {
        changes: found.changes.iter().map(change).collect(),
        total: counts(findings, &found.total),
        references: found.sites.iter().map(|site| counts(findings, site)).collect(),
        cut_accesses: found.cut,
    }
}

/// `pad:stats+8:64 would help (simulated): cores take lines from each other 12 times instead of 900, coherence misses are 10 instead of
/// 900, and misses of L1 … instead of …; these cost 83% fewer cycles (model).`
pub fn verdict(simulation: &Simulation, what_if: &SimulatedWhatIf) -> String {
    let names: Vec<String> = what_if.changes.iter().map(|change| change.change.clone()).collect();
    let (before, after) = (&simulation.total, &what_if.total);
    let cycles = change(before.cycles.0, after.cycles.0);
    let taken = change(before.caused.total() as f64, after.caused.total() as f64);
    let judged = if cycles <= -NOTABLE {
        "would help"
    } else if cycles >= NOTABLE {
        "would make it worse"
    } else if taken <= -NOTABLE {
        "would hardly help"
    } else {
        "would not help"
    };
    let cost = match percent(cycles.abs()) {
        _ if cycles.abs() < NOTABLE => "all misses cost about as many cycles (model)".to_owned(),
        part if cycles < 0.0 => format!("all misses cost {part} fewer cycles (model)"),
        part => format!("all misses cost {part} more cycles (model)"),
    };
    format!(
        "{} {judged} (simulated): cores take lines from each other {} instead of {}, coherence misses are {} instead of {}, misses of \
         L1 {} instead of {}; {cost}.",
        words::sentence_list(&names),
        times(after.caused.total()),
        words::thousands(before.caused.total()),
        words::thousands(after.l1.coherence),
        words::thousands(before.l1.coherence),
        words::thousands(after.l1.total),
        words::thousands(before.l1.total),
    )
}

/// The option that simulates the remedy for a falsely shared line: ``, or ` --what-if pad:stats+8:64 simulates that.` where an object
/// holds what one core stored to and, apart from that, what another had accessed.
pub fn proposal(line: &SimulatedLine, line_bytes: u32) -> String {
    let change = || {
        let pair = line.pairs.first()?;
        let (one, other) = (&pair.stored, &pair.accessed);
        let (low, high) = if one.offset_bytes < other.offset_bytes { (one, other) } else { (other, one) };
        let apart = low.offset_bytes + low.width_bytes <= high.offset_bytes;
        let offset = u64::try_from(line.object.offset_bytes + i64::from(high.offset_bytes)).ok()?;
        let inside = (1..line.object.size_bytes?).contains(&offset);
        (apart && inside).then(|| format!("pad:{}+{offset}:{line_bytes}", line.object.name))
    };
    // A shell takes blanks and brackets for its own.
    let plain = |change: &str| change.chars().all(|c| c.is_ascii_alphanumeric() || "_:+.".contains(c));
    match change() {
        Some(change) if plain(&change) => format!(" --what-if {change} simulates that."),
        Some(change) => format!(" --what-if '{change}' simulates that."),
        None => String::new(),
    }
}

/// What is warned of where accesses were cut in a notable number.
pub fn warning(simulation: &Simulation, what_if: &SimulatedWhatIf) -> Option<String> {
    let of_all = part(what_if.cut_accesses, simulation.total.accesses);
    (of_all >= NOTABLE).then(|| {
        format!(
            "{} of the accesses are to bytes that lie apart with this layout: each is simulated as several, but the changed program may \
             make fewer.",
            percent(of_all)
        )
    })
}

/// The part by which something grows; negative where it shrinks.
fn change(before: f64, after: f64) -> f64 {
    if before > 0.0 {
        after / before - 1.0
    } else if after > 0.0 {
        1.0
    } else {
        0.0
    }
}

/// Coherence misses of the core, lines that its stores took, and misses of L1.
fn shown(counts: &SimulatedCounts) -> [u64; 3] {
    [counts.l1.coherence, counts.caused.total(), counts.l1.total]
}
