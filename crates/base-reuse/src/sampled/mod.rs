//! Reuse found by sampling: single accesses are watched until they are reused.
//!
//! A sampled access is a *use*. It gets a slot, and its bytes are watched in all threads until an access decides its
//! outcome: it was *reused*, or a write elsewhere *invalidated* it (thesis, definitions 6.2.1 to 6.2.4 and tables 6.2
//! and 6.3). All threads of a process share the slots and access them in their signal handlers. Nothing allocates,
//! locks, reads a clock or panics.
//!
//! ```
//! use carom_base::{Access, AccessKind, Addr, Cpu, Ip, Nanos, ReuseOutcome, StackId, ThreadId, Touch};
//! use carom_base_reuse::Domain;
//! use carom_base_reuse::sampled::{Config, Detector, Odds, Positions, Slot, Tally, Touched};
//!
//! /// One thread, which has made so many accesses.
//! struct Accesses(u64);
//! impl Positions for Accesses {
//!     fn domain(&self, _: ThreadId) -> Domain {
//!         Domain(0)
//!     }
//!     fn of_thread(&self, _: ThreadId) -> u64 {
//!         self.0
//!     }
//!     fn of_domain(&self, _: Domain) -> u64 {
//!         self.0
//!     }
//! }
//! let touch = |time| Touch {
//!     thread: ThreadId(0),
//!     time: Nanos(time),
//!     cpu: Cpu(0),
//!     access: Access { ip: Ip(1), addr: Addr(0x1000), width: 8, kind: AccessKind::Load },
//!     stack: StackId::NONE,
//! };
//! let slots: [Slot; 4] = std::array::from_fn(|_| Slot::default());
//! let tally = Tally::default();
//! let odds = Odds { private_temporal: 1, ..Odds::NONE };
//! let detector = Detector::new(&slots, &tally, Config { odds, ..Config::default() });
//! let watch = detector.on_sample(&Accesses(100), touch(1), 1.0, 42).arm.expect("a free slot");
//! let Touched::Over(over) = detector.on_touch(&Accesses(106), watch.id, touch(2)) else { panic!("a reuse") };
//! assert_eq!((over.event.outcome, over.event.distance), (ReuseOutcome::Reused, 5));
//! ```
//!
//! # Kinds of watch
//!
//! Each use is watched for one kind of reuse, drawn with known [`Odds`]; its weight compensates for the draw.
//!
//! | | reused by | invalidated by |
//! | --- | --- | --- |
//! | private, temporal | its thread's next access to the same range of bytes | another's write that overlaps it |
//! | private, spatial | its next access to the line with another range | another's write to the line |
//! | private, line | its next access to the line | another's write to the line |
//! | shared | such an access by any thread of the domain | such a write by a thread of another domain |
//!
//! A watched line gives the distances on which a cache depends, and the event's later access tells which kind of
//! reuse it was. Temporal and spatial watches give the time until each kind comes, whatever comes before it.
//!
//! In a shared cache, a reuse by the using thread itself is "no reuse" in table 6.3, because it is one in its private
//! cache (duality). It ends the use all the same, because it is the next access, and it is reported: both threads of
//! the event are the same. The shared cache's own curve needs these together with the reuses of other threads, in its
//! own clock, the sum of its threads' accesses.
//!
//! # Weights
//!
//! There are fewer slots than uses that wait for a distant reuse. Under [`Replacement::Reservoir`] (the thesis) every
//! use that a slot was offered since its latest reuse is equally likely to be the one that is watched. But when that
//! one is reused it counts once, however many competed. And as a censored observation, a replaced use misleads too,
//! because uses are replaced more often in phases of a program with long distances. Under [`Replacement::Balanced`] a
//! replaced use leaves its weight to those that stay: each use weighs what it was sampled for over the probability
//! that it was watched up to its end, whatever that depended on (Horvitz and Thompson, J. Am. Stat. Assoc. 47, 1952).
//! Accuracy S (thesis 6.5.1) for the program of thesis table 6.5 at a thousandth of its size, 1,700 and 2,500
//! samples, three runs (`tests/phases.rs`):
//!
//! | | 4 slots | 16 slots | 64 slots |
//! | --- | --- | --- | --- |
//! | long, decreasing: by Algorithm 2, counted | 0.73 | 0.85 | 0.98 |
//! | by Algorithm 2, Kaplan-Meier estimate | 0.88 | 0.97 | 0.97 |
//! | balanced | 0.98 | 0.98 | 0.98 |
//! | long, bell-shaped: by Algorithm 2, counted | 0.75 | 0.86 | 0.99 |
//! | by Algorithm 2, Kaplan-Meier estimate | 0.91 | 0.96 | 0.99 |
//! | balanced | 0.98 | 0.99 | 0.99 |
//!
//! Where software watches, a quarter of the slots is for the latest uses, which are not replaced until as many more
//! have come. So all reuses that come soon are found, and uses that wait for a long time, or forever, do not crowd
//! them out.
//!
//! # Debug registers
//!
//! They watch at most 8 bytes ([`Reach::Chunk`]). A line, or the rest of it, is watched by one of its chunks at
//! random, and a touch of that chunk weighs as many times more as there were chunks to choose from (ComDetective
//! 3.3). That is exact if one chunk of the line is touched; if several are, each use counts for as many reuses. And
//! if a use is longer than a chunk or misaligned, a write that overlaps only its end is not seen.
//!
//! # What remains
//!
//! - An access between sample and watch can be missed (thesis 6.3, relaxed definition). - A line is that of the use's
//!   first byte, also where the use extends into the next line. - When two threads change the weight of one use at
//!   the same instant, one sample's weight can be lost.

mod clocks;
mod config;
mod detector;
mod pending;
mod placing;
mod random;
mod reservoir;
mod rules;
mod slot;
mod state;
mod tally;
#[cfg(test)]
mod tests;
mod watch;

pub use clocks::Clocks;
pub use config::{Config, MAX_SLOTS, Odds, Positions, REGISTERS, Reach, Replacement};
pub use detector::{Detector, Over, Sampled, Touched};
pub use slot::Slot;
pub use tally::Tally;
pub use watch::{Modes, Watch, WatchId};
