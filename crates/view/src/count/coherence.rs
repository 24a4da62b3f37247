//! Whether cores wait for each other: the table by core, and a sentence.

use carom_study::count;

use super::model::{CoherenceCore, CountCoherence};
use crate::{
    model::Real,
    text::page::{Page, Style},
    words,
};

const CORE: usize = 8;
const VALUE: usize = 14;

/// As the model has it.
pub fn coherence(found: &count::Coherence) -> CountCoherence {
    let core = |core: &count::CoreTraffic| CoherenceCore {
        core: core.core as u32,
        accesses: Real(core.accesses),
        bus_transactions: Real(core.transactions),
        load_transfers: Real(core.load_transfers),
        store_transfers: Real(core.store_transfers),
        upgrades: Real(core.upgrades),
        invalidations: Real(core.invalidations),
        false_invalidations: Real(core.false_invalidations),
        transfer_share: Real(core.share()),
        waiting_rate: Real(core.rate()),
        bottleneck: core.is_bottleneck(),
    };
    CountCoherence { cores: found.cores.iter().map(core).collect() }
}

/// `Coherence may be a bottleneck on 2 of 2 cores: up to 98% of the lines that core 1 asks for come from other cores (simulated).`
pub fn verdict(found: &CountCoherence) -> String {
    if found.cores.len() < 2 {
        return "One core makes all accesses: there is no coherence traffic (simulated).".into();
    }
    let limited: Vec<&CoherenceCore> = found.cores.iter().filter(|core| core.bottleneck).collect();
    let worst = limited.iter().max_by(|a, b| a.transfer_share.0.total_cmp(&b.transfer_share.0));
    let Some(worst) = worst else {
        return "Coherence is no bottleneck on any core (simulated).".into();
    };
    let share = words::percent(worst.transfer_share.0);
    let false_part = match worst.false_invalidations.0 / worst.invalidations.0 {
        part if part.is_finite() && worst.invalidations.0 > 0.0 => {
            format!(", and {} of its invalidations are false sharing", words::percent(part))
        }
        _ => String::new(),
    };
    format!(
        "Coherence may be a bottleneck on {} of {}: {share} of the lines that core {} asks for come from other cores{false_part} \
         (simulated); carom simulate and carom share tell where.",
        limited.len(),
        words::count(found.cores.len(), "core"),
        worst.core
    )
}

/// The table by core. There is none where one core makes all accesses.
pub fn print(page: &mut Page, found: &CountCoherence) {
    if found.cores.len() < 2 {
        return;
    }
    page.heading("What cores ask of each other (modelled, by simulated caches; mean of the runs)");
    page.plain("  ").cell(Style::Dim, "core", CORE);
    for head in ["accesses", "bus", "from cores", "for loads", "for stores", "upgrades", "invalidations"] {
        page.put(Style::Dim, &format!("{head:>VALUE$}"));
    }
    page.end();
    for core in &found.cores {
        let style = if core.bottleneck { Style::Orange } else { Style::Cyan };
        page.plain("  ").cell(style, &core.core.to_string(), CORE);
        let number = |value: Real| words::measure(value.0.round() as u64);
        for value in [
            number(core.accesses),
            number(core.bus_transactions),
            words::percent(core.transfer_share.0),
            number(core.load_transfers),
            number(core.store_transfers),
            number(core.upgrades),
            number(core.invalidations),
        ] {
            page.plain(&format!("{value:>VALUE$}"));
        }
        page.end();
    }
    let note = "bus: lines that the core's own caches lacked, and rights to write; from cores: the part of the lines and rights that \
                another core had. A bottleneck is where that is 10% or more, and at least one access in 1,000 waits for another core.";
    page.indented(Style::Dim, 2, "", note);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn core(core: usize, load_transfers: f64) -> count::CoreTraffic {
        count::CoreTraffic {
            core,
            accesses: 1000.0,
            transactions: 200.0,
            load_transfers,
            invalidations: 40.0,
            false_invalidations: 10.0,
            ..count::CoreTraffic::default()
        }
    }

    #[test]
    fn the_verdict_names_the_core_that_waits_most() {
        let of =
            |cores: &[count::CoreTraffic]| verdict(&coherence(&count::Coherence { cores: cores.to_vec() }));
        assert_eq!(
            of(&[core(0, 60.0), core(1, 100.0), core(2, 2.0)]),
            "Coherence may be a bottleneck on 2 of 3 cores: 50% of the lines that core 1 asks for come from other cores, and 25% of \
             its invalidations are false sharing (simulated); carom simulate and carom share tell where."
        );
        assert_eq!(of(&[core(0, 2.0), core(1, 2.0)]), "Coherence is no bottleneck on any core (simulated).");
        assert!(of(&[core(0, 100.0)]).starts_with("One core"));
    }
}
