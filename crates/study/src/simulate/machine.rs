use carom_base::LINE_BYTES;
use carom_base_sim::{Found, Inclusion, Level, Machine, Protocol, Replacement};
use carom_store::MachineInfo;

use crate::recording::Recordings;

/// Which machine is simulated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MachineChoice {
    /// That of the recording.
    #[default]
    Recorded,
    /// Another one, with its name.
    Given(String, Machine),
}

/// The name of the machine that stands for one whose caches are not known.
const UNKNOWN: &str = "a common machine";

/// The most cores that are simulated because of a program's threads.
const MOST_CORES: usize = 64;

impl MachineChoice {
    /// Its name, and the machine.
    pub(crate) fn of(&self, recordings: &Recordings<'_>) -> (String, Machine) {
        self.on(recordings.manifests().first().map(|(manifest, _)| &manifest.machine))
    }

    /// The same, where `info` describes the machine of the recording.
    pub(super) fn on(&self, info: Option<&MachineInfo>) -> (String, Machine) {
        match self {
            Self::Given(name, machine) => (name.clone(), machine.clone()),
            Self::Recorded => info.and_then(recorded).unwrap_or_else(|| (UNKNOWN.into(), unknown())),
        }
    }
}

/// Where a recording describes its machine's caches: the processor's name, and its machine.
fn recorded(info: &MachineInfo) -> Option<(String, Machine)> {
    let data = info.caches.iter().filter(|cache| cache.kind != "instruction");
    let found: Vec<Found> = data
        .map(|cache| Found {
            level: cache.level,
            bytes: cache.bytes,
            line_bytes: cache.line_bytes,
            ways: cache.ways,
            cpus: cache.cpus.clone(),
        })
        .collect();
    let mut machine = Machine::from_found(&found).ok()?;
    // Shared caches of today's processors do not hold all that the cores have.
    if let Some(l3) = &mut machine.l3 {
        l3.inclusion = Inclusion::NonInclusive;
    }
    let name = if info.cpu_model.is_empty() { "the recorded machine".into() } else { info.cpu_model.clone() };
    Some((name, machine))
}

/// A core with 32 KiB and 1 MiB, and 32 MiB for all.
fn unknown() -> Machine {
    let level = |bytes, ways, inclusion| Level { bytes, ways, replacement: Replacement::Lru, inclusion };
    Machine {
        sockets: 1,
        cores_per_socket: 1,
        line_bytes: LINE_BYTES as u32,
        protocol: Protocol::Mesi,
        l1: level(32 << 10, 8, Inclusion::Inclusive),
        l2: Some(level(1 << 20, 8, Inclusion::Inclusive)),
        l3: Some(level(32 << 20, 16, Inclusion::NonInclusive)),
        seed: 0,
    }
}

/// The machine with so many cores in each socket; without a number, with as many as there are threads, if these are more than
/// it has: threads that share a core never take lines from each other.
pub(crate) fn with_cores(machine: Machine, cores: Option<usize>, threads: usize) -> Machine {
    let enough = threads.min(MOST_CORES).div_ceil(machine.sockets.max(1));
    let cores_per_socket = cores.unwrap_or(machine.cores_per_socket.max(enough));
    Machine { cores_per_socket, ..machine }
}
