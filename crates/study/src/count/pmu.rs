//! Events of PMUs as quantities: any that a run has counted. What they are is said by the run.

use carom_store::PmuCount;

use super::kept::kept;

/// An event of a PMU. Two are the same where their names are.
#[derive(Clone, Copy, Debug)]
pub struct PmuEvent {
    name: &'static str,
    unit: &'static str,
    of_machine: bool,
}

/// Longer names are none.
const LONGEST: usize = 256;

/// Bytes of a mebibyte, in which memory controllers count.
const MEBIBYTE: f64 = 1_048_576.0;

impl PmuEvent {
    /// `PMU/TERMS/MODES` or `MODEL::EVENT:MASK`. `None` where the name is not of this form. Whether a machine has it,
    /// the run knows.
    pub fn named(name: &str) -> Option<Self> {
        let by_sysfs = matches!(name.split('/').collect::<Vec<_>>()[..], [pmu, terms, _] if !pmu.is_empty() && !terms.is_empty());
        let by_libpfm =
            name.split_once("::").is_some_and(|(model, event)| !model.is_empty() && !event.is_empty());
        let is_name = name.len() <= LONGEST
            && name.chars().all(|c| c.is_ascii_graphic())
            && (by_sysfs || by_libpfm && !name.contains('/'));
        is_name.then(|| Self { name: kept(name), unit: "events", of_machine: false })
    }

    /// As a run has counted it.
    pub fn counted(name: &str, count: &PmuCount) -> Option<Self> {
        let unit = match count.unit.as_deref() {
            None => "events",
            Some("Joules") => "J",
            Some("MiB") => "bytes",
            Some(other) => kept(other),
        };
        Some(Self { unit, of_machine: count.of_machine, ..Self::named(name)? })
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// What one of it is.
    pub const fn unit(self) -> &'static str {
        self.unit
    }

    /// Whether it counts what the whole machine does.
    pub const fn is_of_machine(self) -> bool {
        self.of_machine
    }

    /// The value in its unit. Where the event had a counter for a part of the time only, it is estimated for all of it;
    /// `None` where it never had one.
    pub fn value(count: &PmuCount) -> Option<f64> {
        let scale = if count.unit.as_deref() == Some("MiB") { count.scale * MEBIBYTE } else { count.scale };
        let all = count.enabled_ns as f64 / count.running_ns as f64;
        (count.running_ns > 0).then(|| count.count as f64 * scale * all.max(1.0))
    }
}

impl PartialEq for PmuEvent {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for PmuEvent {}

/// The part of the time for which an event had a counter, in all runs together.
pub fn time_share<'a>(counts: impl Iterator<Item = &'a PmuCount>) -> Option<f64> {
    let add = |(running, enabled): (f64, f64), count: &PmuCount| {
        (running + count.running_ns as f64, enabled + count.enabled_ns as f64)
    };
    let (running, enabled) = counts.fold((0.0, 0.0), add);
    (enabled > 0.0).then(|| (running / enabled).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_sysfs_or_of_libpfm() {
        for name in ["msr/tsc/", "cpu/event=0xc0,umask=1/u", "skl::INST_RETIRED:ANY_P"] {
            assert_eq!(PmuEvent::named(name).map(PmuEvent::name), Some(name));
        }
        for bad in [
            "",
            "cycles",
            "sched:sched_switch",
            "a/b",
            "//",
            "/b/",
            "a/b/c/",
            "a::",
            "::b",
            "a/ b/",
            "a/\u{1b}/",
        ] {
            assert_eq!(PmuEvent::named(bad), None, "{bad}");
        }
        assert_eq!(PmuEvent::named(&format!("a/{}/", "b".repeat(LONGEST))), None);
    }

    #[test]
    fn values_have_their_unit_and_stand_for_all_of_the_time() {
        let count = |count, enabled_ns, running_ns| PmuCount {
            count,
            enabled_ns,
            running_ns,
            scale: 1.0,
            ..PmuCount::default()
        };
        assert_eq!(PmuEvent::value(&count(300, 100, 100)), Some(300.0));
        // A third of the time.
        let turns = count(300, 99, 33);
        assert_eq!(
            (PmuEvent::value(&turns), time_share([&turns].into_iter())),
            (Some(900.0), Some(33.0 / 99.0))
        );
        // Never: that is not 0.
        assert_eq!(PmuEvent::value(&count(0, 100, 0)), None);
        let of = |unit: &str, scale| PmuCount { unit: Some(unit.into()), scale, ..count(8, 1, 1) };
        let energy = of("Joules", 0.25);
        assert_eq!(
            (PmuEvent::value(&energy), PmuEvent::counted("power/a/", &energy).map(PmuEvent::unit)),
            (Some(2.0), Some("J"))
        );
        let traffic = of("MiB", 0.5);
        assert_eq!(PmuEvent::value(&traffic), Some(4.0 * MEBIBYTE));
        assert_eq!(PmuEvent::counted("imc/a/", &traffic).map(PmuEvent::unit), Some("bytes"));
    }
}
