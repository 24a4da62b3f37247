//! The simulation itself.

mod access;
#[cfg(debug_assertions)]
mod check;
mod core;
mod directory;
mod hits;
mod leave;
mod request;
mod settings;
mod shadow;
mod socket;

pub use settings::{Part, Settings};

use self::{core::Core, directory::Directory, shadow::Shadow, socket::Socket};
use crate::{
    counts::{Counts, Sharing},
    history::History,
    input::{Grain, Input},
    invalidated::Invalidations,
    machine::{Level, Machine, MachineError},
    matrix::Matrix,
    protocol::Protocol,
    results::Results,
};

/// Simulates a machine's caches, access by access.
///
/// It can be fed while a recording runs, and asked at any time.
#[derive(Debug)]
pub struct Simulator {
    protocol: Protocol,
    grain: Grain,
    part: Part,
    cores_per_socket: usize,
    cores: Vec<Core>,
    /// By socket; empty without an L3.
    sockets: Vec<Socket>,
    directory: Directory,
    shadows: Option<Shadows>,
    /// Accesses before the current call.
    position: u64,
    /// By reference and kind: the counts that every access changes.
    accesses: Vec<[u64; 4]>,
    /// By reference: all others.
    counts: Vec<Counts>,
    invalidations: Matrix<Sharing>,
    invalidated: Invalidations,
    transfers: Matrix<u64>,
    histories: Vec<History>,
}

/// Fully associative caches of the same sizes.
#[derive(Debug)]
struct Shadows {
    /// By core.
    l1: Vec<Shadow>,
    /// By core; without an L2, not used.
    l2: Vec<Shadow>,
    /// By socket; without an L3, not used.
    l3: Vec<Shadow>,
}

impl Simulator {
    /// A machine with empty caches.
    ///
    /// # Errors
    /// The machine cannot be simulated, or not with these settings.
    pub fn new(machine: &Machine, settings: Settings) -> Result<Self, MachineError> {
        machine.check()?;
        settings.check(machine)?;
        let cores = machine.cores();
        let mask_shift = settings.mask_bytes.trailing_zeros();
        let sockets = 0..machine.sockets;
        Ok(Self {
            protocol: machine.protocol,
            grain: Grain { line_shift: machine.line_bytes.trailing_zeros(), mask_shift },
            part: settings.part,
            cores_per_socket: machine.cores_per_socket,
            cores: (0..cores).map(|core| Core::new(machine, core)).collect(),
            sockets: machine.l3.as_ref().map_or_else(Vec::new, |level| {
                sockets.map(|socket| Socket::new(machine, level, socket)).collect()
            }),
            directory: Directory::new(cores),
            shadows: settings.conflicts.then(|| Shadows::new(machine)),
            position: 0,
            accesses: Vec::new(),
            counts: Vec::new(),
            invalidations: Matrix::new(cores),
            invalidated: Invalidations::default(),
            transfers: Matrix::new(cores),
            histories: Vec::new(),
        })
    }

    /// The core makes these accesses, before those of later calls. A core that the machine lacks makes none.
    ///
    /// Of several parts, each has to be given the accesses that touch its lines. What it is given beside these changes only the positions
    /// in histories.
    pub fn accesses(&mut self, core: usize, inputs: &[Input]) {
        if core < self.cores.len() {
            self.make(core, inputs);
        }
        self.position += inputs.len() as u64;
    }

    /// From now on, writes down how the states of the line with this address change. Costs time at each miss.
    pub fn watch(&mut self, addr: carom_base::Addr) {
        let line = self.grain.line(addr.0);
        if self.part.has(line) && self.histories.iter().all(|history| history.line != line) {
            self.histories.push(History::new(line));
        }
    }

    /// What was counted until now.
    pub fn results(&self) -> Results {
        let mut references = self.counts.clone();
        for (counts, accesses) in references.iter_mut().zip(&self.accesses) {
            // By the codes of `AccessKind`.
            [counts.loads, counts.stores, counts.read_modify_writes, _] = *accesses;
        }
        let mut histories = self.histories.clone();
        histories.sort_by_key(|history| history.line);
        Results {
            references,
            invalidations: self.invalidations.clone(),
            invalidated: self.invalidated.sorted(),
            transfers: self.transfers.clone(),
            histories,
        }
    }

    fn socket_of(&self, core: usize) -> usize {
        core / self.cores_per_socket
    }
}

impl Shadows {
    fn new(machine: &Machine) -> Self {
        let each = |count: usize, level: Option<Level>| {
            let lines = level.map_or(0, |level| level.bytes / u64::from(machine.line_bytes)) as usize;
            (0..count).map(|_| Shadow::new(lines.max(1))).collect()
        };
        let (cores, sockets) = (machine.cores(), machine.sockets);
        Self { l1: each(cores, Some(machine.l1)), l2: each(cores, machine.l2), l3: each(sockets, machine.l3) }
    }
}
