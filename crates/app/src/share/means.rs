//! How signals are delivered, and how accesses to lines that other threads have written are detected.

use std::ops::Deref;

use carom_base_sys::probe::{BurstChoice, DeliveryKind, Probes, choose_burst_delivery, why_no_watchpoints};
use carom_collect::WatchChoice;

use super::{Periods, ShareArgs};
use crate::options::OrAuto;

/// The facilities that are used on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Means {
    /// How signals are delivered: those of the burst engine's samples, and those that bring threads back into translated
    /// code.
    pub delivery: DeliveryKind,
    /// Debug registers that each thread may watch with.
    pub watchpoints: u32,
    /// How accesses are detected where code is translated.
    pub watch: WatchChoice,
    /// The reason. A clause without a full stop.
    pub reason: String,
}

/// The facilities that were found.
struct Found {
    /// Signals and debug registers, or why there are no signals.
    signals: Result<BurstChoice, String>,
    /// Why there are no debug registers, where there are none.
    no_registers: Option<String>,
}

/// Takes what the options ask for, else what works best, as `carom doctor` explains it. `engine`: why the engine was chosen,
/// where no option names it. `probes`: evaluated only if needed.
///
/// # Errors
/// The machine cannot do what the options ask for, or they contradict each other.
pub fn choose(
    args: &ShareArgs,
    periods: &Periods,
    engine: Option<String>,
    probes: &impl Deref<Target = Probes>,
) -> Result<Means, String> {
    let found = match args.delivery {
        None => Found::of(probes),
        Some(delivery) => Found::asked(delivery),
    };
    found.means(args.watch, args.watchpoints, periods, engine)
}

impl Found {
    fn of(probes: &Probes) -> Self {
        Self { signals: choose_burst_delivery(probes), no_registers: why_no_watchpoints(probes) }
    }

    fn asked(delivery: DeliveryKind) -> Self {
        let on_perf = delivery != DeliveryKind::PosixTimer;
        Self {
            signals: Ok(BurstChoice {
                delivery,
                watchpoints: if on_perf { u32::MAX } else { 0 },
                reason: "asked for".into(),
            }),
            no_registers: (!on_perf).then(|| "POSIX timers were asked for".into()),
        }
    }

    fn means(
        self,
        asked: OrAuto<WatchChoice>,
        most: u32,
        periods: &Periods,
        engine: Option<String>,
    ) -> Result<Means, String> {
        let watchpoints = self.signals.as_ref().map_or(0, |choice| choice.watchpoints).min(most);
        if asked == Some(WatchChoice::Registers) && watchpoints == 0 {
            let why = self.why_no_registers();
            return Err(format!(
                "no debug registers are available here: {why}; --engine translate can watch in software; \
                 `carom doctor` explains"
            ));
        }
        match periods {
            Periods::Time { .. } => self.by_time(asked, watchpoints, engine),
            Periods::Accesses { .. } => Ok(self.by_accesses(asked, watchpoints, engine)),
        }
    }

    fn by_time(
        self,
        asked: OrAuto<WatchChoice>,
        watchpoints: u32,
        engine: Option<String>,
    ) -> Result<Means, String> {
        if asked == Some(WatchChoice::Software) {
            return Err("--watch software needs --engine translate, whose code does the watching".into());
        }
        let BurstChoice { delivery, reason, .. } =
            self.signals.map_err(|cause| format!("{cause}; `carom doctor` explains"))?;
        let reason = match engine {
            Some(engine) => format!("{engine}; {reason}"),
            None => reason,
        };
        Ok(Means { delivery, watchpoints, watch: WatchChoice::Registers, reason })
    }

