//! Events by their names.

use carom_study::count::Quantity;

/// Events of one option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventList(pub Vec<Quantity>);

/// `time,cpu/event=0xc0,umask=1/u,loads`: commas between slashes are a part of a name.
///
/// # Errors
/// One of them is no event.
pub fn events(text: &str) -> Result<EventList, String> {
    let mut in_terms = false;
    let between = |c: char| {
        in_terms ^= c == '/';
        c == ',' && !in_terms
    };
    text.split(between).map(event).collect::<Result<_, _>>().map(EventList)
}

/// The event of a name.
///
/// # Errors
/// There is none.
pub fn event(name: &str) -> Result<Quantity, String> {
    Quantity::from_name(name).ok_or_else(|| {
        let all: Vec<&str> = Quantity::all().map(Quantity::name).collect();
        format!(
            "there is no event {name:?}; the events are {}, tracepoints as subsystem:event, and events of PMUs as pmu/event/ or \
             model::event",
            all.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_between_slashes_are_a_part_of_a_name() {
        let names =
            |text: &str| events(text).map(|list| list.0.iter().map(|event| event.name()).collect::<Vec<_>>());
        assert_eq!(
            names("time,cpu/event=0xc0,umask=1/u,sched:sched_switch,skl::A:B"),
            Ok(vec!["time", "cpu/event=0xc0,umask=1/u", "sched:sched_switch", "skl::A:B"])
        );
        assert_eq!(names("msr/tsc/"), Ok(vec!["msr/tsc/"]));
        for bad in ["time,", ",", "cycles", "cpu/a,b", "cpu/a/u/b,c/"] {
            assert!(names(bad).is_err(), "{bad}");
        }
    }
}
