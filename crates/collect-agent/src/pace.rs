//! How often to sample: the period follows what observation takes of the program's time.
//!
//! Samples are drawn as often as the budget allows. All threads of all processes of a session have one period, which
//! begins short and is doubled as often as needed. A detector of sharing compares what threads published since each
//! other's last samples; so threads whose periods differed would see less of each other. What a sample stands for is
//! decided before it is known (`carom_collect_translate::double_periods`), so weights stay exact.
//!
//! A sequence of accesses keeps its period until the next sample, so that a change has its full effect only later. Therefore
//! what a sample takes is multiplied by what it stands for: the sum is what all samples would take at the shortest period,
//! whatever their periods were.

use std::sync::atomic::Ordering::Relaxed;

use carom_base::Sample;
use carom_base_wire::{Control, Settings};

/// The least time between two reports of a thread, in nanoseconds: each reads the thread's CPU time by a system call.
const REPORT_EVERY_NS: u64 = 500_000;

/// The CPU time of all threads after which the period may change, in nanoseconds. 5% of it pay for some 100 samples.
const DECIDE_EVERY_NS: u64 = 4_000_000;

/// What observation may take beyond the budget before the period is doubled, in nanoseconds: the first samples are the most
/// expensive ones, and those of short programs are to be many. Not more than this is saved up for later.
const CREDIT_NS: u64 = 10_000_000;

/// The period is halved where samples would then take no more than this part of the budget, so that it is not doubled again
/// at once.
const PART_TO_HALVE: f64 = 2.0 / 3.0;

/// The most that is charged for a sample, in nanoseconds. What seems to take longer was mostly preempted: on a busy machine
/// one such sample would outweigh all others.
const LONGEST_NS: u64 = 20_000;

/// What observation took of one thread, since it last reported that to the session.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    /// As [`Control::sampling_ns`].
    sampling: u64,
    /// As [`Control::watching_ns`].
    watching: u64,
    /// The thread's CPU time at the last report.
    cpu: u64,
    /// When that was.
    reported: u64,
}

impl Pace {
    /// Of a thread that has run for `cpu` nanoseconds when it begins to be observed, `now`.
    pub fn begin(now: u64, cpu: u64) -> Self {
        Self { cpu, reported: now, ..Self::default() }
    }

    /// Adds the cost of a sample whose period was doubled this often, in nanoseconds.
    pub fn add_sample(&mut self, cost: u64, doublings: u8) {
        self.sampling += cost.min(LONGEST_NS) << doublings.min(Sample::MOST_DOUBLINGS);
    }

    /// Adds the cost of a touch of what is watched, in nanoseconds.
    pub fn add_touch(&mut self, cost: u64) {
        self.watching += cost.min(LONGEST_NS);
    }

    /// Tells the session what was spent, from time to time: true where the period may have changed. `now`: nanoseconds of any
    /// clock; `cpu`: those of the thread's CPU time.
    pub fn report(
        &mut self,
        now: u64,
        cpu: impl FnOnce() -> u64,
        control: &Control,
        settings: &Settings,
    ) -> bool {
        let is_due = now.saturating_sub(self.reported) >= REPORT_EVERY_NS;
        if is_due {
            self.tell(now, cpu(), control, settings);
        }
        is_due
    }

    /// Tells the session at once: the thread ends. Many may be too short for another report.
    pub fn tell(&mut self, now: u64, cpu: u64, control: &Control, settings: &Settings) {
        let spent = std::mem::replace(self, Self::begin(now, cpu));
        decide(control, settings, cpu.saturating_sub(spent.cpu), &spent);
    }
}

