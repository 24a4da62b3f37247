//! Reduced traces: what they look at, and the manifest's entry for them.

use carom_base::{Keep, Reduction};
use carom_base_wire::{ReuseMethod, Settings};
use carom_store::{TraceInfo, TraceMode};

/// An instruction of the program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CodeAddress {
    /// The file that it is in.
    pub path: String,
    /// Its address there.
    pub address: u64,
}

/// How the trace of a request with these settings is reduced, where it is. `targets`: what a targeted one looks at.
pub fn info(settings: &Settings, targets: &[CodeAddress]) -> Option<TraceInfo> {
    let Reduction { latency, keep } = reduction(settings)?;
    let common = TraceInfo { latency, sample: 1, ..TraceInfo::default() };
    Some(match keep {
        Keep::Lossy { sample, itanium } => {
            let mode = if itanium { TraceMode::Itanium } else { TraceMode::Lossy };
            TraceInfo { mode, sample, ..common }
        }
        Keep::Targeted { stores } => TraceInfo {
            mode: TraceMode::Targeted,
            stores: Some(stores),
            instructions: Some(targets.len() as u64),
            ..common
        },
        Keep::Loads => TraceInfo { mode: TraceMode::Loads, ..common },
    })
}

fn reduction(settings: &Settings) -> Option<Reduction> {
    match settings.reuse?.method {
        ReuseMethod::Reduced(reduction) => Some(reduction),
        ReuseMethod::Sampled { .. } | ReuseMethod::Exact { .. } | ReuseMethod::Kept => None,
    }
}
