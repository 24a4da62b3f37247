use super::{Inclusion, Level, Machine, MachineError, Replacement};
use crate::protocol::Protocol;

/// A cache as the system describes it (sysfs: `cpu/cpu*/cache/index*`). Instruction caches are left out by the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// 1 for what is nearest to the core.
    pub level: u32,
    /// Its size.
    pub bytes: u64,
    /// Bytes of a line.
    pub line_bytes: u32,
    /// Lines of a set; 0 where not known.
    pub ways: u32,
    /// The logical processors that share it.
    pub cpus: Vec<u32>,
}

impl Machine {
    /// The machine that has these caches, one of each kind being like all others of its level.
    ///
    /// A core is what shares a first level. The system tells neither protocol nor replacement nor inclusion: they are
    /// MESI, LRU and inclusive, and in the result for the caller to change.
    ///
    /// # Errors
    /// No first level is described, or sizes that cannot be simulated.
    pub fn from_found(caches: &[Found]) -> Result<Self, MachineError> {
        let first = |level| caches.iter().find(|cache| cache.level == level);
        let count = |level| caches.iter().filter(|cache| cache.level == level).count();
        let l1 = first(1).ok_or(MachineError::NoCaches)?;
        let l3 = first(3);
        let sockets = count(3).max(1);
        let machine = Self {
            sockets,
            cores_per_socket: count(1).div_ceil(sockets),
            line_bytes: l1.line_bytes,
            protocol: Protocol::default(),
            l1: level(l1),
            l2: first(2).map(level),
            l3: l3.map(level),
            seed: 0,
        };
        machine.check()?;
        Ok(machine)
    }
}

/// Eight ways where the system does not tell.
fn level(found: &Found) -> Level {
    let ways = if found.ways == 0 { 8 } else { found.ways };
    Level { bytes: found.bytes, ways, replacement: Replacement::default(), inclusion: Inclusion::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(level: u32, kib: u64, ways: u32, cpus: &[u32]) -> Found {
        Found { level, bytes: kib << 10, line_bytes: 64, ways, cpus: cpus.to_vec() }
    }

    #[test]
    fn cores_and_sockets_are_counted_by_their_caches() {
        // Four cores of two threads each; two share an L3.
        let mut caches: Vec<Found> = Vec::new();
        for core in 0..4 {
            let cpus = [core, core + 4];
            caches.extend([found(1, 32, 8, &cpus), found(2, 1024, 0, &cpus)]);
        }
        caches.extend([found(3, 32768, 16, &[0, 1, 4, 5]), found(3, 32768, 16, &[2, 3, 6, 7])]);
        let machine = Machine::from_found(&caches).unwrap();
        assert_eq!((machine.sockets, machine.cores_per_socket), (2, 2));
        assert_eq!(
            machine.levels().map(|(_, level)| machine.sets(&level)).collect::<Vec<_>>(),
            [64, 2048, 32768]
        );
        assert_eq!(machine.parts(), 64);
    }

    #[test]
    fn without_a_first_level_there_is_no_machine() {
        assert_eq!(Machine::from_found(&[found(2, 1024, 8, &[0])]), Err(MachineError::NoCaches));
    }
}
