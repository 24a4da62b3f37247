//! Exact reuse distances of a multithreaded program, online, over all of its accesses.
//!
//! [`Exact`] is fed every access of every thread, in batches, and answers with counts ([`ReuseCell`]) of time and
//! stack distances, per thread and per shared cache, at several granularities at once.
//!
//! ```
//! use carom_base::{Access, AccessKind, Addr, CellClass, DistanceKind, Ip, ReuseKind, ThreadId};
//! use carom_base_reuse::exact::{Config, Domain, Exact};
//!
//! // The thesis' example: a b c b d d a. Between the two accesses to `a` lie five, to three different places.
//! let load = |place: u64| Access { ip: Ip(1), addr: Addr(place * 64), width: 8, kind: AccessKind::Load };
//! let trace: Vec<_> = [0, 1, 2, 1, 3, 3, 0].map(load).into();
//! let mut exact = Exact::new(&Config::default())?;
//! exact.accesses(ThreadId(0), Domain(0), &trace);
//! let cells = exact.drain(ThreadId(0));
//! let of = |kind, distance| {
//!     let found = cells.iter().find(|cell| {
//!         cell.distance == kind && cell.bin.low() == distance && cell.class == CellClass::Reuse(ReuseKind::Rar)
//!     });
//!     found.map_or(0, |cell| cell.count)
//! };
//! assert_eq!((of(DistanceKind::Time, 5), of(DistanceKind::Stack, 3)), (1, 1));
//! # Ok::<(), carom_base_reuse::exact::ConfigError>(())
//! ```
//!
//! # Definitions
//!
//! - A *place* is an aligned block of the granularity's bytes. At granularity 1 it is exactly the range of bytes that
//!   was accessed, in pieces of at most 64 bytes if that is wider.
//! - An access that spans several places *touches* each, the lowest first, and every touch is counted. Stack distances
//!   are those of the sequence of touches.
//! - The clock of time distances counts accesses: those of the thread, or of all threads of the domain. A
//!   read-modify-write takes two (it is a load and a store), but is one touch, which writes. A distance runs from the
//!   end of the use to the beginning of the reuse.
//! - In a thread's own cache, a write of another thread removes the place (definition 6.2.2 of the ReuseTracker thesis):
//!   it leaves the LRU stack at once, and the thread's next touch is [`CellClass::Invalidated`]. In a shared cache, a
//!   write by a thread of another domain does (6.2.4). At granularity 1, so does a write to any of the place's bytes.
//! - In a shared cache every reuse counts, because its miss ratio depends on all of them; those by definition 6.2.3 are
//!   the ones marked [`from_other`](ReuseCell::from_other). Cells belong to the thread that reuses.
//! - First and invalidated touches appear under both kinds of distance, in bin 0.
//!
//! # Order
//!
//! The order of calls is the order of accesses. Where threads' accesses come in batches, an [`Interleaver`] orders
//! them first, where the order is known. After it, a [`Router`], a [`TopStage`] and two [`Stage`]s divide the work between
//! processors.
//!
//! # Algorithm
//!
//! LRU stack distance as the number of places accessed later than the last access to this one (Bennett and Kruskal,
//! IBM J. Res. Dev. 19(4), 1975; Olken, LBL-12370, 1981). A hash table has each place with the *slot* of its last
//! access. A bit per slot says whether it is still some place's last access, so a distance is a count of bits
//! ([`order`]). The few most recent places of the thread that runs are kept apart, in order, and need neither: most accesses
//! are answered there, for its own cache and the shared one at once ([`top`]), and the stacks get the others ([`moves`]). A
//! small cache remembers where the entries of their places are ([`entry_cache`]). Invalidation works like the coherence
//! protocol that it models: a place is exclusive to one stack or not, and only touches that would cause a message on a bus
//! look further ([`holders`]).
//!
//! With [`Sampling`] only places with a small hash are followed, and distances and counts are scaled up: SHARDS
//! (Waldspurger, Park, Garthwaite, Ahmad, FAST 2015), with its correction "SHARDS-adj" and an estimate of its error.
//!
//! [`CellClass::Invalidated`]: carom_base::CellClass::Invalidated
//! [`Interleaver`]: carom_base_stream::Interleaver
//! [`ReuseCell`]: carom_base::ReuseCell

mod analyser;
mod config;
mod entry;
mod entry_cache;
mod error;
mod grid;
mod hash;
mod histogram;
mod hits;
mod holders;
mod layer;
mod moves;
mod order;
mod pairs;
mod pool;
mod presence;
mod router;
mod sequence;
mod sieve;
mod sites;
mod stack;
mod stages;
mod table;
mod tally;
mod top;
mod tops;
mod walk;

pub use analyser::Exact;
pub use carom_base::Domain;
pub use config::{Config, ConfigError, Pairs, Sampling};
pub use error::SamplingError;
pub use moves::Moves;
pub use router::{Input, Router};
pub use sequence::Sequence;
pub use stages::{Stage, Task, Tasks, TopStage};
pub use tops::Tops;
