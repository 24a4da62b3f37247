//! Which engine serves.

use carom_collect::Engine;

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
/// code can be translated, as `translatable` finds out; it is `burst` where an option asks for what only that keeps.
pub fn choose(args: &ShareArgs, translatable: impl FnOnce() -> Result<(), String>) -> Choice {
    let (engine, reason) = match (args.engine, only_burst(args)) {
        (Some(Engine::Burst), _) => (Engine::Burst, None),
        (Some(Engine::Translate), _) => (Engine::Translate, None),
        (None, Some(option)) => (Engine::Burst, Some(format!("auto takes it with {option}"))),
        (None, None) => match translatable() {
            Ok(()) => (Engine::Translate, Some("auto takes it where code can be translated".to_owned())),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::parsed;

    fn chosen(options: &[&str], translatable: Result<(), String>) -> (Engine, String) {
        let args: ShareArgs = parsed(options);
        let Choice { engine, reason } = choose(&args, || translatable);
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
