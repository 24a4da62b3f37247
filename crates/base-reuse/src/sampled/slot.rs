use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use carom_base::{
    Access, AccessKind, Addr, Cpu, Ip, Locality, Nanos, ReuseEvent, ReuseOutcome, Scope, StackId, ThreadId,
    Touch,
};

use super::clocks::{Clocks, Stand, Until};
use super::pending::PendingCell;
use super::state::{Phase, State};
use super::watch::{Watch, WatchId, WatchedRange};
use crate::Domain;

/// A watched use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Use {
    pub touch: Touch,
    pub scope: Scope,
    pub locality: Locality,
    pub domain: Domain,
    /// The state of the clocks before the access.
    pub start: Stand,
    pub range: WatchedRange,
}

impl Use {
    /// Whether an access touches the watched bytes.
    pub fn watches(&self, access: Access) -> bool {
        self.watch(WatchId { slot: 0, generation: 0 }).touched_by(access)
    }

    pub fn watch(&self, id: WatchId) -> Watch {
        let WatchedRange { first, bytes, .. } = self.range;
        let only = (self.locality == Locality::Temporal).then_some(self.touch.access.addr);
        Watch { id, first, bytes, owner: self.touch.thread, scope: self.scope, domain: self.domain, only }
    }

    /// The event for this outcome. Its distance ends at the moment `until`, by the clocks `now`.
    pub fn event(
        &self,
        outcome: ReuseOutcome,
        later: Option<Touch>,
        (now, until): (&Stand, Until),
        weight: f64,
    ) -> ReuseEvent {
        // The use's own accesses do not count: a read-modify-write is two.
        let own = if self.touch.access.kind == AccessKind::ReadModifyWrite { 2 } else { 1 };
        let weight = if later.is_some() { weight * f64::from(self.range.choices) } else { weight };
        ReuseEvent {
            scope: self.scope,
            locality: self.locality,
            outcome,
            earlier: self.touch,
            later,
            distance: now.distance(&self.start, until).saturating_sub(own),
            weight: weight as f32,
        }
    }
}

/// Weights are stored as multiples of this, so that one atomic addition can add to them, without a loop.
const MASS_UNIT: f64 = 1.0 / (1u64 << 32) as f64;

/// Holds one use. Many threads may try to end it at once, and one of them succeeds.
///
/// All zeros are a valid, free slot, so a detector can use fresh anonymous memory. One thread takes a slot from free to
/// *being written* and then to *active*. The first thread to try makes an active slot free, or *being written* again.
/// No thread waits. The fields change only while the slot is being written, and each use has its own generation number.
/// So a thread that takes an active slot from the state that it has read gets the fields of exactly that use.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Slot {
    state: AtomicU64,
    /// The weight of the use, in [`MASS_UNIT`]s. Changes while the use is active.
    mass: AtomicU64,
    /// The number of samples that were offered the slot since it was last free. A use that ends frees it.
    offered: AtomicU32,
    width: AtomicU32,
    addr: AtomicU64,
    first: AtomicU64,
    /// Domain in the upper half; in the lower half a byte each for kind, for scope and locality, for bytes, for
    /// choices.
    domain_codes: AtomicU64,
    /// Thread in the upper half, processor in the lower.
    thread_cpu: AtomicU64,
    position: AtomicU64,
    /// The number of the sample.
    number: AtomicU64,
    time: AtomicU64,
    ip: AtomicU64,
    stack: AtomicU64,
    /// At the use: accesses of its thread, its running time, when the accesses were read, and how long the other
    /// threads had been held. `asked` is 0 if there are no clocks.
    own: AtomicU64,
    ran: AtomicU64,
    asked: AtomicU64,
    held: AtomicU64,
    /// When setting the watches for the use began; 0 before.
    armed: AtomicU64,
    /// A touch by another thread that ran ahead of the using one.
    pub(super) pending: PendingCell,
}

impl Slot {
    /// Watches for this use are set from now on.
    pub(super) fn arm(&self, at: u64) {
        self.armed.store(at, Ordering::Relaxed);
    }

    /// When setting its watches began, if it has.
    pub(super) fn armed(&self) -> Option<u64> {
        Some(self.armed.load(Ordering::Relaxed)).filter(|at| *at != 0)
    }

    pub(super) fn state(&self) -> State {
        // ATOMICS: pairs with the release store that ends `write`: an active state makes the fields visible.
        State::from_bits(self.state.load(Ordering::Acquire))
    }

    /// The generation and the use, if there is one.
    pub(super) fn read(&self) -> Option<(u32, Use)> {
        let state = self.state();
        if state.phase != Phase::Active {
            return None;
        }
        let held = self.read_fields();
        // ATOMICS: pairs with the release fence in `write`: if any field above came from a later use, the load below
        // sees that use's state or a later one.
        fence(Ordering::Acquire);
        let now = self.state.load(Ordering::Relaxed);
        (now == state.to_bits()).then_some((state.generation, held?))
    }

