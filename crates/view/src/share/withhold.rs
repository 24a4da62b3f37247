//! Remedies that nobody should follow, or not yet.

use crate::model::{CheckOutcome, NotEnoughData, Remedy, Share};

/// Where too little was seen for a verdict, findings have no remedies: what takes too little time to matter needs none, and a
/// few events name another one in each run. A remedy that a simulation supports rests on more than those events, and stays.
pub fn withhold(share: &mut Share) {
    let Share { findings, lines, not_enough: Some(few), .. } = share else { return };
    for finding in findings {
        let Some(why) = why(few, finding.events) else { continue };
        withhold_from(&mut finding.remedy, few, why);
        for &line in &finding.lines {
            if let Some(line) = lines.get_mut(line) {
                withhold_from(&mut line.remedy, few, why);
            }
        }
    }
}

fn why(few: &NotEnoughData, events: u64) -> Option<&'static str> {
    match few {
        _ if few.negligible => Some("Leave it: it takes too little time to matter."),
        _ if events < few.needed as u64 => Some("Run longer first: too little was seen to say what helps."),
        _ => None,
    }
}

fn withhold_from(remedy: &mut Remedy, few: &NotEnoughData, why: &str) {
    let supported = remedy.check.as_ref().is_some_and(|check| check.outcome == CheckOutcome::Supported);
    if few.negligible || !supported {
        remedy.withhold(why);
    }
}
