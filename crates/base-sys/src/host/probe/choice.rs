//! Which way of sampling `burst` takes.

use super::{DeliveryKind, Probes, Support};

/// How `burst` will sample, and why so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BurstChoice {
    /// How samples are delivered.
    pub delivery: DeliveryKind,
    /// Watchpoints per thread that can be used with it.
    pub watchpoints: u32,
    /// Why this one. A clause without a full stop, for `carom share` and `carom doctor` alike.
    pub reason: String,
}

impl BurstChoice {
    /// The engine, how it samples, and why. A sentence without a full stop.
    pub fn describe(&self) -> String {
        let Self { delivery, reason, .. } = self;
        format!("burst, sampling by {}: {reason}", delivery.words())
    }
}

/// The best delivery that works, or the reason why none does.
///
/// # Errors
/// The cause, a clause without a full stop.
pub fn choose_burst_delivery(probes: &Probes) -> Result<BurstChoice, String> {
    let kind = DeliveryKind::ALL.into_iter().find(|&kind| probes.timer(kind).works());
    let Some(delivery) = kind else {
        let posix = probes.timer(DeliveryKind::PosixTimer).cause().unwrap_or("POSIX CPU timers do not work");
        if probes.timers.iter().any(|timer| matches!(timer.support, Support::Unknown { .. })) {
            return Err(format!("no timer could be tried: {posix}"));
        }
        return Err(format!("no timer works: {}; {posix}", why_no_perf(probes)));
    };
    let on_perf = delivery != DeliveryKind::PosixTimer;
    let watchpoints = if on_perf && probes.watchpoints.works() { probes.slots } else { 0 };
    let reason = match delivery {
        DeliveryKind::Sigtrap => format!(
            "perf events are allowed, and {} delivers traps synchronously and waits where a program blocks them{}",
            probes.kernel,
            watch_trouble(probes)
        ),
        DeliveryKind::Setsig => {
            let cause =
                probes.timer(DeliveryKind::Sigtrap).cause().unwrap_or("synchronous traps do not work");
            format!("{cause}{}", watch_trouble(probes))
        }
        DeliveryKind::PosixTimer => why_no_perf(probes),
    };
    Ok(BurstChoice { delivery, watchpoints, reason })
}

/// Why threads have no debug registers to watch with, a clause without a full stop; `None` where they have some.
pub fn why_no_watchpoints(probes: &Probes) -> Option<String> {
    let cause = probes.watchpoints.cause()?;
    Some(if probes.perf.works() { cause.to_owned() } else { why_no_perf(probes) })
}

fn why_no_perf(probes: &Probes) -> String {
    match &probes.perf.support {
        Support::Yes => {
            let cause = probes.timer(DeliveryKind::Setsig).cause().unwrap_or("unknown");
            format!("perf timers do not work: {cause}")
        }
        Support::No { cause, .. } => cause.clone(),
        Support::Unknown { cause } => format!("perf events could not be tried: {cause}"),
    }
}

/// What is wrong with watchpoints, for the end of a clause; empty where all is well.
fn watch_trouble(probes: &Probes) -> String {
    match probes.watchpoints.cause() {
        Some(cause) => format!("; without watchpoints: {cause}"),
        None if probes.slots == 1 => "; with one watchpoint only".into(),
        None if probes.slots < super::Slots::MOST => format!("; with {} watchpoints only", probes.slots),
        None => String::new(),
    }
}
