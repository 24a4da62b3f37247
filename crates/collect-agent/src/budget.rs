//! Keeps the agent's time under its share of the thread's: an account for each thread. `handler` draws on it under
//! `burst`, [`crate::account`] under `translate`.

/// The agent's account with one thread, in nanoseconds of thread CPU time.
///
/// The thread's time earns credit at the rate of the budget; what the agent does is paid from it. The cost of
/// delivering a signal is not visible to its handler, so it is calibrated beforehand and passed in.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    ppm: u64,
    period: u64,
    credit: i64,
    /// The thread's CPU time up to which it has earned.
    earned: u64,
    /// When that was read.
    asked: u64,
}

/// The least time between two readings of the thread's CPU time, in nanoseconds: each takes a system call, a quarter of a
/// microsecond. It is short against the time for which credit is kept (`STRETCH_NS` in `account`, times 16).
const ASK_EVERY_NS: u64 = 500_000;

const MILLION: u64 = 1_000_000;

/// Credit kept at most, in periods' worth: an idle stretch must not pay for a burst of bursts.
const MOST_CREDIT_PERIODS: i64 = 16;

/// The longest pause between two timer samples, in nanoseconds, however deep in debt.
const LONGEST_PERIOD: u64 = 100_000_000;

impl Budget {
    /// An empty account: `ppm` millionths of the time, a timer sample every `period` nanoseconds.
    pub fn new(ppm: u32, period: u64) -> Self {
        Self { ppm: u64::from(ppm), period, credit: 0, earned: 0, asked: 0 }
    }

    /// The same with full credit, for a thread that has run for `cpu` nanoseconds.
    pub fn full(ppm: u32, period: u64, cpu: u64) -> Self {
        let empty = Self::new(ppm, period);
        Self { credit: empty.most(), earned: cpu, ..empty }
    }

    /// The same, with no more credit than it has, but room for that of longer periods.
    pub fn keeping(self, period: u64) -> Self {
        Self { period, ..self }
    }

    /// The thread has run for `cpu` nanoseconds by now.
    pub fn earn_until(&mut self, cpu: u64) {
        self.earn(cpu.saturating_sub(self.earned));
        self.earned = cpu;
    }

    /// Calls [`Self::earn_until`] with the result of `cpu`, unless that was read lately. `now` is in nanoseconds of any
    /// clock.
    pub fn keep_up(&mut self, now: u64, cpu: impl FnOnce() -> u64) {
        if now.saturating_sub(self.asked) >= ASK_EVERY_NS {
            self.asked = now;
            self.earn_until(cpu());
        }
    }

    /// The thread ran for `elapsed` nanoseconds.
    pub fn earn(&mut self, elapsed: u64) {
        let earned = elapsed.saturating_mul(self.ppm) / MILLION;
        self.credit = self.credit.saturating_add_unsigned(earned).min(self.most());
    }

    /// The agent used `cost` nanoseconds of the thread's time.
    pub fn pay(&mut self, cost: u64) {
        self.credit = self.credit.saturating_sub_unsigned(cost);
    }

    /// Whether a step sample follows this timer sample. `random` decides with a probability that depends on the
    /// balance: 0 with the most debt, 1 with the most credit.
    ///
    /// A decision by credit alone would be biased: some outcomes cost more (watchpoints set and hit), and the samples
    /// behind them would be left out.
    pub fn affords(&self, random: u64) -> bool {
        let (balance, all) = self.balance();
        random % all < balance
    }

    /// That probability.
    pub fn chance(&self) -> f64 {
        let (balance, all) = self.balance();
        balance as f64 / all as f64
    }

    /// The balance above the most debt, and its largest value.
    fn balance(&self) -> (u64, u64) {
        let most = self.most();
        let balance = self.credit.clamp(-most, most).saturating_add(most).unsigned_abs();
        (balance, most.unsigned_abs().saturating_mul(2).max(1))
    }

