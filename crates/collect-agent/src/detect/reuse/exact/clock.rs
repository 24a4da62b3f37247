//! Converts the time-stamp counter, by which accesses are stamped, to `CLOCK_MONOTONIC`.
//!
//! The kernel uses the counter as a clock only where it runs at one rate and agrees on all processors. Elsewhere stamps
//! say nothing about the order of two threads.

use std::{fs, sync::OnceLock};

use carom_base::Nanos;
use carom_base_sys::clock;
use carom_collect_translate::{stamp_now, stamps_are_invariant};

/// The clocks that the kernel may use.
const SOURCES: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";

/// How long the two clocks are compared: a reading takes a hundred thousandth of that.
const COMPARED_NS: u64 = 1_000_000;

/// Readings of both clocks. The closest pair counts: the thread may have been interrupted between the others.
const READINGS: usize = 5;

/// The two clocks at one moment, and their rate.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    begin: Reading,
    /// Nanoseconds of a tick, times 2 to the power of [`FRACTION_BITS`].
    ns_per_tick: u64,
}

const FRACTION_BITS: u32 = 32;

/// The time of accesses that are made now.
pub fn now() -> Nanos {
    Clock::of_process().map_or_else(clock::now, |clock| clock.at(stamp_now()))
}

/// Both clocks.
#[derive(Clone, Copy, Debug)]
struct Reading {
    ticks: u64,
    at: Nanos,
}

impl Clock {
    /// The clock of this process and its children by fork, compared when it is first asked for. `None`: stamps are of no use.
    pub fn of_process() -> Option<Self> {
        static CLOCK: OnceLock<Option<Clock>> = OnceLock::new();
        *CLOCK.get_or_init(|| is_reliable().then(Self::compare).flatten())
    }

    fn compare() -> Option<Self> {
        let begin = Reading::now();
        while clock::now().0 < begin.at.0 + COMPARED_NS {}
        Self::between(begin, Reading::now())
    }

    fn between(begin: Reading, end: Reading) -> Option<Self> {
        let passed = u128::from(end.at.0.saturating_sub(begin.at.0)) << FRACTION_BITS;
        let ns_per_tick = passed.checked_div(end.ticks.saturating_sub(begin.ticks).into())?;
        Some(Self { begin, ns_per_tick: u64::try_from(ns_per_tick).ok()? })
    }

    /// When the counter said `ticks`.
    pub fn at(&self, ticks: u64) -> Nanos {
        let passed = u128::from(ticks.saturating_sub(self.begin.ticks)) * u128::from(self.ns_per_tick);
        // To the nearest: the factor itself is rounded down.
        let nanoseconds = (passed + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS;
        Nanos(self.begin.at.0.saturating_add(nanoseconds as u64))
    }
}

impl Reading {
    fn now() -> Self {
        let reading = |_| {
            let (before, at, behind) = (stamp_now(), clock::now(), stamp_now());
            (behind.saturating_sub(before), Self { ticks: before.midpoint(behind), at })
        };
        let nearest = (0..READINGS).map(reading).min_by_key(|(apart, _)| *apart);
        nearest.map_or(Self { ticks: stamp_now(), at: clock::now() }, |(_, reading)| reading)
    }
}

/// Whether the counter runs evenly, and the kernel has not found it to differ between processors.
fn is_reliable() -> bool {
    stamps_are_invariant() && fs::read_to_string(SOURCES).map_or(true, |sources| is_among(&sources))
}

fn is_among(sources: &str) -> bool {
    sources.split_whitespace().any(|source| source == "tsc")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2.5 ticks a nanosecond: 1000 ns are 2500 ticks.
    #[test]
    fn ticks_become_nanoseconds() {
        let reading = |ticks, at| Reading { ticks, at: Nanos(at) };
        let clock = Clock::between(reading(10_000, 500), reading(2_510_000, 1_000_500)).unwrap();
        assert_eq!([0, 10_000, 12_500].map(|ticks| clock.at(ticks).0), [500, 500, 1500]);
        // Three hours on, within a millionth.
        let (ticks, ns) = (10_000 + 27_000_000_000_000u64, 500 + 10_800_000_000_000);
        assert!(clock.at(ticks).0.abs_diff(ns) < 10_800_000);
        assert!(Clock::between(reading(1, 1), reading(1, 2)).is_none());
    }

    #[test]
    fn the_kernel_says_what_it_goes_by() {
        assert!(is_among("tsc kvm-clock \n") && !is_among("hpet acpi_pm \n"));
    }

    #[test]
    fn both_clocks_go_on_together() {
        if let Some(clock) = Clock::of_process() {
            let [before, at, behind] = [clock::now(), clock.at(stamp_now()), clock::now()];
            let slack = 1_000_000;
            assert!(at.0 + slack >= before.0 && at.0 <= behind.0 + slack);
        }
    }
}
