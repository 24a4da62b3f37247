//! How often to sample.

use carom_collect::Engine;

use super::ShareArgs;
use crate::options::{LEAST_ACCESSES, Period, SHARE_PERIOD_NS};

/// Mean number of loads, and of stores, between sampled ones by default: the period of the ComDetective paper.
const DEFAULT_ACCESSES: u64 = 500_000;

/// The engine, and how often it samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Periods {
    /// `burst`: mean thread CPU time between samples.
    Time { ns: u64 },
    /// `translate`: mean numbers of accesses between samples.
    Accesses { loads: u64, stores: u64 },
}

/// Reads the options of an engine.
///
/// # Errors
/// They contradict each other, or do not belong to the engine.
pub fn periods(args: &ShareArgs, engine: Engine) -> Result<Periods, String> {
    const NS_PER_S: u64 = 1_000_000_000;
    match engine {
        Engine::Burst => {
            if args.load_period.is_some() || args.store_period.is_some() {
                let text = "--load-period and --store-period count accesses, which the burst engine does not; \
                            use --period with a time, such as 3ms, or --engine translate";
                return Err(text.into());
            }
            let by_rate = args.rate.map(|rate| NS_PER_S / u64::from(rate));
            match args.period {
                Some(Period::Accesses(number)) => Err(format!(
                    "--period {number}: the burst engine samples by thread CPU time, so the period needs a unit \
                     (ns, us, ms, s), such as 3ms; accesses are the periods of --engine translate"
                )),
                Some(Period::Time(ns)) => Ok(Periods::Time { ns }),
                None => Ok(Periods::Time { ns: by_rate.unwrap_or(SHARE_PERIOD_NS) }),
            }
        }
        Engine::Translate => {
            if args.rate.is_some() {
                return Err("--rate is in samples a second, which the translate engine does not keep; \
                            use --period with a number of accesses, such as 500000"
                    .into());
            }
            let both = match args.period {
                Some(Period::Time(_)) => {
                    return Err(
                        "--period with a unit of time is for the burst engine; the translate engine \
                                samples by accesses: give their number without a unit, such as 500000"
                            .into(),
                    );
                }
                Some(Period::Accesses(number)) => number,
                None => DEFAULT_ACCESSES,
            };
            let of = |own: Option<u64>| own.unwrap_or(both);
            match (of(args.load_period), of(args.store_period)) {
                (0, 0) => {
                    Err("--load-period 0 and --store-period 0 sample nothing; to count, use `carom count`"
                        .into())
                }
                (loads, stores) => {
                    match [loads, stores].iter().find(|period| (1..LEAST_ACCESSES).contains(*period)) {
                        Some(period) => Err(format!(
                            "a period of {period} accesses is too short; the shortest is {LEAST_ACCESSES}, and 0 samples none"
                        )),
                        None => Ok(Periods::Accesses { loads, stores }),
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::parsed;

    fn check(engine: Engine, options: &[&str], expect: Result<Periods, &str>) {
        let args: ShareArgs = parsed(options);
        match (periods(&args, engine), expect) {
            (Err(text), Err(part)) => assert!(text.contains(part), "{options:?}: {text}"),
            (found, expect) => assert_eq!(found, expect.map_err(str::to_owned), "{options:?}"),
        }
    }

    #[test]
    fn burst_samples_by_time() {
        let check = |options: &[&str], expect| check(Engine::Burst, options, expect);
        check(&[], Ok(Periods::Time { ns: SHARE_PERIOD_NS }));
        check(&["--period", "1ms"], Ok(Periods::Time { ns: 1_000_000 }));
        check(&["--rate", "1000"], Ok(Periods::Time { ns: 1_000_000 }));
        check(&["--period", "500000"], Err("--period 500000: the burst engine samples by thread CPU time"));
        check(&["--load-period", "9"], Err("--engine translate"));
    }

    #[test]
    fn translate_samples_by_accesses() {
        let accesses = |loads, stores| Ok(Periods::Accesses { loads, stores });
        let check = |options: &[&str], expect| check(Engine::Translate, options, expect);
        check(&[], accesses(DEFAULT_ACCESSES, DEFAULT_ACCESSES));
        check(&["--period", "20000"], accesses(20_000, 20_000));
        check(&["--period", "20000", "--store-period", "0"], accesses(20_000, 0));
        check(&["--load-period", "700", "--store-period", "900"], accesses(700, 900));
        check(&["--store-period", "99"], Err("the shortest is 100"));
        check(&["--period", "3ms"], Err("without a unit, such as 500000"));
        check(&["--rate", "100"], Err("--rate"));
        check(&["--load-period", "0", "--store-period", "0"], Err("carom count"));
    }
}
