//! Which events fit the counters at once.

use std::slice;

use super::{
    PmuError, PmuEvent,
    counters::{PmuCounters, Whom},
};

/// Divides events into groups, each of which its PMUs count without multiplexing. Nobody knows what fits but the
/// kernel, which is asked: how many counters a hypervisor, the watchdog and other profilers leave, and which events go
/// only into some of them.
///
/// # Errors
/// An event is not counted even alone.
pub fn groups(events: Vec<PmuEvent>) -> Result<Vec<Vec<PmuEvent>>, PmuError> {
    let mut all: Vec<Vec<PmuEvent>> = Vec::new();
    for event in events {
        alone(&event)?;
        // The first in which it fits: the groups before are full, or their counters are not for it.
        match all.iter_mut().find(|group| fits(group, &event)) {
            Some(group) => group.push(event),
            None => all.push(vec![event]),
        }
    }
    Ok(all)
}

fn fits(group: &[PmuEvent], event: &PmuEvent) -> bool {
    matches!(counted(&[group, slice::from_ref(event)].concat()), Ok(true))
}

/// Tries whether the event is counted where nothing else is.
///
/// # Errors
/// It is not.
pub fn alone(event: &PmuEvent) -> Result<(), PmuError> {
    if counted(slice::from_ref(event))? { Ok(()) } else { Err(PmuError::NoCounter(event.name.clone())) }
}

/// Counts the events for a moment, in this thread. Whether all had counters.
fn counted(events: &[PmuEvent]) -> Result<bool, PmuError> {
    let mut counters = PmuCounters::open(events, Whom::ThisThread, true)?;
    if counters.enable().is_err() {
        return Ok(false);
    }
    let readings = counters.read();
    Ok(readings.len() == events.len()
        && readings.iter().all(|(_, found)| found.running_ns > 0 || found.enabled_ns == 0))
}
