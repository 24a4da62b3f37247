use super::{Machine, MachineError};

/// The machine files that come with carom, by name.
pub const INCLUDED: &[(&str, &str)] = &[
    ("two-cores", include_str!("../../machines/two-cores.toml")),
    ("intel-inclusive", include_str!("../../machines/intel-inclusive.toml")),
    ("intel-mesh", include_str!("../../machines/intel-mesh.toml")),
    ("amd-moesi", include_str!("../../machines/amd-moesi.toml")),
    ("two-sockets", include_str!("../../machines/two-sockets.toml")),
    ("itanium2-smp", include_str!("../../machines/itanium2-smp.toml")),
];

/// An included machine. `None` where none has the name.
///
/// # Errors
/// None: every included file is a machine, which a test checks.
pub fn included(name: &str) -> Option<Result<Machine, MachineError>> {
    let (_, text) = INCLUDED.iter().find(|(known, _)| *known == name)?;
    Some(Machine::parse(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_included_file_is_a_machine_that_can_be_divided() {
        for (name, _) in INCLUDED {
            let machine = included(name).unwrap().unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(machine.parts() >= 2, "{name}");
        }
        assert_eq!(included("pdp-11"), None);
    }
}
