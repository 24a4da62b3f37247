//! Takes the accesses that threads have streamed, and has them put in order.

use std::{ptr, sync::atomic::Ordering::Relaxed};

use carom_base::{Access, Addr, Cpu, Nanos, Reduction};
use carom_base_reuse::Domain;
use carom_base_stream::{self as stream, Act, Mark, Sieve, Stamp, Synchronisation};
use carom_base_sys::clock as system;
use carom_base_wire::SlotHeader;
use carom_collect_translate::{Batch, BatchReader, Block, Repeated, Timed, flush_streams};

use super::{
    clock::Clock,
    front::{self, Front},
    pipeline, quota, reduced,
    taken::Taken,
    thread,
};
use crate::{objects, registry, thread::Thread};

/// How often counts are written, in case the process is killed.
const WRITE_EVERY_NS: u64 = 1_000_000_000;

/// Takes the accesses of the thread that writes into the slot of `header`, or those that remain of a `reduction`.
pub fn take(header: &SlotHeader, batch: &Batch<'_>, reduction: Option<Reduction>) {
    let clock = Clock::of_process();
    let at = clock.map_or_else(system::now, |clock| clock.at(batch.until()));
    let is_own = is_of_caller(header);
    if is_own {
        flush_streams();
    }
    let sieve =
        reduction.and_then(|reduction| front::with(|front| front.sieves.take(thread(header), reduction)));
    let taken = Taken::new(front::purpose());
    let mut taking = Taking { header, is_own, clock, sieve, taken, looked_at: 0 };
    batch.read(&mut taking);
    let Taking { sieve, mut taken, looked_at, .. } = taking;
    quota::looked_at(looked_at, reduction);
    if let Some(sieve) = sieve {
        front::with(|front| front.sieves.give_back(thread(header), sieve));
    }
    hand_over(header, &Handed { at, pauses: is_own, is_own }, &mut taken);
    taken.give_back();
    if is_own {
        super::begin_thread(header);
    }
}

/// The reader of a batch.
struct Taking<'a> {
    header: &'a SlotHeader,
    /// The calling thread has made the accesses.
    is_own: bool,
    clock: Option<Clock>,
    /// What remains of a reduced trace.
    sieve: Option<Sieve>,
    taken: Taken,
    /// Accesses that the sieve was asked about.
    looked_at: usize,
}

impl BatchReader for Taking<'_> {
    #[inline]
    fn block(&mut self, block: &mut Block<'_>) {
        if self.sieve.is_some() {
            let all = block.clone().accesses();
            all.for_each(|access| self.access(&access));
            return block.executions().for_each(drop);
        }
        self.make_room(block.sites());
        self.taken.block(block);
    }

    fn access(&mut self, access: &Access) {
        self.looked_at += 1;
        if self.sieve.as_mut().is_none_or(|sieve| reduced::keeps(sieve, access)) {
            self.make_room(1);
            self.taken.access(access);
        }
    }

    fn repeated(&mut self, repeated: &Repeated<'_>) {
        let (sites, mut begin) = (repeated.first().count(), 0);
        if self.sieve.is_some() {
            return repeated.accesses(0, repeated.times).for_each(|access| self.access(&access));
        }
        while sites > 0 && begin < repeated.times {
            self.make_room(sites);
            begin += self.taken.repeated(repeated, begin, sites);
        }
    }

    fn timed(&mut self, load: &Timed) {
        self.looked_at += 1;
        if self.sieve.as_mut().is_some_and(|sieve| reduced::keeps_load(sieve, load)) {
            self.make_room(1);
            self.taken.access(&load.access);
        }
    }

    fn stamp(&mut self, ticks: u64) {
        let Some(clock) = self.clock else { return };
        let stamp = Stamp { accesses: self.taken.len(), at: clock.at(ticks) };
        // Between two accesses that are kept, the first and the last stamp tell all.
        match self.taken.stamps.as_mut_slice() {
            [.., first, last] if first.accesses == stamp.accesses => *last = stamp,
            _ => self.taken.stamps.push(stamp),
        }
    }

    fn note(&mut self, ticks: u64, words: [u64; 2]) {
        let Some(clock) = self.clock else { return };
        let (accesses, at) = (self.taken.len(), clock.at(ticks));
        let mark = |synchronisation| Mark { accesses, at, synchronisation };
        self.taken.marks.extend(synchronisation(words).map(mark));
    }
}

impl Taking<'_> {
    /// Hands accesses over where so many more would be too many at once: a single repeated instruction may make a billion.
    #[inline]
    fn make_room(&mut self, more: usize) {
        if more > self.taken.room() {
            // The rest is made up to the next stamp.
            let at = self.taken.stamps.last().map_or(Nanos(0), |stamp| stamp.at);
            let handed = Handed { at, pauses: false, is_own: self.is_own };
            hand_over(self.header, &handed, &mut self.taken);
            self.taken.clear();
            self.taken.stamps.push(Stamp { accesses: 0, at });
        }
    }
}

/// A batch without its accesses: see [`stream::Batch`].
struct Handed {
    at: Nanos,
    pauses: bool,
    /// They are handed over by the thread that has made them.
    is_own: bool,
}

/// What a hook has noted.
fn synchronisation([what, object]: [u64; 2]) -> Option<Synchronisation> {
    let what = u8::try_from(what).ok().and_then(Act::from_u8)?;
    Some(Synchronisation { what, object: Addr(object) })
}

/// Has accesses put in order. The thread that has made them does some of the analysis, too. Their vector may be exchanged.
fn hand_over(header: &SlotHeader, handed: &Handed, taken: &mut Taken) {
    let Handed { at, pauses, is_own } = *handed;
    let (thread, count) = (thread(header), taken.len());
    let Taken { accesses, encoder, stamps, marks, looked_up, .. } = taken;
    report_blocks(looked_up, at);
    let take = |front: &mut Front| {
        // Another thread that hands them over may run elsewhere.
        let known = header.domain.load(Relaxed).checked_sub(1).filter(|_| !is_own);
        let domain = known.unwrap_or_else(|| front.domains.domain(thread, Cpu(system::current_cpu())).into());
        header.domain.store(domain + 1, Relaxed);
        let domain = Domain(domain as u32);
        let batch = stream::Batch { thread, domain, at, pauses, stamps, marks, accesses };
        front.take(count, batch, encoder.as_mut());
        let due = is_own && at.0.saturating_sub(front.written.0) >= WRITE_EVERY_NS;
        if due {
            front.written = at;
            front.write();
        }
        due
    };
    // A thread that takes another's accesses hands over its own next.
    let due = if is_own { front::in_order(take) } else { front::with(take) };
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
        thread.visit(|state| accesses.iter().for_each(|access| objects::report_access(state, access, at)));
    }
}