    /// The use that was active when this thread [took](Self::take) the slot.
    pub(super) fn taken_use(&self) -> Option<Use> {
        // No other thread writes to the slot until this thread is done.
        self.read_fields()
    }

    /// Ends the use and frees the slot. Returns the use's weight to the one caller that ends it.
    pub(super) fn settle(&self, generation: u32) -> Option<f64> {
        // Read while the slot still holds this use: once free, it may get the next one.
        let weight = self.weight();
        let freed = State { generation, phase: Phase::Free };
        self.replace_state(State { generation, phase: Phase::Active }, freed).then_some(weight)
    }

    /// Takes the slot for writing, from the state that was read. True for one caller, which then has to
    /// [`write`](Self::write). If that thread dies in between, the slot is unusable, but never wrong.
    pub(super) fn take(&self, from: State) -> bool {
        from.phase != Phase::Writing && self.replace_state(from, from.next_writing())
    }

    /// Puts a use in a slot that was [taken](Self::take) from this state, and makes it active.
    pub(super) fn write(&self, taken_from: State, held: &Use, number: u64, weight: f64) -> u32 {
        // ATOMICS: pairs with the acquire fence in `read`: a reader that sees one of these fields also sees this state.
        fence(Ordering::Release);
        self.write_fields(held);
        self.number.store(number, Ordering::Relaxed);
        self.mass.store(to_mass(weight), Ordering::Relaxed);
        let generation = taken_from.next_writing().generation;
        // ATOMICS: pairs with the acquire load in `state`.
        self.state.store(State { generation, phase: Phase::Active }.to_bits(), Ordering::Release);
        generation
    }

    /// The number of the use's sample.
    pub(super) fn number(&self) -> u64 {
        self.number.load(Ordering::Relaxed)
    }

    pub(super) fn weight(&self) -> f64 {
        // ATOMICS: no other field depends on it, here and in `add_weight`. An addition to a use that another thread
        // ends at the same time may come too late: one sample's weight is lost, or goes to the slot's next use.
        self.mass.load(Ordering::Relaxed) as f64 * MASS_UNIT
    }

    pub(super) fn add_weight(&self, weight: f64) {
        self.mass.fetch_add(to_mass(weight), Ordering::Relaxed);
    }

    /// Counts a sample that is offered the slot. Returns `slot.samples` of Algorithm 2 after its increment.
    pub(super) fn offer(&self) -> u32 {
        // ATOMICS: no other field depends on it.
        self.offered.fetch_add(1, Ordering::Relaxed).saturating_add(1)
    }

    /// The same for a free slot that this thread has [taken](Self::take): the first sample since it was freed
    /// (Algorithm 3, line 11).
    pub(super) fn offer_first(&self) {
        self.offered.store(1, Ordering::Relaxed);
    }

    fn replace_state(&self, from: State, to: State) -> bool {
        // ATOMICS: acquire pairs with the previous writer's release, so that this writer's fields come after its fields
        // in every word's modification order. Release pairs with the next writer's acquire, so that this thread has not
        // read its fields.
        let exchanged =
            self.state.compare_exchange(from.to_bits(), to.to_bits(), Ordering::AcqRel, Ordering::Relaxed);
        exchanged.is_ok()
    }

    fn read_fields(&self) -> Option<Use> {
        let domain_codes = self.domain_codes.load(Ordering::Relaxed);
        let thread_cpu = self.thread_cpu.load(Ordering::Relaxed);
        let [kind, scope_locality, bytes, choices] = lower(domain_codes).to_le_bytes();
        Some(Use {
            touch: Touch {
                thread: ThreadId(upper(thread_cpu)),
                time: Nanos(self.time.load(Ordering::Relaxed)),
                cpu: Cpu(lower(thread_cpu)),
                access: Access {
                    ip: Ip(self.ip.load(Ordering::Relaxed)),
                    addr: Addr(self.addr.load(Ordering::Relaxed)),
                    width: self.width.load(Ordering::Relaxed),
                    kind: AccessKind::from_u8(kind)?,
                },
                stack: StackId(self.stack.load(Ordering::Relaxed)),
            },
            scope: Scope::from_u8(scope_locality >> 4)?,
            locality: Locality::from_u8(scope_locality & 0xf)?,
            domain: Domain(upper(domain_codes)),
            start: self.read_start(),
            range: WatchedRange {
                first: Addr(self.first.load(Ordering::Relaxed)),
                bytes: u32::from(bytes),
                choices,
            },
        })
    }

    fn read_start(&self) -> Stand {
        let asked = self.asked.load(Ordering::Relaxed);
        let ran = self.ran.load(Ordering::Relaxed);
        let held = self.held.load(Ordering::Relaxed);
        let clocks = Clocks { ran, asked, ran_when_asked: ran, held, ..Clocks::default() };
        Stand {
            own: self.own.load(Ordering::Relaxed),
            all: self.position.load(Ordering::Relaxed),
            clocks: (asked != 0).then_some(clocks),
        }
    }