    /// The next interval of the timer: the period, or longer, to pay a debt that step samples alone cannot have made.
    pub fn next_period(&self) -> u64 {
        let debt = self.credit.min(0).unsigned_abs();
        let tolerated = self.most().unsigned_abs();
        if debt <= tolerated {
            return self.period;
        }
        let repay = (debt - tolerated).saturating_mul(MILLION) / self.ppm.max(1);
        self.period.saturating_add(repay).min(LONGEST_PERIOD.max(self.period))
    }

    /// The most credit that is kept, which is also the most debt.
    fn most(&self) -> i64 {
        let per_period = self.period.saturating_mul(self.ppm) / MILLION;
        i64::try_from(per_period).unwrap_or(i64::MAX).saturating_mul(MOST_CREDIT_PERIODS).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the account for a while: every timer sample costs `timer`, every step sample `burst`.
    /// Returns (agent time / thread time, step samples per timer sample).
    fn simulate(ppm: u32, period: u64, timer: u64, burst: u64) -> (f64, f64) {
        let mut budget = Budget::new(ppm, period);
        let (mut time, mut spent, mut bursts) = (0u64, 0u64, 0u64);
        let mut random = 1u64;
        const SAMPLES: u64 = 20_000;
        for _ in 0..SAMPLES {
            let wait = budget.next_period();
            time += wait;
            budget.earn(wait);
            budget.pay(timer);
            spent += timer;
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if budget.affords(random >> 32) {
                budget.pay(burst);
                spent += burst;
                bursts += 1;
            }
        }
        (spent as f64 / time as f64, bursts as f64 / SAMPLES as f64)
    }

    #[test]
    fn spends_the_budget_and_no_more() {
        // 15 us per 1 ms sample is 1.5%; the remaining 3.5%, 35 us, buys a 140 us burst every fourth sample.
        let (share, bursts) = simulate(50_000, 1_000_000, 15_000, 140_000);
        assert!((share - 0.05).abs() < 0.001, "{share}");
        assert!((bursts - 0.25).abs() < 0.01, "{bursts}");
    }

    #[test]
    fn cheap_bursts_follow_every_sample() {
        let (share, bursts) = simulate(50_000, 1_000_000, 15_000, 5_000);
        assert!((share - 0.02).abs() < 0.001, "{share}");
        assert!(bursts > 0.98, "{bursts}");
    }

    #[test]
    fn a_timer_that_alone_breaks_the_budget_slows_down() {
        // 15 us every 100 us is 15%: to stay at 5% the samples must come every 300 us.
        let (share, bursts) = simulate(50_000, 100_000, 15_000, 140_000);
        assert!(share < 0.051, "{share}");
        assert!(bursts < 0.01, "{bursts}");
    }

    /// 5% of 50 us, twice: what happens in between is made up for at the next look.
    #[test]
    fn the_clock_of_cpu_time_is_not_read_too_often() {
        let mut budget = Budget::full(50_000, 1_000_000, 0);
        budget.pay(800_000);
        let half = budget.chance();
        budget.keep_up(600_000, || 50_000);
        let once = budget.chance();
        budget.keep_up(1_000_000, || unreachable!());
        budget.keep_up(1_100_000, || 100_000);
        assert_eq!((half, once, budget.chance()), (0.5, 802_500.0 / 1_600_000.0, 805_000.0 / 1_600_000.0));
    }

    /// 10% of 1 ms, 16 times: 1.6 ms of credit at most, and as much debt. The chance is the balance's place between.
    #[test]
    fn the_chance_follows_the_balance() {
        let mut budget = Budget::full(100_000, 1_000_000, 5);
        assert_eq!(budget.chance(), 1.0);
        budget.pay(1_600_000);
        assert_eq!(budget.chance(), 0.5);
        budget.pay(2_400_000);
        assert_eq!(budget.chance(), 0.0);
        // 24 ms of running pay 2.4 ms: back to nothing.
        budget.earn_until(24_000_005);
        assert_eq!(budget.chance(), 0.5);
        budget.earn_until(24_000_005);
        assert_eq!(budget.chance(), 0.5);
    }
}
