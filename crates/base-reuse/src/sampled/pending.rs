//! A touch by another thread that came while the using thread was held, and is not counted yet.

use core::sync::atomic::{AtomicU64, Ordering, fence};

use carom_base::{Access, AccessKind, Addr, Cpu, Ip, Nanos, ReuseOutcome, StackId, ThreadId, Touch};

use super::state::{Phase, State};

/// What another thread did, and how long the using thread would have run by then. It ends the use if that thread does
/// nothing within this time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PendingTouch {
    pub after: u64,
    pub outcome: ReuseOutcome,
    pub touch: Touch,
}

/// Room for the earliest pending touch of one use. As with the slot itself no thread waits: one that finds it being
/// written goes on without it.
#[derive(Debug, Default)]
pub(super) struct PendingCell {
    /// The generation of the slot.
    state: AtomicU64,
    after: AtomicU64,
    /// Width in the upper half; in the lower half a byte each for kind and outcome.
    width_codes: AtomicU64,
    addr: AtomicU64,
    ip: AtomicU64,
    thread_cpu: AtomicU64,
    time: AtomicU64,
}

impl PendingCell {
    /// The touch that is kept for this use.
    pub fn read(&self, generation: u32) -> Option<PendingTouch> {
        let wanted = State { generation, phase: Phase::Active }.to_bits();
        // ATOMICS: pairs with the release store in `keep`.
        if self.state.load(Ordering::Acquire) != wanted {
            return None;
        }
        let found = self.fields();
        // ATOMICS: as in `Slot::read`: if any field came from a later touch, this load sees its state.
        fence(Ordering::Acquire);
        (self.state.load(Ordering::Relaxed) == wanted).then_some(found?)
    }

    /// Keeps a touch of this use, unless an earlier one is kept.
    pub fn keep(&self, generation: u32, pending: &PendingTouch) {
        let found = self.state.load(Ordering::Acquire);
        let busy = State::from_bits(found).phase == Phase::Writing;
        if busy || self.read(generation).is_some_and(|kept| kept.after <= pending.after) {
            return;
        }
        let [writing, active] =
            [Phase::Writing, Phase::Active].map(|phase| State { generation, phase }.to_bits());
        // ATOMICS: as `Slot::take`.
        if self.state.compare_exchange(found, writing, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return;
        }
        // ATOMICS: pairs with the acquire fence in `read`.
        fence(Ordering::Release);
        let Touch { thread, time, cpu, access, .. } = pending.touch;
        let codes = u64::from(access.kind as u8) | u64::from(pending.outcome as u8) << 8;
        self.after.store(pending.after, Ordering::Relaxed);
        self.width_codes.store(u64::from(access.width) << 32 | codes, Ordering::Relaxed);
        self.addr.store(access.addr.0, Ordering::Relaxed);
        self.ip.store(access.ip.0, Ordering::Relaxed);
        self.thread_cpu.store(u64::from(thread.0) << 32 | u64::from(cpu.0), Ordering::Relaxed);
        self.time.store(time.0, Ordering::Relaxed);
        // ATOMICS: pairs with the acquire load in `read`.
        self.state.store(active, Ordering::Release);
    }

    fn fields(&self) -> Option<PendingTouch> {
        let codes = self.width_codes.load(Ordering::Relaxed);
        let thread_cpu = self.thread_cpu.load(Ordering::Relaxed);
        let access = Access {
            ip: Ip(self.ip.load(Ordering::Relaxed)),
            addr: Addr(self.addr.load(Ordering::Relaxed)),
            width: (codes >> 32) as u32,
            kind: AccessKind::from_u8(codes as u8)?,
        };
        Some(PendingTouch {
            after: self.after.load(Ordering::Relaxed),
            outcome: ReuseOutcome::from_u8((codes >> 8) as u8)?,
            touch: Touch {
                thread: ThreadId((thread_cpu >> 32) as u32),
                time: Nanos(self.time.load(Ordering::Relaxed)),
                cpu: Cpu(thread_cpu as u32),
                access,
                stack: StackId::NONE,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(after: u64, addr: u64) -> PendingTouch {
        let access = Access { ip: Ip(5), addr: Addr(addr), width: u32::MAX, kind: AccessKind::Store };
        let touch = Touch { thread: ThreadId(8), time: Nanos(3), cpu: Cpu(2), access, stack: StackId::NONE };
        PendingTouch { after, outcome: ReuseOutcome::Invalidated, touch }
    }

    #[test]
    fn the_earliest_touch_of_a_use_is_kept() {
        let kept = PendingCell::default();
        assert_eq!((kept.read(0), kept.read(1)), (None, None));
        kept.keep(1, &pending(30, 64));
        assert_eq!(kept.read(1), Some(pending(30, 64)));
        kept.keep(1, &pending(40, 128));
        kept.keep(1, &pending(20, 192));
        assert_eq!(kept.read(1), Some(pending(20, 192)));
        // The next use does not have it.
        assert_eq!(kept.read(2), None);
        kept.keep(2, &pending(90, 64));
        assert_eq!((kept.read(1), kept.read(2)), (None, Some(pending(90, 64))));
    }
}
