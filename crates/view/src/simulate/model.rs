//! The answer of `carom simulate`.

use schemars::JsonSchema;
use serde::Serialize;

pub use super::{compare::model::*, what_if::model::*};
use crate::model::{Frame, Object, Real};

/// What a simulated machine's caches do with the program's accesses.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Simulation {
    /// The machine; null where it cannot be simulated.
    pub machine: Option<SimulatedMachine>,
    /// The order of threads (`--order`): `recorded`, `even` or `synchronised`.
    pub order: String,
    /// What the order `synchronised` went by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synchronisations: Option<SimulatedSynchronisations>,
    /// Of all accesses.
    pub total: SimulatedCounts,
    /// Of these, the ones that a reduced trace lacks, although it has a later one of the same basic block and line.
    pub implied_accesses: u64,
    /// Source lines, or instructions where no line is known, the one that costs most cycles first.
    pub references: Vec<SimulatedReference>,
    /// Instructions that are not in `references`.
    pub other_instructions: usize,
    /// Data whose lines cores took from each other, the most often taken first.
    pub objects: Vec<SimulatedObject>,
    /// Taken lines that are in none of `objects`.
    pub unnamed_lines: usize,
    /// Lines of memory that cores took from each other, the most often taken one first.
    pub lines: Vec<SimulatedLine>,
    /// Lines that are not in `lines`.
    pub other_lines: usize,
    /// The cores on which threads accessed something.
    pub cores: Vec<SimulatedCore>,
    /// Which core's stores took lines from which core.
    pub invalidations: SimulatedMatrix,
    /// Lines sent from core to core: a row's core had it, a column's core got it. Rows and columns as in `cores`.
    pub transfers: Vec<Vec<u64>>,
    /// With `--what-if`: what the same accesses do after a change of the data's layout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what_if: Option<SimulatedWhatIf>,
    /// With `--compare`: this trace beside the full one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compare: Option<SimulatedComparison>,
}

/// What threads did to wait for each other.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct SimulatedSynchronisations {
    /// All that the trace has.
    pub all: u64,
    /// Those whose counterpart is missing, or contradicts them: they came after everything that was recorded before them.
    pub unmatched: u64,
}

/// A machine.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SimulatedMachine {
    /// The processor's name, or that of the machine file.
    pub name: String,
    /// `MSI`, `MESI`, `MESIF` or `MOESI`.
    pub protocol: String,
    /// Groups of cores that share an L3.
    pub sockets: usize,
    /// Cores of each.
    pub cores_per_socket: usize,
    /// Bytes of a line.
    pub line_bytes: u32,
    /// The caches, the nearest first.
    pub levels: Vec<SimulatedLevel>,
}

/// A level of caches.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SimulatedLevel {
    /// `l1`, `l2` or `l3`.
    pub name: String,
    /// The size of one.
    pub bytes: u64,
    /// Lines of a set.
    pub ways: u32,
    /// Sets.
    pub sets: u64,
    /// Which line makes room: `lru`, `plru` or `random`.
    pub replacement: String,
    /// `inclusive`, `exclusive` or `non-inclusive`; without meaning for L1.
    pub inclusion: String,
}

/// Data whose lines cores took from each other.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SimulatedObject {
    /// The data; blocks that are called alike are one.
    pub object: Object,
    /// How often lines of it were taken.
    pub invalidations: SimulatedSharing,
    /// How many lines of it were.
    pub lines: usize,
}

/// A source line, or an instruction.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SimulatedReference {
    /// Number of the process.
    pub process: u32,
    /// Function, where known.
    pub function: Option<String>,
    /// Source file, where known.
    pub file: Option<String>,
    /// Source line, where known.
    pub line: Option<u32>,
    /// The function and those that it was inlined into.
    pub call_path: Vec<Frame>,
    /// The data of most of its accesses, where they were looked at.
    pub object: Option<Object>,
    /// What its accesses did.
    pub counts: SimulatedCounts,
    /// Its part of all references' `cycles`.
    pub share: Real,
}

