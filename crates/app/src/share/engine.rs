//! Which engine serves.

use carom_collect::{Engine, WatchChoice};

use super::ShareArgs;
use crate::options::Period;

/// An engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Which.
    pub engine: Engine,
    /// Why, where nobody asked for it by name. A clause without a full stop.
    pub reason: Option<String>,
}

/// The engine that was asked for. `auto` is `translate`, whose samples stand for accesses and need no perf events, where
/// code can be translated, as `translatable` finds out. It is `burst` where an option asks for what only that keeps, and where
/// most code is `generated` while the program runs, unless an option asks for what only translated code keeps.
pub fn choose(
    args: &ShareArgs,
    translatable: impl FnOnce() -> Result<(), String>,
    generated: impl FnOnce() -> Option<String>,
) -> Choice {
    let (engine, reason) = match (args.engine, only_burst(args)) {
        (Some(Engine::Burst), _) => (Engine::Burst, None),
        (Some(Engine::Translate), _) => (Engine::Translate, None),
        (None, Some(option)) => (Engine::Burst, Some(format!("auto takes it with {option}"))),
        (None, None) => match translatable() {
            Ok(()) => match Some(()).filter(|()| !only_translate(args)).and_then(|()| generated()) {
                Some(cause) => (Engine::Burst, Some(format!("auto takes it because {cause}"))),
                None => (Engine::Translate, Some("auto takes it where code can be translated".to_owned())),
            },
            Err(cause) => (Engine::Burst, Some(format!("code cannot be translated here ({cause})"))),
        },
    };
    Choice { engine, reason }
}

/// An option by which `burst` is meant: it samples by time, and all that it adds is under a budget.
fn only_burst(args: &ShareArgs) -> Option<&'static str> {
    if matches!(args.periods.period, Some(Period::Time(_))) {
        Some("a --period in time")
    } else if args.rate.is_some() {
        Some("--rate")
    } else if args.budget.is_some() {
        Some("--budget")
    } else if args.delivery.is_some() {
        Some("--delivery")
    } else {
        None
    }
}

/// Whether an option asks for what translated code alone does: samples of accesses, and watching in software.
fn only_translate(args: &ShareArgs) -> bool {
    args.periods.any() || args.watch == Some(WatchChoice::Software)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::parsed;

    fn chosen(options: &[&str], translatable: Result<(), String>) -> (Engine, String) {
        let args: ShareArgs = parsed(options);
        let Choice { engine, reason } = choose(&args, || translatable, || None);
        (engine, reason.unwrap_or_default())
    }

    fn denied() -> Result<(), String> {
        Err("memfd_create is denied".into())
    }

    #[test]
    fn auto_translates_where_that_can_be_done() {
        let auto = (Engine::Translate, "auto takes it where code can be translated".to_owned());
        assert_eq!(chosen(&[], Ok(())), auto);
        assert_eq!(chosen(&["--period", "100000"], Ok(())), auto);
        let cannot = "code cannot be translated here (memfd_create is denied)".to_owned();
        assert_eq!(chosen(&[], denied()), (Engine::Burst, cannot));
    }

    #[test]
    fn auto_leaves_code_that_is_made_at_run_time_to_burst() {
        let chosen = |options: &[&str]| {
            choose(&parsed(options), || Ok(()), || Some("Java makes code while it runs".to_owned()))
        };
        let burst = chosen(&[]);
        assert_eq!(burst.engine, Engine::Burst);
        assert_eq!(burst.reason.as_deref(), Some("auto takes it because Java makes code while it runs"));
        for only_translate in [["--period", "100000"], ["--watch", "software"], ["--engine", "translate"]] {
            assert_eq!(chosen(&only_translate).engine, Engine::Translate, "{only_translate:?}");
        }
    }

    #[test]
    fn options_of_burst_ask_for_it() {
        let options: [(&[&str], &str); 4] = [
            (&["--period", "3ms"], "a --period in time"),
            (&["--rate", "100"], "--rate"),
            (&["--budget", "1"], "--budget"),
            (&["--delivery", "setsig"], "--delivery"),
        ];
        for (option, name) in options {
            let because = format!("auto takes it with {name}");
            assert_eq!(chosen(option, Ok(())), (Engine::Burst, because));
        }
    }

    #[test]
    fn who_is_asked_for_by_name_is_taken() {
        let asked = |name| ["--engine", name, "--budget", "1"];
        assert_eq!(chosen(&asked("translate"), denied()), (Engine::Translate, String::new()));
        assert_eq!(chosen(&asked("burst"), Ok(())), (Engine::Burst, String::new()));
    }
}