/// Adds what one thread spent while it `ran`, and decides if that is enough to go by.
fn decide(control: &Control, settings: &Settings, ran: u64, spent: &Pace) {
    // ATOMICS: sums and a number, none of which protects anything else. Any process of the session can write them.
    control.sampling_ns.fetch_add(spent.sampling, Relaxed);
    control.watching_ns.fetch_add(spent.watching, Relaxed);
    let ran = control.ran_ns.fetch_add(ran, Relaxed).saturating_add(ran);
    // One thread decides.
    if ran < DECIDE_EVERY_NS || control.ran_ns.compare_exchange(ran, 0, Relaxed, Relaxed).is_err() {
        return;
    }
    let budget = Budget {
        allowed: ran as f64 * f64::from(settings.budget_ppm) / 1e6,
        sampling: control.sampling_ns.swap(0, Relaxed) as f64,
        watching: control.watching_ns.swap(0, Relaxed) as f64,
    };
    let now = control.doublings.load(Relaxed).min(settings.doublings);
    let owed = control.owed_ns.load(Relaxed) as f64 + budget.spent(now) - budget.allowed;
    // A negative number becomes 0.
    control.owed_ns.store(owed.min(2.0 * CREDIT_NS as f64) as u64, Relaxed);
    let next = budget.doublings(now, settings.doublings);
    let has_credit = owed <= CREDIT_NS as f64;
    if next < now || next > now && !has_credit {
        control.doublings.store(next, Relaxed);
    }
}

/// What all threads may spend in a stretch of time, and what they spent, in nanoseconds.
struct Budget {
    allowed: f64,
    /// On samples, had they had the shortest period.
    sampling: f64,
    watching: f64,
}

impl Budget {
    /// What it takes with a period that is doubled this often.
    fn spent(&self, doublings: u32) -> f64 {
        self.sampling / 2f64.powi(doublings as i32) + self.watching
    }

    /// How often to double the period from now on.
    fn doublings(&self, now: u32, most: u32) -> u32 {
        let least_within = |allowed| (0..most).find(|n| self.spent(*n) <= allowed).unwrap_or(most);
        let (enough, ample) = (least_within(self.allowed), least_within(self.allowed * PART_TO_HALVE));
        now.clamp(enough, ample)
    }
}

#[cfg(test)]
mod tests {
    use carom_base_wire::Engine;

    use super::*;

    /// Runs for some milliseconds. `sampling`: the part of the time that samples take at the shortest period.
    fn run(control: &Control, sampling: f64, ms: u64) -> u32 {
        let settings = Settings { budget_ppm: 50_000, doublings: 8, ..Settings::of(Engine::Translate) };
        let spent = Pace { sampling: (1e6 * sampling) as u64, ..Pace::default() };
        (0..ms).for_each(|_| decide(control, &settings, 1_000_000, &spent));
        control.doublings.load(Relaxed)
    }

    #[test]
    fn the_period_is_what_the_budget_allows() {
        let control = Control::default();
        // 35% too much: the credit of 10 ms lasts for 28.6 ms, which is noticed after 32.
        assert_eq!(run(&control, 0.4, 28), 0);
        assert_eq!(run(&control, 0.4, 4), 3);
        assert_eq!(run(&control, 0.4, 100), 3);
        // 3.75% with three doublings, and 7.5% with two.
        assert_eq!(run(&control, 0.3, 100), 3);
        assert_eq!(run(&control, 0.05, 4), 1);
        assert_eq!(run(&control, 0.01, 4), 0);
        assert_eq!(run(&control, 1e3, 100), 8, "not more often than is allowed");
    }

    /// Each thread runs for 0.1 ms and spends half of that on samples, of which four doublings leave 3%.
    #[test]
    fn short_threads_count() {
        let control = Control::default();
        let settings = Settings { budget_ppm: 50_000, doublings: 8, ..Settings::of(Engine::Translate) };
        for _ in 0..1000 {
            let mut pace = Pace::begin(1_000_000, 20_000);
            (0..5).for_each(|_| pace.add_sample(10_000, 0));
            assert!(!pace.report(1_100_000, || unreachable!("too early"), &control, &settings));
            pace.tell(1_100_000, 120_000, &control, &settings);
        }
        assert_eq!(control.doublings.load(Relaxed), 4);
    }

    #[test]
    fn watching_leaves_less_for_samples() {
        let budget = |sampling, watching| Budget { allowed: 50.0, sampling, watching };
        assert_eq!(budget(80.0, 0.0).doublings(0, 8), 1);
        assert_eq!(budget(80.0, 20.0).doublings(0, 8), 2);
        assert_eq!(budget(80.0, 90.0).doublings(0, 8), 8, "all is spent");
        // 40 with one doubling, which two thirds of 50 do not allow.
        assert_eq!((budget(80.0, 0.0).doublings(2, 8), budget(60.0, 0.0).doublings(2, 8)), (2, 1));
    }
}
