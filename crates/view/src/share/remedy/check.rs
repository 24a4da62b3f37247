//! What a simulation said of a remedy, in words.

use carom_study::share::{Check, Simulated};

use crate::{
    model::{CheckOutcome, EstimateBasis, Real, RemedyCheck, SimulatedRemedy},
    words::{self, thousands},
};

/// From the finding to the model.
pub fn convert(check: &Check) -> RemedyCheck {
    let (outcome, simulated, text) = match check {
        Check::NotOfLayout => {
            let text = "Not checked: it is no change of a layout, and only those can be simulated.";
            (CheckOutcome::NotOfLayout, None, text.to_owned())
        }
        Check::Unchecked(why) => (CheckOutcome::Unchecked, None, format!("Could not be checked: {why}.")),
        Check::Simulated(found) if found.helps() => {
            (CheckOutcome::Supported, Some(simulated(found)), supported(found))
        }
        Check::Simulated(found) => (CheckOutcome::Withdrawn, Some(simulated(found)), withdrawn(found)),
    };
    RemedyCheck { outcome, text, simulated }
}

fn simulated(found: &Simulated) -> SimulatedRemedy {
    SimulatedRemedy {
        basis: EstimateBasis::Modelled,
        machine: found.machine.clone(),
        accesses: found.accesses,
        changes: found.changes.clone(),
        transfers_before: found.before,
        transfers_after: found.after,
        transfer_ns: found.transfer_ns.map(Real),
        worth_s: found.worth_s().map(Real),
    }
}

/// `With this change, the lines go from core to core 2 times instead of 900 in 1,000 accesses of another run (model). At 50 ns for each,
/// as measured here, that is worth 45 us.`
fn supported(found: &Simulated) -> String {
    let worth = match (found.transfer_ns, found.worth_s()) {
        (Some(ns), Some(seconds)) => {
            format!("At {ns} ns for each, as measured here, that is worth {}.", words::short_time(seconds))
        }
        _ => "What that is worth was not measured here.".to_owned(),
    };
    format!("With this change, the lines go from core to core {} {worth}", transfers(found))
}

fn withdrawn(found: &Simulated) -> String {
    let changes: Vec<String> = found.changes.iter().map(|change| format!("`{change}`")).collect();
    format!(
        "Withdrawn, because a simulation does not support it: with {}, the lines would go from core to core {}",
        words::sentence_list(&changes),
        transfers(found),
    )
}

fn transfers(found: &Simulated) -> String {
    format!(
        "{} times instead of {} in {} accesses of another run (model).",
        thousands(found.after),
        thousands(found.before),
        thousands(found.accesses)
    )
}
