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
        cpu_s: found.waiting.map(|waiting| Real(waiting.cpu_s)),
    }
}

/// `With this change, the lines go from core to core 2 times instead of 900 in 1,000 accesses of another run (model). At 50 ns for each,
/// as measured here, that is worth 45 us, of 120 us of CPU time that as many accesses took when recorded.`
fn supported(found: &Simulated) -> String {
    format!("With this change, the lines go from core to core {} {}", transfers(found), worth(found))
}

fn worth(found: &Simulated) -> String {
    let (Some(ns), Some(seconds)) = (found.transfer_ns, found.worth_s()) else {
        return "What that is worth was not measured here.".to_owned();
    };
    let seconds = words::short_time(seconds);
    let of = found.waiting.map(|waiting| {
        let all = words::short_time(waiting.cpu_s);
        (format!("of {all} of CPU time that as many accesses took when recorded"), waiting.threads)
    });
    match of {
        Some((of, threads)) if found.is_waiting_in_turn() => format!(
            "At {ns} ns for each, as measured here, that is more than {threads} threads lose that wait in turn: it is worth about \
             {seconds}, {of}."
        ),
        Some((of, _)) => format!("At {ns} ns for each, as measured here, that is worth {seconds}, {of}."),
        None => format!("At {ns} ns for each, as measured here, that is worth {seconds}."),
    }
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
