//! From options to the settings of the agents.

use carom_base_sys::probe::{BurstChoice, Probes, choose_burst_delivery};
use carom_collect::{Domains, Engine, ReuseMethod, ReuseSettings, Settings, WatchChoice, Window};

use super::args::{Budget, ReuseArgs};
use crate::{
    options::{MAX_STEPS, OrAuto, ProgramArgs, REGISTERS},
    signals::delivery,
    translatable::translatable,
};

/// Mean thread CPU time between samples of the burst engine by default.
const DEFAULT_PERIOD_NS: u64 = 1_000_000;

/// Mean number of loads, and of stores, between sampled ones by default: that of the ReuseTracker thesis (6.5.1).
const DEFAULT_ACCESSES: u64 = 100_000;

/// The same in an episode. At the beginning of a process it is doubled four times.
const EPISODE_ACCESSES: u64 = DEFAULT_ACCESSES / 16;

/// The share of the program's CPU time that following samples may take by default, in percent.
const BUDGET: Budget = Budget::Percent(10.0);

/// The facilities of this machine.
#[derive(Clone, Debug)]
pub struct Means {
    /// Whether code can be translated, and why not.
    pub translate: Result<(), String>,
    /// How the burst engine would sample, and why it cannot.
    pub burst: Result<BurstChoice, String>,
}

impl Means {
    /// For this program, by the probes.
    pub fn of(program: &ProgramArgs, probes: &Probes) -> Self {
        Self { translate: translatable(program, probes), burst: choose_burst_delivery(probes) }
    }

    /// The debug registers that threads can watch with.
    fn registers(&self) -> u32 {
        self.burst.as_ref().map_or(0, |choice| choice.watchpoints).min(REGISTERS)
    }
}

/// The settings, and the reason for the engine.
#[derive(Debug)]
pub struct Plan {
    pub settings: Settings,
    pub reason: String,
}

/// How reuse is measured, as far as the options alone decide.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// All accesses.
    Exact { granularities: u32, sample_rate: f64, pairs: bool, keep: bool },
    /// Some accesses.
    Sampled,
}

/// Reads the options that belong to either method.
///
/// # Errors
/// They contradict each other.
pub fn method(args: &ReuseArgs) -> Result<Method, String> {
    if !args.exact {
        let only = "is for --exact, in which all accesses are looked at";
        if args.sample_rate.is_some() {
            return Err(format!("--sample-rate {only}"));
        }
        if !args.granularity.is_empty() {
            return Err(format!("--granularity {only}"));
        }
        if args.keep_accesses {
            return Err(format!("--keep-accesses {only}"));
        }
        return Ok(Method::Sampled);
    }
    if args.engine == Some(Engine::Burst) {
        return Err("--exact needs the translate engine, which alone sees all accesses".into());
    }
    if args.phases.per_phase {
        return Err("--exact adds up what it counts over the whole run, which no phase can be told from: leave out --exact or \
                    --per-phase"
            .into());
    }
    let only = "is for sampled accesses; --exact looks at all";
    if args.periods.any() {
        return Err(format!("--period {only}"));
    }
    if args.watch.is_some() {
        return Err(format!("--watch {only}"));
    }
    if args.budget.is_some() {
        return Err(format!("--budget {only}"));
    }
    if args.layout.advise.is_some() {
        return Err("--advise prefetch is told by sampled accesses; leave --exact out".into());
    }
    let granularities = args.granularity.iter().fold(0, |all, bytes| all | bytes);
    Ok(Method::Exact {
        granularities: if granularities == 0 { carom_base::LINE_BYTES as u32 } else { granularities },
        sample_rate: args.sample_rate.unwrap_or(1.0),
        pairs: !args.no_pairs,
        keep: args.keep_accesses,
    })
}

