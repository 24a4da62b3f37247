//! Sharing detection as sans-IO state machines.
//!
//! A [`ThreadDetector`] belongs to one thread and is fed that thread's samples and watchpoint traps; all threads of a
//! process share one [`Board`]. It returns events to record ([`SharingEvent`](carom_base::SharingEvent)) and
//! watchpoints to set ([`WatchPlan`]). Nothing here allocates, locks, reads a clock or panics. So the same code runs in
//! the signal handlers of many threads at once and over a recorded trace.
//!
//! ```
//! use carom_base::{Access, AccessKind, Addr, Cpu, Ip, Nanos, Population, SharingClass, StackId, ThreadId};
//! use carom_base_detect::{Board, Config, Input, Publisher, Slot, ThreadDetector};
//!
//! let (publishers, threads): ([Publisher; 2], _) = Default::default();
//! let slots: [Slot; 127] = std::array::from_fn(|_| Slot::default());
//! let board = Board::new(&slots, &publishers, &threads);
//! let sample = |time, addr, kind| Input {
//!     access: Access { ip: Ip(1), addr: Addr(addr), width: 8, kind },
//!     time: Nanos(time),
//!     cpu: Cpu(0),
//!     stack: StackId::NONE,
//!     population: Population::Step,
//!     weight: 1.0,
//!     watch: Some(1.0),
//! };
//! let mut writer = ThreadDetector::new(ThreadId(0), Config::default(), 1);
//! let mut reader = ThreadDetector::new(ThreadId(1), Config::default(), 2);
//! assert!(writer.on_sample(&board, sample(10, 0x1000, AccessKind::Store)).published);
//! let event = reader.on_sample(&board, sample(20, 0x1008, AccessKind::Load)).event.expect("the same line");
//! assert_eq!(event.class, SharingClass::False);
//! ```
//!
//! # Two schemes
//!
//! The algorithm is ComDetective's (Sasongko et al., SC'19, 3.2 and Algorithm 1), which [`Scheme::Paper`] follows to
//! the letter. Simulation (`tests/statistics.rs`) shows that it pulls every fraction toward one half, and that the
//! volume that it finds saturates, for two reasons. A slot stays taken for two store samples, so most writes to a busy
//! line are never published, while those to a quiet line are. And the line to watch is drawn from the published *lines*
//! with equal probability, so a busy line is no more likely than a quiet one. [`Scheme::Balanced`], the default, has
//! neither problem. The table shows the false fraction found in the False-Sharing microbenchmark (thesis, listing 5.2)
//! with 4 watchpoints; "even" means intervals within 10% of the period:
//!
//! | true value | 0.1 | 0.25 | 0.5 | 0.75 | 0.9 |
//! | --- | --- | --- | --- | --- | --- |
//! | paper, 2 threads, random intervals | 0.18 | 0.33 | 0.50 | 0.68 | 0.85 |
//! | paper, 2 threads, even intervals | 0.26 | 0.39 | 0.50 | 0.60 | 0.74 |
//! | paper, 8 threads, even intervals | 0.27 | 0.38 | 0.50 | 0.61 | 0.73 |
//! | balanced, all of these | 0.10 | 0.25 | 0.50 | 0.75 | 0.90 |
//!
//! With two pairs of threads, of which one shares half as much as the other (listing 5.4), the ratio of their cells in
//! the communication matrix should be 0.5. Over five ways of scheduling them it is 0.74 to 0.82 by the paper's rules
//! and 0.49 to 0.51 by the balanced ones (0.40 where the pairs switch at unequal rates).
//!
//! # What remains
//!
//! - Without watchpoints both schemes are the paper's, and a look-up finds only what both threads happen to sample:
//!   fractions are off by up to 0.04 where intervals vary.
//! - A trap weighs line size over watched bytes (3.3). This is exact if a thread touches one chunk of the line between
//!   two samples. A thread that touches many chunks is trapped more often: its volume is too high by a factor of up to
//!   2 with four watchpoints, up to 8 with one. The same is true of accesses wider than a chunk. A line that is watched
//!   as a whole ([`Watch::Line`]) has no such error: a touch counts as one.
//! - A line that is touched less than once in a sample period is found in proportion to how often it is touched.
//! - Each sample examines one write, the latest. So two threads that never run at the same time see each other's writes
//!   only if no third thread has written since: all such pairs are under-counted, by the same factor.
//! - If all threads were sampled at exactly equal intervals, each would always see the writes of the one that is
//!   sampled just before it. Intervals should vary by some 5% or more.
//!
//! # Samples that may not watch
//!
//! Setting watchpoints, and being trapped by them, costs tens of microseconds; a look-up costs some tenths of one. So
//! where samples are dense only some may watch ([`Input::watch`]). They are chosen at random before the access is
//! known, and what they find is weighted by the inverse of the probability. All other samples are looked up and
//! published as well, and end a watch when it is due. So in [`Scheme::Balanced`] the examined writes, the duration of a
//! watch, and all expectations are the same as if all samples watched. In [`Scheme::Paper`], where a watch keeps new
//! writes from being examined, all samples should watch.
//!
//! # Samples that are not accesses
//!
//! These are not fed to the detectors: the paper's "previous sample" is one of a memory access. Two populations of
//! samples must not be mixed either: each needs its own board and detectors, and only one of them uses the watchpoints.
#![no_std]
#![forbid(unsafe_code)]

mod board;
mod config;
mod random;
mod rules;
mod sharing;
mod slot;
mod watch;

pub use board::{Board, DEFAULT_BOARD_SIZE, Publisher};
pub use config::{Config, MAX_WATCHPOINTS, Scheme, Watch};
pub use sharing::{Decision, Input, ThreadDetector, Touch, Trap};
pub use slot::{Entry, Slot};
pub use watch::{CHUNK_BYTES, WatchPlan};
