//! How wide the program's accesses are: the example of `docs/adding-a-study.md`.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use carom_base::{Sample, SampleOutcome};

use crate::Study;
use crate::recording::{Combine, Input, Losses, Recordings};

/// How many of the sampled accesses have each width.
#[derive(Clone, Copy, Debug, Default)]
pub struct WidthsStudy;

/// What was sampled in one run or in several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WidthsFindings {
    /// Sampled accesses by their width in bytes.
    pub samples: BTreeMap<u32, u64>,
    /// What was lost while recording.
    pub losses: Losses,
}

impl Study for WidthsStudy {
    type Findings = WidthsFindings;

    fn study(&self, recordings: &mut Recordings<'_>) -> WidthsFindings {
        let mut samples = BTreeMap::new();
        for sample in recordings.rows::<Sample>() {
            if let SampleOutcome::Access(access) = sample.outcome {
                *samples.entry(access.width).or_insert(0) += 1;
            }
        }
        let (input, _names) = recordings.merged(Combine::Ranks);
        WidthsFindings { samples, losses: input.losses() }
    }
}