/// Chooses engine and watches.
///
/// # Errors
/// The machine cannot do what the options ask for, or they contradict each other.
pub fn plan(args: &ReuseArgs, method: Method, means: &Means, domains: Domains) -> Result<Plan, String> {
    let (engine, reason) = engine(args.engine, method, means)?;
    let reuse = |method| Some(ReuseSettings { method, domains });
    let base = Settings {
        budget_ppm: ppm(args.budget.unwrap_or(BUDGET)),
        max_steps: MAX_STEPS,
        delivery: delivery(means.burst.as_ref().ok().map(|choice| choice.delivery)),
        objects: args.objects.least(),
        window: args.program.window.window(),
        ..Settings::of(engine)
    };
    if let Method::Exact { granularities, sample_rate, pairs, keep } = method {
        let method = ReuseMethod::Exact { granularities, sample_rate, pairs, keep };
        return Ok(Plan { settings: Settings { reuse: reuse(method), ..base }, reason });
    }
    let watch = watch(args, engine, means)?;
    let slots = match watch {
        WatchChoice::Software | WatchChoice::Episodes => args.slots,
        WatchChoice::Registers => means.registers(),
    };
    let sampled = Settings {
        watchpoints: if watch == WatchChoice::Registers { means.registers() } else { 0 },
        reuse: reuse(ReuseMethod::Sampled { watch, slots }),
        ..base
    };
    let settings = match engine {
        Engine::Burst => Settings { period_ns: args.periods.time()?.unwrap_or(DEFAULT_PERIOD_NS), ..sampled },
        Engine::Translate => {
            let default = if watch == WatchChoice::Episodes { EPISODE_ACCESSES } else { DEFAULT_ACCESSES };
            let (load_period, store_period) = args.periods.accesses(default)?;
            Settings { load_period, store_period, ..sampled }
        }
    };
    Ok(Plan { settings, reason })
}

/// In millionths. No limit is the largest number, thousands of times the time that a thread has.
fn ppm(budget: Budget) -> u32 {
    match budget {
        Budget::Percent(percent) => (percent * 1e4).round() as u32,
        Budget::Unlimited => u32::MAX,
    }
}

/// `auto`: translated code counts the accesses of a distance; without it, distances are only timed.
fn engine(asked: OrAuto<Engine>, method: Method, means: &Means) -> Result<(Engine, String), String> {
    match (asked, &means.translate) {
        (Some(Engine::Burst), _) => Ok((Engine::Burst, "asked for".into())),
        (Some(Engine::Translate), _) => Ok((Engine::Translate, "asked for".into())),
        (None, Ok(())) => Ok((Engine::Translate, "counts the accesses of every distance".into())),
        (None, Err(cause)) if method != Method::Sampled => {
            Err(format!("{cause}; --exact needs code to be translated; `carom doctor` explains"))
        }
        (None, Err(cause)) => {
            Ok((Engine::Burst, format!("code cannot be translated here ({cause}), so distances are timed")))
        }
    }
}

