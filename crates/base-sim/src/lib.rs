//! Caches and their coherence, simulated: the accesses of several cores in, counts per reference out.
//!
//! ```
//! use carom_base::{AccessKind::{Load, Store}, Addr};
//! use carom_base_sim::{Input, Machine, Reference, Settings, Simulator};
//!
//! let machine = Machine::parse("cores_per_socket = 2\nl1 = {size = \"32KiB\", ways = 8}")?;
//! let mut simulator = Simulator::new(&machine, Settings::default())?;
//! // Core 0 reads one word of a line (reference 0), core 1 writes another (reference 1): false sharing.
//! simulator.accesses(0, &[Input::new(Addr(0x1000), 8, Load, Reference(0))]);
//! simulator.accesses(1, &[Input::new(Addr(0x1008), 8, Store, Reference(1))]);
//! simulator.accesses(0, &[Input::new(Addr(0x1000), 8, Load, Reference(0))]);
//!
//! let results = simulator.results();
//! let [reader, writer] = results.references[..] else { panic!("two references") };
//! assert_eq!((reader.l1.cold, reader.coherence_load_misses, reader.received.false_sharing), (1, 1, 1));
//! assert_eq!((writer.caused.true_sharing, writer.caused.false_sharing), (0, 1));
//! assert_eq!(results.invalidations[(1, 0)].false_sharing, 1);
//! # Ok::<(), carom_base_sim::MachineError>(())
//! ```
//!
//! A [`Machine`] has cores with private caches, in sockets with a shared one. A [`Simulator`] is fed accesses in the
//! order in which the program made them; several can divide the lines between them ([`Part`]) and be fed in parallel.
//! The caller chooses what a [`Reference`] is, and which core a thread runs on ([`Placement`]).
//!
//! # Rules
//!
//! - An access is cut at lines; each piece *touches* its line, the lowest first. Accesses are counted once, at their
//!   first line; misses are counted by touch.
//! - The state of a line belongs to a core, not to one of its caches: L1 and L2 agree. State changes by another core's
//!   access are those of [`Protocol`]; a core's own load hit changes nothing, its own store leads to M.
//! - A core gets a line as E where no other core and no L3 of another socket has it. (MSI: always as S.)
//! - At a core's miss the copy that answers changes first, and is written back where the protocol says so; then L3 is
//!   looked up, and takes the line in unless it is exclusive; then L2 does; then L1. A line that leaves L1 goes to L2, if
//!   that is exclusive or has it; else it is dropped if clean, and taken in by L2 if dirty.
//! - A line that leaves a core goes to L3: to an exclusive one if no other core of the socket has it, to a non-inclusive
//!   one if it is dirty. An exclusive L3 gives up what a core of its socket gets. If that was dirty, it stays dirty in the
//!   core that stores to it or has it alone; or else it is written to memory.
//! - A write-back goes to the socket's L3 if that has the line, or else to memory. It does not count as a use of L3's
//!   line. Neither does one from L1 of L2's.
//! - A store takes the line from all other cores, and from the L3 of all other sockets.
//! - Whether sharing is true or false is told by the bytes that the other core touched since it got the line (Marathe,
//!   Mueller and de Supinski, section 8). An invalidation is *received* by the reference that had brought the line to
//!   the core that loses it.
//! - A miss is cold where the cache never had the line, a coherence miss where another core's store was what took it
//!   away, and otherwise one of replacement, capacity or conflict. A line that L3 takes from cores in order to be
//!   inclusive is replaced.
//! - Sets are chosen by the lowest bits of the line. (Processors hash the sets of L3.)
//!
//! # Speed
//!
//! Accesses that end in L1 have a loop of their own, which looks where the line was last and searches nothing: where the core
//! may write the line, no other core is concerned. The directory is asked only where a core misses, or stores without the
//! right to. It numbers neighbouring lines together, so that programs which go through memory find them without a search.
//!
//! No clock, no threads and no I/O here: equal accesses give equal counts.
#![forbid(unsafe_code)]

mod cache;
mod counts;
mod history;
mod input;
mod invalidated;
mod machine;
mod matrix;
mod protocol;
mod results;
mod simulator;

pub use counts::{Counts, MissClass, Misses, Sharing, Sources};
pub use history::{Change, History};
pub use input::{Input, Reference};
pub use invalidated::Invalidated;
pub use machine::{
    Found, INCLUDED, Inclusion, Level, Machine, MachineError, Placement, Replacement, included,
};
pub use matrix::Matrix;
pub use protocol::{Answer, Protocol, State};
pub use results::Results;
pub use simulator::{Part, Settings, Simulator};
