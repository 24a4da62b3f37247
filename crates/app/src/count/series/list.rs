//! `--list`: the events, and what this machine cannot count.

use carom_base_sys::probe::{Facts, Probes, Support};
use carom_study::count::Quantity;

use crate::{
    failure::{End, Failure},
    output,
};

/// Prints the events with this in their name or description, in any case; all where it is empty.
///
/// # Errors
/// There are none, or they cannot be printed.
pub fn list(pattern: &str) -> Result<End, Failure> {
    let lines: String = matching(pattern).map(line).collect();
    if lines.is_empty() {
        return Err(Failure::new(format!(
            "no event has {pattern:?} in it: carom count --list has all; {}",
            hardware()
        )));
    }
    let head =
        "counted: exactly, in runs under carom; native: by the kernel, in runs without carom in the program";
    output::print(&format!("{head}\n\n{lines}\n{}\n", hardware()))?;
    Ok(End::Success)
}

fn matching(pattern: &str) -> impl Iterator<Item = Quantity> {
    let wanted = pattern.to_lowercase();
    Quantity::all().filter(move |quantity| {
        [quantity.name(), quantity.describe()].iter().any(|text| text.to_lowercase().contains(&wanted))
    })
}

fn line(quantity: Quantity) -> String {
    let how = if quantity.is_counted() { "counted" } else { "native" };
    format!("{:<22}{:<14}{how:<9}{}\n", quantity.name(), quantity.unit(), quantity.describe())
}

/// Why cycles, cache misses and their like are not in the list.
fn hardware() -> String {
    let why = match Probes::judge(&Facts::here()).counters.support {
        Support::Yes => "this version does not read the processor's counters; perf stat does".to_owned(),
        Support::No { cause, .. } | Support::Unknown { cause } => {
            format!("{cause}; carom doctor says what to do")
        }
    };
    format!("cycles, cache misses and other events of the processor are not counted: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_parts_of_names_and_descriptions() {
        let names = |pattern: &str| matching(pattern).map(Quantity::name).collect::<Vec<_>>();
        assert_eq!(names("FAULTS"), ["minor-faults", "major-faults", "alignment-faults", "emulation-faults"]);
        // By its description.
        assert_eq!(names("entries into"), ["system-calls"]);
        assert_eq!(names("").len(), Quantity::all().count());
        assert!(names("cycles").is_empty());
    }
}