/// What watches. `auto`: translated code in episodes, unless a period or a part of the run is asked for, or everything.
fn watch(args: &ReuseArgs, engine: Engine, means: &Means) -> Result<WatchChoice, String> {
    let registers = || match (&means.burst, means.registers()) {
        (Err(cause), _) => Err(format!("{cause}; `carom doctor` explains")),
        (Ok(choice), 0) => Err(format!(
            "no debug registers are available here ({}), and without them only the translate engine can watch; `carom \
             doctor` explains",
            choice.reason
        )),
        (Ok(_), _) => Ok(WatchChoice::Registers),
    };
    let window = args.program.window.window();
    match (args.watch, engine) {
        (Some(choice @ (WatchChoice::Software | WatchChoice::Episodes)), Engine::Burst) => {
            Err(format!("--watch {} needs the translate engine, whose code does the watching", choice.name()))
        }
        (Some(WatchChoice::Episodes), Engine::Translate) if window != Window::ALWAYS => {
            Err("--watch episodes chooses parts of the run itself; with a part of your own, take --watch software".into())
        }
        (Some(choice @ (WatchChoice::Software | WatchChoice::Episodes)), Engine::Translate) => Ok(choice),
        (None, Engine::Translate) => {
            let everything = args.periods.any() || args.budget == Some(Budget::Unlimited);
            let all_the_time = everything || window != Window::ALWAYS || args.phases.per_phase;
            Ok(if all_the_time { WatchChoice::Software } else { WatchChoice::Episodes })
        }
        (Some(WatchChoice::Registers), _) | (None, Engine::Burst) => registers(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::parsed;
    use carom_base_sys::probe::DeliveryKind;
    use carom_collect::DomainsOf;

    fn everything() -> Means {
        let burst = BurstChoice { delivery: DeliveryKind::Sigtrap, watchpoints: 4, reason: "best".into() };
        Means { translate: Ok(()), burst: Ok(burst) }
    }

    fn planned(options: &[&str], means: &Means) -> Result<Settings, String> {
        let args: ReuseArgs = parsed(options);
        let domains = Domains::new(DomainsOf::Cpus, []);
        method(&args).and_then(|method| plan(&args, method, means, domains)).map(|plan| plan.settings)
    }

    fn refuses(options: &[&str], means: &Means, part: &str) {
        let error = planned(options, means).unwrap_err();
        assert!(error.contains(part), "{options:?}: {error}");
    }

    #[test]
    fn by_default_code_is_translated_and_watches_itself() {
        let settings = planned(&[], &everything()).unwrap();
        assert_eq!(
            (settings.engine, settings.load_period, settings.store_period),
            (Engine::Translate, 6_250, 6_250)
        );
        let method = settings.reuse.unwrap().method;
        assert!(
            matches!(method, ReuseMethod::Sampled { watch: WatchChoice::Episodes, slots: 16 }),
            "{method:?}"
        );
        assert_eq!((settings.watchpoints, settings.budget_ppm), (0, 100_000));
        assert_eq!(planned(&["--budget", "2.5"], &everything()).unwrap().budget_ppm, 25_000);
        assert_eq!(planned(&["--budget", "none"], &everything()).unwrap().budget_ppm, u32::MAX);
        refuses(&["--exact", "--budget", "5"], &everything(), "--exact looks at all");
    }

    /// Where a period, a part of the run or everything is asked for, accesses are looked up all the time.
    #[test]
    fn episodes_are_for_runs_of_which_nothing_is_asked() {
        let of = |options: &[&str]| {
            let settings = planned(options, &everything()).unwrap();
            match settings.reuse.unwrap().method {
                ReuseMethod::Sampled { watch, .. } => (watch, settings.load_period),
                method => panic!("{method:?}"),
            }
        };
        assert_eq!(of(&["--budget", "3"]), (WatchChoice::Episodes, 6_250));
        for all_the_time in
            [&["--budget", "none"][..], &["--for", "1s"], &["--watch", "software"], &["--per-phase"]]
        {
            assert_eq!(of(all_the_time), (WatchChoice::Software, 100_000), "{all_the_time:?}");
        }
        assert_eq!(of(&["--period", "5000"]), (WatchChoice::Software, 5_000));
        assert_eq!(of(&["--period", "5000", "--watch", "episodes"]), (WatchChoice::Episodes, 5_000));
        refuses(&["--watch", "episodes", "--after", "1s"], &everything(), "chooses parts of the run itself");
    }

    #[test]
    fn debug_registers_are_as_many_as_there_are() {
        let settings = planned(&["--watch", "registers", "--load-period", "0"], &everything()).unwrap();
        let method = settings.reuse.unwrap().method;
        assert!(
            matches!(method, ReuseMethod::Sampled { watch: WatchChoice::Registers, slots: 4 }),
            "{method:?}"
        );
        assert_eq!((settings.watchpoints, settings.load_period), (4, 0));
        let denied = Means { burst: Err("perf_event_open is denied".into()), ..everything() };
        refuses(&["--watch", "registers"], &denied, "perf_event_open is denied");
        assert!(planned(&[], &denied).is_ok(), "software needs no registers");
    }

    #[test]
    fn where_code_cannot_be_translated_distances_are_timed() {
        let means = Means { translate: Err("no FSGSBASE".into()), ..everything() };
        let settings = planned(&["--period", "2ms"], &means).unwrap();
        assert_eq!((settings.engine, settings.period_ns), (Engine::Burst, 2_000_000));
        refuses(&["--watch", "software"], &means, "translate engine");
        refuses(&["--watch", "episodes"], &means, "translate engine");
        refuses(&["--period", "100000"], &means, "such as 1ms");
        refuses(&["--exact"], &means, "no FSGSBASE");
    }

    #[test]
    fn all_accesses_at_every_granularity_that_is_asked_for() {
        let of = |options: &[&str]| match planned(options, &everything()).unwrap().reuse.unwrap().method {
            ReuseMethod::Exact { granularities, sample_rate, pairs, keep } => {
                (granularities, sample_rate, pairs, keep)
            }
            method => panic!("{method:?}"),
        };
        assert_eq!(of(&["--exact"]), (64, 1.0, true, false));
        let all = [
            "--exact",
            "--granularity",
            "1,64,4096",
            "--sample-rate",
            "0.01",
            "--no-pairs",
            "--keep-accesses",
        ];
        assert_eq!(of(&all), (1 + 64 + 4096, 0.01, false, true));
        refuses(&["--exact", "--period", "1000"], &everything(), "--exact looks at all");
        refuses(&["--exact", "--engine", "burst"], &everything(), "translate engine");
        refuses(&["--exact", "--advise", "prefetch"], &everything(), "leave --exact out");
        refuses(&["--sample-rate", "0.1"], &everything(), "for --exact");
        refuses(&["--granularity", "64"], &everything(), "for --exact");
        refuses(&["--keep-accesses"], &everything(), "for --exact");
    }

    #[test]
    fn periods_that_sample_nothing_or_too_much_are_refused() {
        refuses(&["--load-period", "0", "--store-period", "0"], &everything(), "sample nothing");
        refuses(&["--store-period", "99"], &everything(), "the shortest is 100");
        refuses(&["--period", "3ms"], &everything(), "without a unit");
    }
}