    fn write_fields(&self, held: &Use) {
        let Use { touch, scope, locality, domain, start, range } = *held;
        let clocks = start.clocks.unwrap_or_default();
        self.own.store(start.own, Ordering::Relaxed);
        self.ran.store(clocks.ran, Ordering::Relaxed);
        self.asked.store(clocks.asked, Ordering::Relaxed);
        self.held.store(clocks.held, Ordering::Relaxed);
        self.armed.store(0, Ordering::Relaxed);
        let scope_locality = (scope as u8) << 4 | locality as u8;
        let codes = [touch.access.kind as u8, scope_locality, range.bytes as u8, range.choices];
        self.width.store(touch.access.width, Ordering::Relaxed);
        self.addr.store(touch.access.addr.0, Ordering::Relaxed);
        self.first.store(range.first.0, Ordering::Relaxed);
        self.domain_codes.store(pack(domain.0, u32::from_le_bytes(codes)), Ordering::Relaxed);
        self.thread_cpu.store(pack(touch.thread.0, touch.cpu.0), Ordering::Relaxed);
        self.position.store(start.all, Ordering::Relaxed);
        self.time.store(touch.time.0, Ordering::Relaxed);
        self.ip.store(touch.access.ip.0, Ordering::Relaxed);
        self.stack.store(touch.stack.0, Ordering::Relaxed);
    }
}

/// Saturates; 0 for NaN.
fn to_mass(weight: f64) -> u64 {
    (weight / MASS_UNIT) as u64
}

const fn pack(upper: u32, lower: u32) -> u64 {
    ((upper as u64) << u32::BITS) | lower as u64
}

const fn upper(word: u64) -> u32 {
    (word >> u32::BITS) as u32
}

const fn lower(word: u64) -> u32 {
    word as u32
}

// Samples read only the first two lines of each slot; the third is for touches.
const _: () = assert!(size_of::<Slot>() == 3 * carom_base::LINE_BYTES as usize);

#[cfg(test)]
mod tests {
    use super::*;

    fn example(kind: AccessKind, scope: Scope, locality: Locality) -> Use {
        let access = Access { ip: Ip(u64::MAX), addr: Addr(0x1008), width: u32::MAX, kind };
        Use {
            touch: Touch {
                thread: ThreadId(u32::MAX),
                time: Nanos(3),
                cpu: Cpu(7),
                access,
                stack: StackId(9),
            },
            scope,
            locality,
            domain: Domain(u32::MAX - 1),
            start: Stand {
                own: u64::MAX - 1,
                all: u64::MAX,
                clocks: Some(Clocks { ran: 1, asked: 2, ran_when_asked: 1, held: 3, ..Clocks::default() }),
            },
            range: WatchedRange { first: Addr(0x1000), bytes: 64, choices: 8 },
        }
    }

    fn load() -> Use {
        example(AccessKind::Load, Scope::Shared, Locality::Temporal)
    }

    /// Takes and writes, as a sample does.
    fn fill(slot: &Slot, held: &Use) -> u32 {
        let state = slot.state();
        assert!(slot.take(state));
        slot.write(state, held, 5, 2.5)
    }

    #[test]
    fn what_is_written_is_read() {
        let slot = Slot::default();
        assert_eq!(slot.read(), None);
        let mut generation = 0;
        for kind in [AccessKind::Load, AccessKind::Store, AccessKind::ReadModifyWrite] {
            for scope in [Scope::Private, Scope::Shared] {
                for locality in [Locality::Temporal, Locality::Spatial] {
                    let held = example(kind, scope, locality);
                    generation += 1;
                    assert_eq!(fill(&slot, &held), generation);
                    assert_eq!(slot.read(), Some((generation, held)));
                    assert_eq!((slot.number(), slot.weight()), (5, 2.5));
                }
            }
        }
    }

    #[test]
    fn a_use_ends_once() {
        let slot = Slot::default();
        let first = fill(&slot, &load());
        slot.add_weight(1.0);
        assert_eq!(slot.settle(first), Some(3.5));
        assert_eq!(slot.settle(first), None);
        assert_eq!(slot.read(), None);
        let second = fill(&slot, &load());
        assert_eq!(slot.settle(first), None, "the watch of the first use means nothing to the second");
        assert_eq!(slot.settle(second), Some(2.5));
    }

    #[test]
    fn nobody_waits_for_a_writer_that_stopped() {
        let slot = Slot::default();
        let first = fill(&slot, &load());
        assert!(slot.take(slot.state()));
        assert_eq!(slot.read(), None);
        assert_eq!(slot.settle(first), None);
        assert!(!slot.take(slot.state()));
    }

    #[test]
    fn a_state_that_has_changed_cannot_be_taken() {
        let slot = Slot::default();
        let before = slot.state();
        fill(&slot, &load());
        assert!(!slot.take(before));
    }

    #[test]
    fn weights_add_up_and_saturate() {
        let slot = Slot::default();
        fill(&slot, &load());
        slot.add_weight(0.75);
        slot.add_weight(f64::NAN);
        assert_eq!(slot.weight(), 3.25);
        assert_eq!(to_mass(f64::INFINITY), u64::MAX);
        assert_eq!(to_mass(-1.0), 0);
    }
}
