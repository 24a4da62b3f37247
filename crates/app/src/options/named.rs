//! Options whose values are names.

use carom_base_sys::probe::DeliveryKind;
use carom_collect::{Engine, Trial, WatchChoice};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// `None`: carom chooses. clap takes an `Option` by that name for an option that may be left out.
pub type OrAuto<T> = Option<T>;

/// A value with its name and what it means.
type Named<T> = (OrAuto<T>, &'static str, &'static str);

/// The default of every option here but the trial.
pub const AUTO: &str = "auto";

/// `--engine`.
pub fn engine() -> impl TypedValueParser<Value = OrAuto<Engine>> {
    const ALL: [Named<Engine>; 3] = [
        (None, AUTO, "The best that works here"),
        (
            Some(Engine::Burst),
            Engine::Burst.name(),
            "A timer and a few instructions around each interrupt; needs no PMU",
        ),
        (
            Some(Engine::Translate),
            Engine::Translate.name(),
            "Translated code that counts and samples its own accesses; needs no PMU and no perf events",
        ),
    ];
    parser(&ALL)
}

/// `--watch`.
pub fn watch() -> impl TypedValueParser<Value = OrAuto<WatchChoice>> {
    const ALL: [Named<WatchChoice>; 3] = [
        (None, AUTO, "The better one for this command and machine"),
        (
            Some(WatchChoice::Software),
            WatchChoice::Software.name(),
            "Translated code watches some places itself, without perf events",
        ),
        (
            Some(WatchChoice::Registers),
            WatchChoice::Registers.name(),
            "The four debug registers of each thread, by perf events",
        ),
    ];
    parser(&ALL)
}

/// `--watch` of `carom reuse`.
pub fn watch_of_reuse() -> impl TypedValueParser<Value = OrAuto<WatchChoice>> {
    const ALL: [Named<WatchChoice>; 4] = [
        (None, AUTO, "The better one for this command and machine"),
        (
            Some(WatchChoice::Episodes),
            WatchChoice::Episodes.name(),
            "Translated code, in a tenth of the run; all of its beginning",
        ),
        (Some(WatchChoice::Software), WatchChoice::Software.name(), "Translated code, all the time"),
        (
            Some(WatchChoice::Registers),
            WatchChoice::Registers.name(),
            "The four debug registers of each thread, by perf events",
        ),
    ];
    parser(&ALL)
}

/// `--delivery`.
pub fn delivery() -> impl TypedValueParser<Value = OrAuto<DeliveryKind>> {
    const ALL: [Named<DeliveryKind>; 4] = [
        (None, AUTO, "The best that works here"),
        (Some(DeliveryKind::Sigtrap), DeliveryKind::Sigtrap.name(), "perf events with sigtrap (Linux 5.18)"),
        (Some(DeliveryKind::Setsig), DeliveryKind::Setsig.name(), "perf events with F_SETSIG"),
        (Some(DeliveryKind::PosixTimer), DeliveryKind::PosixTimer.name(), "POSIX timers, no watchpoints"),
    ];
    parser(&ALL)
}

/// `--trial`; none is to count.
pub fn trial() -> impl TypedValueParser<Value = OrAuto<Trial>> {
    const ALL: [Named<Trial>; 5] = [
        (None, "counts", "No trial: count"),
        (Some(Trial::Translation), Trial::Translation.name(), "Translate only; all counts are 0"),
        (
            Some(Trial::Stream),
            Trial::Stream.name(),
            "Count, and write every access into the thread's buffer, over and over",
        ),
        (
            Some(Trial::Checksums),
            Trial::Checksums.name(),
            "As stream, and each thread adds up the addresses that it has written",
        ),
        (
            Some(Trial::Samples),
            Trial::Samples.name(),
            "Count, and take samples that nobody keeps (see --trial-period)",
        ),
    ];
    parser(&ALL)
}

fn parser<T: Copy + Send + Sync>(all: &'static [Named<T>]) -> impl TypedValueParser<Value = OrAuto<T>> {
    let names = all.iter().map(|&(_, name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(names).try_map(|given| {
        let found = all.iter().find(|(_, name, _)| *name == given);
        found.map(|&(value, ..)| value).ok_or("not one of the names")
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn a_value_has_the_name_that_settings_and_profiles_know() {
        let command = clap::Command::new("carom");
        let read = |text: &str| engine().parse_ref(&command, None, OsStr::new(text));
        assert_eq!(read("auto").unwrap(), None);
        for engine in [Engine::Burst, Engine::Translate] {
            assert_eq!(read(engine.name()).unwrap(), Some(engine));
        }
        assert!(read("steam").is_err());
    }
}
