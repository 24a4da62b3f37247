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
//!
//! All of it counts: exits from translated code as a whole ([`Spent`]), traps of what was watched because of a sample, and the
//! host, which reads the rings.

use std::sync::atomic::Ordering::Relaxed;

use carom_base::Sample;
use carom_base_wire::{Control, Settings};
use carom_collect_translate::Spent;

/// The least time between two reports of a thread, in nanoseconds: each reads the thread's CPU time by a system call.
const REPORT_EVERY_NS: u64 = 500_000;

/// The CPU time of all threads after which the period may change, in nanoseconds. 5% of it pay for 250 samples of 20 us, as large
/// programs have them. With ten, chance decides, and the period goes up and down.
const DECIDE_EVERY_NS: u64 = 100_000_000;

/// What observation may take beyond the budget before the period is doubled: as much as the budget allows in this time, in
/// nanoseconds of CPU time. The first samples are the most expensive ones, and those of short programs are to be many; 5% of a
/// second nobody notices. Not more than this is saved up for later.
const CREDIT_OF_NS: f64 = 1e9;

/// What the host takes to read a sample and to store it, in nanoseconds: by measure 1 to 1.5 us. It looks for samples a hundred
/// times a second, too, which fewer samples would not spare.
const READING_NS: u64 = 1000;

/// The most that is charged for a trap, in nanoseconds. What seems to take longer was mostly preempted.
const LONGEST_NS: u64 = 20_000;

/// The period is halved where samples would then take no more than this part of the budget, so that it is not doubled again
/// at once.
const PART_TO_HALVE: f64 = 2.0 / 3.0;

/// What observation took of one thread, since it last reported that to the session.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    /// The state of its clocks at the last report.
    reported: Clocks,
    /// What samples took outside of exits since: as [`Control::sampling_ns`].
    outside: u64,
}

/// What a report goes by.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clocks {
    /// Nanoseconds of any clock.
    pub now: u64,
    /// The time-stamp counter.
    pub ticks: u64,
    /// The thread's CPU time, in nanoseconds.
    pub cpu: u64,
    /// What observation has taken of the thread, in ticks.
    pub spent: Spent,
}

impl Pace {
    /// Of a thread that begins to be observed.
    pub fn begin(clocks: Clocks) -> Self {
        Self { reported: clocks, outside: 0 }
    }

    /// A sample was taken whose period was doubled this often: the host will read it.
    pub fn add_sample(&mut self, doublings: u8) {
        self.add(READING_NS, doublings);
    }

    /// What was watched because of a sample has trapped, which took so many nanoseconds. A sample more or less as often makes
    /// traps more or less as many.
    pub fn add_trap(&mut self, cost: u64, doublings: u8) {
        self.add(cost.min(LONGEST_NS), doublings);
    }

    fn add(&mut self, cost: u64, doublings: u8) {
        self.outside += cost << doublings.min(Sample::MOST_DOUBLINGS);
    }

    /// Whether a report is due, at this time in nanoseconds.
    pub fn is_due(&self, now: u64) -> bool {
        now.saturating_sub(self.reported.now) >= REPORT_EVERY_NS
    }

    /// Tells the session what was spent.
    pub fn tell(&mut self, clocks: Clocks, control: &Control, settings: &Settings) {
        let Self { reported: before, outside } = std::mem::replace(self, Self::begin(clocks));
        let (ns, ticks) = (clocks.now.saturating_sub(before.now), clocks.ticks.saturating_sub(before.ticks));
        let ns_per_tick = ns as f64 / ticks.max(1) as f64;
        let spent = clocks.spent.since(before.spent);
        let [sampling, watching] =
            [spent.sampling, spent.watching].map(|ticks| (ticks as f64 * ns_per_tick) as u64);
        let (ran, sampling) = (clocks.cpu.saturating_sub(before.cpu), sampling + outside);
        let part = Part { ran, sampling, watching };
        decide(control, settings, &part);
    }
}

/// A thread's part of what [`Control`] adds up, in nanoseconds.
struct Part {
    /// Its CPU time.
    ran: u64,
    /// As [`Control::sampling_ns`].
    sampling: u64,
    /// As [`Control::watching_ns`].
    watching: u64,
}

