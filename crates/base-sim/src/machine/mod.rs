//! The machine that is simulated.

mod error;
mod file;
mod found;
mod included;
mod placement;

use serde::Deserialize;

pub use error::MachineError;
pub use found::Found;
pub use included::{INCLUDED, included};
pub use placement::Placement;

use crate::protocol::Protocol;

/// Cores with private caches, in sockets with one shared cache each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Sockets: groups of cores that share an L3. (A processor with several L3s is several.)
    pub sockets: usize,
    /// Cores of each socket.
    pub cores_per_socket: usize,
    /// Bytes of a line, a power of two.
    pub line_bytes: u32,
    /// How the cores' copies are kept coherent.
    pub protocol: Protocol,
    /// Each core's first level.
    pub l1: Level,
    /// Each core's second level.
    pub l2: Option<Level>,
    /// Each socket's shared level.
    pub l3: Option<Level>,
    /// Where random replacement begins.
    pub seed: u64,
}

/// A cache. It is write-back and allocates lines that are stored to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Its size.
    pub bytes: u64,
    /// The lines of a set.
    pub ways: u32,
    /// Which line makes room.
    pub replacement: Replacement,
    /// What it has in common with the levels nearer to the core; without meaning for L1.
    pub inclusion: Inclusion,
}

/// Which line of a set makes room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replacement {
    /// The least recently used one.
    #[default]
    Lru,
    /// An approximation of it: a bit for each node of a binary tree over the ways leads away from what was used.
    Plru,
    /// Any, by a generator of the set's own.
    Random,
}

/// What a level has in common with those nearer to the core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inclusion {
    /// It has all that they have: a line that it loses is taken from them too.
    #[default]
    Inclusive,
    /// It has what they had to give up, and nothing that they have.
    Exclusive,
    /// It gets the lines that they get, and each replaces by itself.
    NonInclusive,
}

impl Machine {
    /// The largest number of ways.
    pub const MOST_WAYS: u32 = 256;
    /// The largest number of sockets.
    pub const MOST_SOCKETS: usize = 64;
    /// The largest number of cores.
    pub const MOST_CORES: usize = 4096;

    /// All cores. Core `n` belongs to socket `n / cores_per_socket`.
    pub fn cores(&self) -> usize {
        self.sockets * self.cores_per_socket
    }

    /// The levels that exist, nearest first.
    pub fn levels(&self) -> impl Iterator<Item = (&'static str, Level)> {
        let named = [("l1", Some(self.l1)), ("l2", self.l2), ("l3", self.l3)];
        named.into_iter().filter_map(|(name, level)| Some((name, level?)))
    }

    /// The sets of a cache.
    pub fn sets(&self, level: &Level) -> u64 {
        level.bytes / (u64::from(level.ways) * u64::from(self.line_bytes)).max(1)
    }

    /// The largest number of parts that can be simulated independently: the largest power of two that divides the
    /// numbers of sets of all caches. A line then has its sets, in all caches, in one part.
    pub fn parts(&self) -> u64 {
        let sets = self.levels().fold(0, |sets, (_, level)| sets | self.sets(&level));
        1 << sets.trailing_zeros().min(63)
    }

    /// Whether such a machine can be simulated.
    ///
    /// # Errors
    /// The first number that does not fit, and why.
    pub fn check(&self) -> Result<(), MachineError> {
        if !(1..=Self::MOST_SOCKETS).contains(&self.sockets) {
            return Err(MachineError::Sockets(self.sockets));
        }
        if !(1..=Self::MOST_CORES / self.sockets).contains(&self.cores_per_socket) {
            return Err(MachineError::Cores(self.cores_per_socket));
        }
        if !self.line_bytes.is_power_of_two() || !(8..=4096).contains(&self.line_bytes) {
            return Err(MachineError::Line(self.line_bytes));
        }
        self.levels().try_for_each(|(name, level)| {
            let Level { bytes, ways, replacement, .. } = level;
            if !(1..=Self::MOST_WAYS).contains(&ways) {
                return Err(MachineError::Ways { level: name, ways });
            }
            if replacement == Replacement::Plru && !(ways.is_power_of_two() && ways <= 64) {
                return Err(MachineError::Tree { level: name, ways });
            }
            let set_bytes = u64::from(ways) * u64::from(self.line_bytes);
            if bytes == 0 || !bytes.is_multiple_of(set_bytes) || bytes / set_bytes > 1 << 32 {
                return Err(MachineError::Size { level: name, bytes, set_bytes });
            }
            Ok(())
        })
    }
}