/// What accesses did. Misses are counted by line: an access that spans two lines may miss twice.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct SimulatedCounts {
    /// Accesses; a read-modify-write is one.
    pub accesses: u64,
    /// Those that only read.
    pub loads: u64,
    /// Those that only write.
    pub stores: u64,
    /// Those that do both.
    pub read_modify_writes: u64,
    /// Misses of L1.
    pub l1: SimulatedMisses,
    /// Misses of L1 and L2; none on a machine without L2.
    pub l2: SimulatedMisses,
    /// Misses that nothing in the socket could serve, neither L3 nor another core.
    pub socket: SimulatedMisses,
    /// Coherence misses of the core by accesses that read.
    pub coherence_load_misses: u64,
    /// Stores to lines that the core held without the right to write.
    pub upgrades: u64,
    /// Copies in other cores that the stores invalidated.
    pub caused: SimulatedSharing,
    /// Copies that other cores' stores invalidated, where this reference had brought the line in.
    pub received: SimulatedSharing,
    /// Lines that a core missed and that came from another core of the socket.
    pub from_core: u64,
    /// From L3 of the socket.
    pub from_l3: u64,
    /// From another socket.
    pub from_remote: u64,
    /// From memory.
    pub from_memory: u64,
    /// Copies that cores lost because an inclusive L3 needed the place.
    pub back_invalidations: u64,
    /// Dirty lines that left a core, or were written back to be shared, because of these accesses.
    pub writebacks: u64,
    /// Dirty lines that were written to memory because of these accesses.
    pub memory_writebacks: u64,
    /// Cycles that the accesses wait beyond L1's latency, by usual latencies and without overlap: a model, to rank by.
    pub cycles: Real,
    /// The part of `cycles` for lines that other cores have written, or have copies of.
    pub coherence_cycles: Real,
}

/// Misses by class.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct SimulatedMisses {
    /// All of them.
    pub total: u64,
    /// The cache never had the line.
    pub cold: u64,
    /// The cache had to make room. Conflicts are here too, unless they are told apart.
    pub capacity: u64,
    /// The cache had to make room, but a fully associative one would not.
    pub conflict: u64,
    /// Another core's store took the line away; for a socket, another socket's.
    pub coherence: u64,
}

/// Invalidations by class.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct SimulatedSharing {
    /// The store wrote a byte that the other core had accessed since it got the line.
    #[serde(rename = "true")]
    pub true_sharing: u64,
    /// The store wrote none of them.
    #[serde(rename = "false")]
    pub false_sharing: u64,
}

/// A line of memory that cores took from each other.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SimulatedLine {
    /// Number of the process.
    pub process: u32,
    /// Its first byte, in hexadecimal.
    pub address: String,
    /// Its data.
    pub object: Object,
    /// How often it was taken.
    pub invalidations: SimulatedSharing,
    /// By what from what, the most frequent first.
    pub pairs: Vec<SimulatedPair>,
    /// Pairs that are not in `pairs`.
    pub other_pairs: usize,
}

/// Stores of one place that took a line from another.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SimulatedPair {
    /// What stored: its function and those that it was inlined into.
    pub by: Vec<Frame>,
    /// What had brought the line to the core that lost it.
    pub of: Vec<Frame>,
    /// How often.
    pub invalidations: SimulatedSharing,
    /// The bytes that were stored to.
    pub stored: SimulatedPart,
    /// The bytes that the cores which lost the line had accessed.
    pub accessed: SimulatedPart,
}

/// Bytes of a line, from the first one to the last one of several.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SimulatedPart {
    /// From the line's first byte.
    pub offset_bytes: u32,
    /// How many.
    pub width_bytes: u32,
    /// The variable or field, where known.
    pub field: Option<String>,
}

/// A core.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SimulatedCore {
    /// Its number.
    pub core: usize,
    /// Ids of the threads that ran on it.
    pub threads: Vec<u32>,
}

/// Invalidations by pair of cores. Rows and columns as in `cores`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SimulatedMatrix {
    /// True sharing: a row's core stored, a column's core lost its copy.
    #[serde(rename = "true")]
    pub true_sharing: Vec<Vec<u64>>,
    /// False sharing.
    #[serde(rename = "false")]
    pub false_sharing: Vec<Vec<u64>>,
}
