//! How often to sample.

use clap::Args;

use super::values::{LEAST_ACCESSES, Period, period};

/// The periods of a command that samples with either engine.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct PeriodArgs {
    /// Mean interval between samples: a number of loads and of stores (translate), or thread CPU time with a unit, such as
    /// 1ms or 500us (burst)
    #[arg(long, value_name = "N|TIME", value_parser = period)]
    pub period: Option<Period>,
    /// Mean number of loads between sampled loads; 0 samples none (translate) [default: --period]
    #[arg(long, value_name = "N")]
    pub load_period: Option<u64>,
    /// Mean number of stores between sampled stores; 0 samples none (translate) [default: --period]
    #[arg(long, value_name = "N")]
    pub store_period: Option<u64>,
}

impl PeriodArgs {
    /// Whether any is given.
    pub fn any(&self) -> bool {
        self.period.is_some() || self.load_period.is_some() || self.store_period.is_some()
    }

    /// The period of the burst engine in nanoseconds, where one is given.
    ///
    /// # Errors
    /// A period is one of the translate engine.
    pub fn time(&self) -> Result<Option<u64>, String> {
        if self.load_period.is_some() || self.store_period.is_some() {
            return Err("--load-period and --store-period count accesses, which the burst engine does not; use --period \
                        with a time, such as 1ms, or --engine translate"
                .into());
        }
        match self.period {
            Some(Period::Accesses(number)) => Err(format!(
                "--period {number}: the burst engine samples by thread CPU time, so the period needs a unit (ns, us, ms, \
                 s), such as 1ms; accesses are the periods of --engine translate"
            )),
            Some(Period::Time(ns)) => Ok(Some(ns)),
            None => Ok(None),
        }
    }

    /// The periods of loads and of stores of the translate engine.
    ///
    /// # Errors
    /// The period is one of the burst engine, too short, or samples nothing.
    pub fn accesses(&self, default: u64) -> Result<(u64, u64), String> {
        let both = match self.period {
            Some(Period::Time(_)) => {
                return Err(
                    "--period with a unit of time is for the burst engine; the translate engine samples by \
                            accesses: give their number without a unit, such as 100000"
                        .into(),
                );
            }
            Some(Period::Accesses(number)) => number,
            None => default,
        };
        let (loads, stores) = (self.load_period.unwrap_or(both), self.store_period.unwrap_or(both));
        if (loads, stores) == (0, 0) {
            return Err(
                "--load-period 0 and --store-period 0 sample nothing; to count, use `carom count`".into()
            );
        }
        match [loads, stores].iter().find(|period| (1..LEAST_ACCESSES).contains(*period)) {
            Some(period) => Err(format!(
                "a period of {period} accesses is too short; the shortest is {LEAST_ACCESSES}, and 0 samples none"
            )),
            None => Ok((loads, stores)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::parsed;

    #[derive(Debug, Args)]
    struct Options {
        #[command(flatten)]
        periods: PeriodArgs,
        #[arg(last = true)]
        _program: Vec<String>,
    }

    fn given(options: &[&str]) -> PeriodArgs {
        parsed::<Options>(options).periods
    }

    #[track_caller]
    fn refuses<T: std::fmt::Debug>(found: Result<T, String>, part: &str) {
        let text = found.unwrap_err();
        assert!(text.contains(part), "{text}");
    }

    #[test]
    fn burst_samples_by_time() {
        assert_eq!(given(&[]).time(), Ok(None));
        assert_eq!(given(&["--period", "1ms"]).time(), Ok(Some(1_000_000)));
        refuses(
            given(&["--period", "500000"]).time(),
            "--period 500000: the burst engine samples by thread CPU time",
        );
        refuses(given(&["--load-period", "9"]).time(), "--engine translate");
    }

    #[test]
    fn translate_samples_by_accesses() {
        let check = |options: &[&str], loads, stores| {
            assert_eq!(given(options).accesses(500_000), Ok((loads, stores)), "{options:?}");
        };
        check(&[], 500_000, 500_000);
        check(&["--period", "20000"], 20_000, 20_000);
        check(&["--period", "20000", "--store-period", "0"], 20_000, 0);
        check(&["--load-period", "700", "--store-period", "900"], 700, 900);
        refuses(given(&["--store-period", "99"]).accesses(1_000), "the shortest is 100");
        refuses(given(&["--period", "3ms"]).accesses(1_000), "without a unit, such as 100000");
        refuses(given(&["--load-period", "0", "--store-period", "0"]).accesses(1_000), "carom count");
    }
}
