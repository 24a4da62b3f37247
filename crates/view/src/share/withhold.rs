//! Remedies that nobody should follow, or not yet.

use crate::model::Share;

/// Where too little was seen for a verdict, findings have no remedies: what takes too little time to matter needs none, and a
/// few events name another one in each run.
pub fn withhold(share: &mut Share) {
    let Share { findings, lines, not_enough: Some(few), .. } = share else { return };
    for finding in findings {
        let why = match few {
            _ if few.negligible => "Leave it: it takes too little time to matter.",
            _ if finding.events < few.needed as u64 => {
                "Run longer first: too little was seen to say what helps."
            }
            _ => continue,
        };
        finding.remedy.withhold(why);
        for &line in &finding.lines {
            if let Some(line) = lines.get_mut(line) {
                line.remedy.withhold(why);
            }
        }
    }
}