    /// Samples need no signals. Looking up every access costs about a quarter more than debug registers, which watch at no
    /// cost, and finds no more. So registers come first (`docs/algorithms.md`).
    fn by_accesses(self, asked: OrAuto<WatchChoice>, watchpoints: u32, engine: Option<String>) -> Means {
        let reason = engine.unwrap_or_else(|| "asked for".to_owned());
        let (watch, reason) = match asked {
            // Its option does not offer episodes.
            Some(WatchChoice::Software | WatchChoice::Episodes) => (WatchChoice::Software, reason),
            None if watchpoints == 0 => (
                WatchChoice::Software,
                format!("{reason}; lines are watched in software, as {}", self.why_no_registers()),
            ),
            None | Some(WatchChoice::Registers) => (WatchChoice::Registers, reason),
        };
        let delivery = self.signals.map_or(DeliveryKind::PosixTimer, |choice| choice.delivery);
        Means { delivery, watchpoints, watch, reason }
    }

    fn why_no_registers(&self) -> &str {
        self.no_registers.as_deref().unwrap_or("there are none")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Periods = Periods::Time { ns: 1 };
    const ACCESSES: Periods = Periods::Accesses { loads: 1, stores: 1, doublings: 0 };

    fn everything() -> Found {
        let burst = BurstChoice { delivery: DeliveryKind::Sigtrap, watchpoints: 4, reason: "best".into() };
        Found { signals: Ok(burst), no_registers: None }
    }

    /// As in a default container.
    fn denied() -> Found {
        let cause = "perf_event_open is denied";
        let burst = BurstChoice { delivery: DeliveryKind::PosixTimer, watchpoints: 0, reason: cause.into() };
        Found { signals: Ok(burst), no_registers: Some(cause.into()) }
    }

    #[test]
    fn registers_watch_where_there_are_some() {
        for periods in [TIME, ACCESSES] {
            for asked in [None, Some(WatchChoice::Registers)] {
                let means = everything().means(asked, 3, &periods, None).unwrap();
                assert_eq!((means.watch, means.watchpoints), (WatchChoice::Registers, 3), "{periods:?}");
            }
        }
    }

    #[test]
    fn translated_code_watches_where_there_are_none_and_the_report_says_why() {
        let means = denied().means(None, 4, &ACCESSES, None).unwrap();
        assert_eq!((means.watch, means.watchpoints), (WatchChoice::Software, 0));
        assert_eq!(means.reason, "asked for; lines are watched in software, as perf_event_open is denied");
        let auto = Some("auto takes it".to_owned());
        let means = denied().means(None, 4, &ACCESSES, auto.clone()).unwrap();
        assert!(means.reason.starts_with("auto takes it; lines are watched"), "{}", means.reason);
        let means = everything().means(None, 4, &TIME, auto).unwrap();
        assert_eq!(means.reason, "auto takes it; best");
        let nothing = Found { signals: Err("no timer works".into()), ..denied() };
        assert!(nothing.means(None, 4, &ACCESSES, None).is_ok(), "samples come without signals");
        let error = denied().means(Some(WatchChoice::Registers), 4, &ACCESSES, None).unwrap_err();
        assert!(error.contains("perf_event_open is denied"), "{error}");
    }

    /// The registers serve processes whose code cannot be translated.
    #[test]
    fn software_watches_where_it_is_asked_for() {
        let means = everything().means(Some(WatchChoice::Software), 4, &ACCESSES, None).unwrap();
        assert_eq!((means.watch, means.watchpoints), (WatchChoice::Software, 4));
        assert_eq!(means.reason, "asked for");
    }

    #[test]
    fn the_burst_engine_does_without_and_cannot_watch_in_software() {
        let means = denied().means(None, 4, &TIME, None).unwrap();
        assert_eq!(
            (means.watch, means.watchpoints, means.reason.as_str()),
            (WatchChoice::Registers, 0, "perf_event_open is denied")
        );
        assert!(
            everything()
                .means(Some(WatchChoice::Software), 4, &TIME, None)
                .unwrap_err()
                .contains("--engine translate")
        );
        assert!(denied().means(Some(WatchChoice::Registers), 4, &TIME, None).is_err());
    }
}
