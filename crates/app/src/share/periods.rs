//! How often to sample.

use carom_collect::Engine;

use super::ShareArgs;
use crate::options::SHARE_PERIOD_NS;

/// Mean number of loads, and of stores, between sampled ones by default, in the beginning: a sample with its call path
/// takes 1 to 3 us (docs/techniques.md), so that some programs need no longer period, and of short ones enough is seen.
/// (The ComDetective paper has 500,000, of interrupts.)
const DEFAULT_ACCESSES: u64 = 20_000;

/// How often that may be doubled to keep to the budget: up to 5 million accesses.
const DOUBLINGS: u32 = 8;

/// The engine, and how often it samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Periods {
    /// `burst`: mean thread CPU time between samples.
    Time { ns: u64 },
    /// `translate`: mean numbers of accesses between samples, and how often they may be doubled.
    Accesses { loads: u64, stores: u64, doublings: u32 },
}

/// Reads the options of an engine.
///
/// # Errors
/// They contradict each other, or do not belong to the engine.
pub fn periods(args: &ShareArgs, engine: Engine) -> Result<Periods, String> {
    const NS_PER_S: u64 = 1_000_000_000;
    match engine {
        Engine::Burst => {
            let by_rate = args.rate.map(|rate| NS_PER_S / u64::from(rate));
            Ok(Periods::Time { ns: args.periods.time()?.or(by_rate).unwrap_or(SHARE_PERIOD_NS) })
        }
        Engine::Translate if args.rate.is_some() => {
            Err("--rate is in samples a second, which the translate engine does not keep; use --period with a number of \
                 accesses, such as 100000"
                .into())
        }
        Engine::Translate => {
            let (loads, stores) = args.periods.accesses(DEFAULT_ACCESSES)?;
            let doublings = if args.periods.any() { 0 } else { DOUBLINGS };
            Ok(Periods::Accesses { loads, stores, doublings })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::parsed;

    fn found(engine: Engine, options: &[&str]) -> Result<Periods, String> {
        periods(&parsed(options), engine)
    }

    #[test]
    fn burst_samples_by_time_or_rate() {
        assert_eq!(found(Engine::Burst, &[]), Ok(Periods::Time { ns: SHARE_PERIOD_NS }));
        for options in [["--period", "1ms"], ["--rate", "1000"]] {
            assert_eq!(found(Engine::Burst, &options), Ok(Periods::Time { ns: 1_000_000 }), "{options:?}");
        }
    }

    #[test]
    fn translate_samples_by_accesses() {
        let both = |period, doublings| Periods::Accesses { loads: period, stores: period, doublings };
        assert_eq!(found(Engine::Translate, &[]), Ok(both(20_000, 8)));
        assert_eq!(found(Engine::Translate, &["--period", "20000"]), Ok(both(20_000, 0)), "fixed");
        let refused = found(Engine::Translate, &["--rate", "100"]).unwrap_err();
        assert!(refused.contains("--rate"), "{refused}");
    }
}
