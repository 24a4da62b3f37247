//! Machine files; [`Machine::parse`] describes them.

use carom_base::LINE_BYTES;
use serde::Deserialize;

use super::{Inclusion, Level, Machine, MachineError, Replacement};
use crate::protocol::Protocol;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    protocol: Protocol,
    #[serde(default = "one")]
    sockets: usize,
    cores_per_socket: usize,
    #[serde(default = "line_bytes")]
    line_bytes: u32,
    #[serde(default)]
    seed: u64,
    l1: FileLevel,
    l2: Option<FileLevel>,
    l3: Option<FileLevel>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileLevel {
    size: Size,
    ways: u32,
    #[serde(default)]
    replacement: Replacement,
    #[serde(default)]
    inclusion: Inclusion,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Size {
    Bytes(u64),
    Text(String),
}

fn one() -> usize {
    1
}

fn line_bytes() -> u32 {
    LINE_BYTES as u32
}

impl Machine {
    /// Reads a machine file. Its keys and their defaults:
    ///
    /// ```
    /// # use carom_base_sim::{Machine, Protocol, Replacement};
    /// let machine = Machine::parse(r#"
    ///     protocol = "MESI"          # MSI, MESI (the default), MESIF or MOESI
    ///     sockets = 1                # the default
    ///     cores_per_socket = 2       # no default
    ///     line_bytes = 64            # the default
    ///     seed = 0                   # the default: where random replacement begins
    ///
    ///     [l1]                       # of each core; no default
    ///     size = "32KiB"             # or a number of bytes
    ///     ways = 8
    ///     replacement = "lru"        # lru (the default), plru or random
    ///
    ///     [l2]                       # of each core; none if absent
    ///     size = "1MiB"
    ///     ways = 8
    ///     inclusion = "inclusive"    # inclusive (the default), exclusive or non-inclusive
    ///
    ///     [l3]                       # of each socket; none if absent
    ///     size = 33554432
    ///     ways = 16
    /// "#)?;
    /// assert_eq!((machine.cores(), machine.protocol, machine.l1.bytes), (2, Protocol::Mesi, 32 << 10));
    /// # Ok::<(), carom_base_sim::MachineError>(())
    /// ```
    ///
    /// # Errors
    /// The text is no machine file, or the machine cannot be simulated.
    pub fn parse(text: &str) -> Result<Self, MachineError> {
        let file: File = toml::from_str(text).map_err(|error| MachineError::File(error.to_string()))?;
        let machine = Self {
            sockets: file.sockets,
            cores_per_socket: file.cores_per_socket,
            line_bytes: file.line_bytes,
            protocol: file.protocol,
            l1: file.l1.level()?,
            l2: file.l2.map(FileLevel::level).transpose()?,
            l3: file.l3.map(FileLevel::level).transpose()?,
            seed: file.seed,
        };
        machine.check()?;
        Ok(machine)
    }
}

impl FileLevel {
    fn level(self) -> Result<Level, MachineError> {
        let Self { size, ways, replacement, inclusion } = self;
        Ok(Level { bytes: size.bytes()?, ways, replacement, inclusion })
    }
}

impl Size {
    fn bytes(self) -> Result<u64, MachineError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Text(text) => bytes(&text).ok_or(MachineError::Unit(text)),
        }
    }
}

/// `32KiB` in bytes.
fn bytes(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit.trim() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Machine::parse(text).expect_err(text).to_string()
    }

    #[test]
    fn what_a_file_leaves_out_is_as_documented() {
        let machine = Machine::parse("cores_per_socket = 3\nl1 = {size = 512, ways = 2}").unwrap();
        let l1 =
            Level { bytes: 512, ways: 2, replacement: Replacement::Lru, inclusion: Inclusion::Inclusive };
        let expected = Machine {
            sockets: 1,
            cores_per_socket: 3,
            line_bytes: 64,
            protocol: Protocol::Mesi,
            l1,
            l2: None,
            l3: None,
            seed: 0,
        };
        assert_eq!(machine, expected);
        assert_eq!(machine.parts(), 4);
    }

    #[test]
    fn a_wrong_file_is_refused_with_the_reason() {
        assert!(refused("cores_per_socket = 2").contains("missing field `l1`"));
        assert!(refused("cores = 2").contains("unknown field `cores`"));
        let with = |l1: &str| format!("cores_per_socket = 2\nl1 = {l1}");
        assert!(refused(&with("{size = \"3 lines\", ways = 2}")).contains("\"3 lines\" is no size"));
        assert!(refused(&with("{size = 1000, ways = 2}")).contains("no whole number of sets of 128 bytes"));
        assert!(refused(&with("{size = 0, ways = 2}")).contains("no whole number"));
        assert!(refused(&with("{size = 192, ways = 3, replacement = \"plru\"}")).contains("power of two"));
        assert!(refused(&with("{size = 64, ways = 0}")).contains("1 to 256 ways"));
        assert!(refused("cores_per_socket = 0\nl1 = {size = 64, ways = 1}").contains("at least 1 core"));
        assert!(
            refused("sockets = 65\ncores_per_socket = 1\nl1 = {size = 64, ways = 1}").contains("64 sockets")
        );
        assert!(
            refused("line_bytes = 48\ncores_per_socket = 1\nl1 = {size = 48, ways = 1}")
                .contains("power of two")
        );
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes("48KiB"), Some(48 << 10));
        assert_eq!(bytes("1 GiB"), Some(1 << 30));
        assert_eq!(bytes("64"), Some(64));
        for bad in ["", "KiB", "32K", "-1KiB", "99999999999999999999", "18446744073709551615KiB"] {
            assert_eq!(bytes(bad), None, "{bad}");
        }
    }
}