/// Adds what one thread spent, and decides if that is enough to go by.
fn decide(control: &Control, settings: &Settings, part: &Part) {
    // ATOMICS: sums and a number, none of which protects anything else. Any process of the session can write them.
    control.sampling_ns.fetch_add(part.sampling, Relaxed);
    control.watching_ns.fetch_add(part.watching, Relaxed);
    let ran = control.ran_ns.fetch_add(part.ran, Relaxed).saturating_add(part.ran);
    // One thread decides.
    if ran < DECIDE_EVERY_NS || control.ran_ns.compare_exchange(ran, 0, Relaxed, Relaxed).is_err() {
        return;
    }
    let now = control.doublings.load(Relaxed).min(settings.doublings);
    let part_of_time = f64::from(settings.budget_ppm) / 1e6;
    let budget = Budget {
        allowed: ran as f64 * part_of_time,
        sampling: control.sampling_ns.swap(0, Relaxed) as f64,
        watching: control.watching_ns.swap(0, Relaxed) as f64,
    };
    let owed = control.owed_ns.load(Relaxed) as f64 + budget.spent(now) - budget.allowed;
    // A negative number becomes 0.
    let credit = CREDIT_OF_NS * part_of_time;
    control.owed_ns.store(owed.min(2.0 * credit) as u64, Relaxed);
    let next = budget.doublings(now, settings.doublings);
    let has_credit = owed <= credit;
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

    fn settings() -> Settings {
        Settings { budget_ppm: 50_000, doublings: 8, ..Settings::of(Engine::Translate) }
    }

    /// Runs for some milliseconds. `sampling`: the part of the time that samples take at the shortest period.
    fn run(control: &Control, sampling: f64, ms: u64) -> u32 {
        let part = Part { ran: 1_000_000, sampling: (1e6 * sampling) as u64, watching: 0 };
        (0..ms).for_each(|_| decide(control, &settings(), &part));
        control.doublings.load(Relaxed)
    }

    #[test]
    fn the_period_is_what_the_budget_allows() {
        let control = Control::default();
        // 35% too much: the credit of 50 ms lasts for 143 ms, which is noticed after 200.
        assert_eq!(run(&control, 0.4, 199), 0);
        assert_eq!(run(&control, 0.4, 1), 3);
        assert_eq!(run(&control, 0.4, 100), 3);
        // 3.75% with three doublings, and 7.5% with two.
        assert_eq!(run(&control, 0.3, 100), 3);
        assert_eq!(run(&control, 0.05, 100), 1);
        assert_eq!(run(&control, 0.01, 100), 0);
        assert_eq!(run(&control, 1e3, 100), 8, "not more often than is allowed");
    }

    /// Each thread runs for 0.1 ms and spends half of that on samples, of which four doublings leave 3%. A tick is a third of a
    /// nanosecond.
    #[test]
    fn short_threads_count() {
        let control = Control::default();
        for _ in 0..2000 {
            let begin = Clocks { now: 1_000_000, ticks: 5_000_000, cpu: 20_000, spent: Spent::default() };
            let mut pace = Pace::begin(begin);
            assert!(!pace.is_due(1_100_000) && pace.is_due(1_500_000));
            let spent = Spent { sampling: 150_000, watching: 0 };
            let end = Clocks { now: 1_100_000, ticks: 5_300_000, cpu: 120_000, spent };
            pace.tell(end, &control, &settings());
        }
        assert_eq!(control.doublings.load(Relaxed), 4);
    }

    /// Reading and traps count as often as the samples stand for others.
    #[test]
    fn what_samples_take_outside_of_exits_counts() {
        let control = Control::default();
        let mut pace = Pace::begin(Clocks::default());
        pace.add_sample(0);
        pace.add_sample(3);
        pace.add_trap(5_000, 3);
        pace.add_trap(1_000_000, 0);
        pace.tell(Clocks::default(), &control, &settings());
        assert_eq!(control.sampling_ns.load(Relaxed), READING_NS * 9 + 5_000 * 8 + LONGEST_NS);
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
