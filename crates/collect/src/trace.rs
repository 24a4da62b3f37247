//! The manifest's entry for a reduced trace.

use carom_base::{Keep, Reduction};
use carom_base_wire::{ReuseMethod, Settings};
use carom_store::{TraceInfo, TraceMode};

use crate::record::Request;

/// How the trace of a request is reduced, where it is.
pub fn info(request: &Request) -> Option<TraceInfo> {
    let Reduction { latency, keep } = reduction(&request.settings)?;
    let common = TraceInfo { latency, sample: 1, ..TraceInfo::default() };
    Some(match keep {
        Keep::Lossy { sample, itanium } => {
            let mode = if itanium { TraceMode::Itanium } else { TraceMode::Lossy };
            TraceInfo { mode, sample, ..common }
        }
        Keep::Targeted { stores } => TraceInfo {
            mode: TraceMode::Targeted,
            stores: Some(stores),
            instructions: Some(request.targets.len() as u64),
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
