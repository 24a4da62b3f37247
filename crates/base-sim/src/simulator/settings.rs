use crate::machine::{Machine, MachineError};

/// What is counted, and of which lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes for each bit of the masks that tell true from false sharing: 1 is exact, 4 is what section 8.3 of Marathe,
    /// Mueller and de Supinski proposes for hardware. A line has at most 64 bits.
    pub mask_bytes: u32,
    /// Tell conflict from capacity misses. It costs a fully associative cache beside each cache, and excludes parts.
    pub conflicts: bool,
    /// Which lines are simulated.
    pub part: Part,
}

/// One of several parts of all lines, for a simulator each.
///
/// The parts are the residues of lines modulo their number, which divides the numbers of sets of all caches: so no set
/// has lines of two parts, no part needs to know of another, and the counts of all parts add up to those of the whole.
/// What cannot be divided: a machine with an odd number of sets in some cache ([`Machine::parts`] is 1), and fully
/// associative caches, also those that tell conflict from capacity misses. Random replacement can, because each set
/// has a generator of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Which, from 0.
    pub index: u64,
    /// How many there are, a power of two.
    pub of: u64,
}

impl Part {
    /// All lines.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    #[inline]
    pub(crate) const fn has(self, line: u64) -> bool {
        line & (self.of - 1) == self.index
    }
}

impl Default for Settings {
    /// Masks of bytes, no conflicts, all lines.
    fn default() -> Self {
        Self { mask_bytes: 1, conflicts: false, part: Part::WHOLE }
    }
}

impl Settings {
    pub(crate) fn check(&self, machine: &Machine) -> Result<(), MachineError> {
        let Self { mask_bytes, conflicts, part: Part { index, of } } = *self;
        let line_bytes = machine.line_bytes;
        if !mask_bytes.is_power_of_two() || mask_bytes > line_bytes || line_bytes / mask_bytes > 64 {
            return Err(MachineError::Mask { mask_bytes, line_bytes });
        }
        let most = machine.parts();
        if !of.is_power_of_two() || of > most || index >= of {
            return Err(MachineError::Part { index, of, most });
        }
        if conflicts && of > 1 {
            return Err(MachineError::ConflictsInParts);
        }
        Ok(())
    }
}
