//! Takes the accesses that threads have streamed, and has them put in order.

use std::{ptr, sync::atomic::Ordering::Relaxed};

use carom_base::{Access, Addr, Cpu, Nanos, Reduction};
use carom_base_reuse::Domain;
use carom_base_stream::{self as stream, Act, Mark, Stamp, Synchronisation};
use carom_base_sys::clock as system;
use carom_base_wire::SlotHeader;
use carom_collect_translate::{Batch, Event, flush_streams};

use super::{
    super::kept,
    clock::Clock,
    front::{self, Front},
    pipeline, quota, reduced, thread,
};
use crate::{objects, registry, thread::Thread};

/// How often counts are written, in case the process is killed.
const WRITE_EVERY_NS: u64 = 1_000_000_000;

/// The heap block of one access in this number is looked up while it is live; blocks that matter are accessed more
/// often than that. A prime, so that loops do not keep step with it.
const LOOKED_UP_EVERY: usize = 251;

/// The most accesses that are handed over at once: a single repeated instruction may make a billion.
const MOST_AT_ONCE: usize = 64 << 10;

/// Takes the accesses of the thread that writes into the slot of `header`, or those that remain of a `reduction`.
pub fn take(header: &SlotHeader, batch: &Batch<'_>, reduction: Option<Reduction>) {
    let clock = Clock::of_process();
    let at = clock.map_or_else(system::now, |clock| clock.at(batch.until()));
    let is_own = is_of_caller(header);
    if is_own {
        flush_streams();
    }
    let mut accesses = pipeline::spare_batch();
    let mut stamps: Vec<Stamp> = Vec::new();
    let mut marks: Vec<Mark> = Vec::new();
    let mut sieve =
        reduction.and_then(|reduction| front::with(|front| front.sieves.take(thread(header), reduction)));
    if sieve.is_none() {
        // One per word at most, but for iterations.
        accesses.reserve(batch.words().len());
    }
    let mut looked_at = 0;
    batch.for_each_event(|event| {
        looked_at += 1;
        let (access, kept) = match (event, &mut sieve, clock) {
            (Event::Access(access), None, _) => (access, true),
            (Event::Access(access), Some(sieve), _) => (access, reduced::keeps(sieve, access)),
            (Event::Timed(load), Some(sieve), _) => (&load.access, reduced::keeps_load(sieve, load)),
            (Event::Stamp(ticks), _, Some(clock)) => {
                let stamp = Stamp { accesses: accesses.len(), at: clock.at(ticks) };
                // Between two accesses that are kept, the first and the last stamp tell all.
                match stamps.as_mut_slice() {
                    [.., first, last] if first.accesses == stamp.accesses => *last = stamp,
                    _ => stamps.push(stamp),
                }
                return;
            }
            (Event::Note { ticks, words }, _, Some(clock)) => {
                marks.extend(synchronisation(words).map(|synchronisation| Mark {
                    accesses: accesses.len(),
                    at: clock.at(ticks),
                    synchronisation,
                }));
                return;
            }
            (Event::Stamp(_) | Event::Note { .. }, _, None) | (Event::Timed(_), None, _) => return,
        };
        if kept {
            if accesses.len() >= MOST_AT_ONCE {
                // The rest is made up to the next stamp.
                let at = stamps.last().map_or(Nanos(0), |stamp| stamp.at);
                let handed = Handed { at, pauses: false, is_own, stamps: &stamps, marks: &marks };
                hand_over(header, &handed, &mut accesses);
                accesses.clear();
                stamps.clear();
                marks.clear();
                stamps.push(Stamp { accesses: 0, at });
            }
            accesses.push(*access);
        }
    });
    quota::looked_at(looked_at, reduction);
    if let Some(sieve) = sieve {
        front::with(|front| front.sieves.give_back(thread(header), sieve));
    }
    let handed = Handed { at, pauses: is_own, is_own, stamps: &stamps, marks: &marks };
    hand_over(header, &handed, &mut accesses);
    if accesses.capacity() <= MOST_AT_ONCE {
        pipeline::give_back(accesses);
    }
    if is_own {
        super::begin_thread(header);
    }
}

/// A batch without its accesses: see [`stream::Batch`].
struct Handed<'a> {
    at: Nanos,
    pauses: bool,
    /// They are handed over by the thread that has made them.
    is_own: bool,
    stamps: &'a [Stamp],
    marks: &'a [Mark],
}

/// What a hook has noted.
fn synchronisation([what, object]: [u64; 2]) -> Option<Synchronisation> {
    let what = u8::try_from(what).ok().and_then(Act::from_u8)?;
    Some(Synchronisation { what, object: Addr(object) })
}

/// Has accesses put in order. The thread that has made them does some of the analysis, too. The vector may be exchanged.
fn hand_over(header: &SlotHeader, handed: &Handed<'_>, accesses: &mut Vec<Access>) {
    let Handed { at, pauses, is_own, stamps, marks } = *handed;
    let thread = thread(header);
    report_blocks(accesses, at);
    let mut encoder = front::keeps().then(pipeline::spare_encoder);
    if let Some(encoder) = &mut encoder {
        kept::encode(encoder, accesses);
    }
    let encoded = encoder.as_mut();
    let take = |front: &mut Front| {
        // Another thread that hands them over may run elsewhere.
        let known = header.domain.load(Relaxed).checked_sub(1).filter(|_| !is_own);
        let domain = known.unwrap_or_else(|| front.domains.domain(thread, Cpu(system::current_cpu())).into());
        header.domain.store(domain + 1, Relaxed);
        let domain = Domain(domain as u32);
        front.take(stream::Batch { thread, domain, at, pauses, stamps, marks, accesses }, encoded);
        let due = is_own && at.0.saturating_sub(front.written.0) >= WRITE_EVERY_NS;
        if due {
            front.written = at;
            front.write();
        }
        due
    };
    // A thread that takes another's accesses hands over its own next.
    let due = if is_own { front::in_order(take) } else { front::with(take) };
    if let Some(encoder) = encoder {
        pipeline::give_back_encoder(encoder);
    }
    if !is_own {
        return;
    }
    pipeline::work();
    if due == Some(true) {
        pipeline::write();
    }
}

/// Whether the calling thread writes into the slot of `header`.
fn is_of_caller(header: &SlotHeader) -> bool {
    let is_it = |thread: &Thread| thread.visit(|state| ptr::eq(state.slot.header(), header));
    registry::current().and_then(is_it).unwrap_or(false)
}

/// Tells the host which heap blocks these are in, so that the addresses of pairs have a name.
fn report_blocks(accesses: &[Access], at: Nanos) {
    if let Some(thread) = registry::current() {
        thread.visit(|state| {
            for access in accesses.iter().step_by(LOOKED_UP_EVERY) {
                objects::report_access(state, access, at);
            }
        });
    }
}
