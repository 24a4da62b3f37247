use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use carom_base::{Access, AccessKind, Addr, Cpu, EarlierWrite, Ip, Nanos, StackId, ThreadId};

/// How often a reader tries again when writers keep changing the slot under it. A write is eight stores, so a second
/// collision in a row is already rare. A handler must not wait for a thread that was interrupted in the middle of a
/// write.
const READ_ATTEMPTS: u32 = 4;

/// One published write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// The write, its thread, time, processor and call path.
    pub write: EarlierWrite,
    /// The publisher's store epoch at that time (see [`Board::note_store`](crate::Board::note_store)).
    pub epoch: u32,
    /// The weight of the sample (see [`Input::weight`](crate::Input::weight)).
    pub weight: f32,
}

/// The bits of a weight that are kept: sign, exponent and 15 of 23 bits of the mantissa. The others make room for the
/// code of the kind.
const WEIGHT_BITS: u32 = !0xff;

/// Room for one [`Entry`] that many threads read and write at once: a sequence lock that never waits.
///
/// All zero is a valid, empty slot, so fresh anonymous memory is an empty board. A slot fills one cache line of its
/// own: publishing must not cause the false sharing that it is meant to find.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Slot {
    /// 0: never written. Odd: being written. Even: complete.
    sequence: AtomicU32,
    epoch: AtomicU32,
    addr: AtomicU64,
    ip: AtomicU64,
    time: AtomicU64,
    stack: AtomicU64,
    /// Thread in the upper half, processor in the lower.
    thread_cpu: AtomicU64,
    /// Width in the upper half; in the lower half the [`WEIGHT_BITS`] of the weight, and below them the code of the
    /// kind.
    width_kind: AtomicU64,
}

impl Slot {
    /// The entry, or `None` where there is none, or where writers interfered with every attempt.
    pub fn read(&self) -> Option<Entry> {
        for _ in 0..READ_ATTEMPTS {
            // ATOMICS: pairs with the release store that ends `try_write`: an even number makes the fields
            // written before it visible.
            let before = self.sequence.load(Ordering::Acquire);
            if before == 0 {
                return None;
            }
            if before % 2 == 1 {
                continue;
            }
            let entry = self.read_fields();
            // ATOMICS: pairs with the release fence in `try_write`: if any field above came from a later
            // writer, the load below sees that writer's odd number or something newer.
            fence(Ordering::Acquire);
            if self.sequence.load(Ordering::Relaxed) == before {
                return entry;
            }
        }
        None
    }

    /// Replaces the entry, unless another thread is writing here or has just done so: then it gives up (TryAtomicPut
    /// in Algorithm 1, line 26). Returns whether it was written.
    ///
    /// A thread that dies inside leaves the slot unusable, never wrong. In the child of a fork, where a thread that
    /// was writing no longer exists, call [`clear`](Self::clear).
    pub fn try_write(&self, entry: &Entry) -> bool {
        let before = self.sequence.load(Ordering::Relaxed);
        if before % 2 == 1 {
            return false;
        }
        // ATOMICS: acquire pairs with the previous writer's final release, so that our fields come after
        // its fields in every word's modification order.
        let odd = before.wrapping_add(1);
        if self.sequence.compare_exchange(before, odd, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        // ATOMICS: pairs with the acquire fence in `read`: a reader that sees one of these fields also sees `odd`.
        fence(Ordering::Release);
        self.write_fields(entry);
        // 0 means never written, so it is skipped after 2^31 writes.
        let even = odd.wrapping_add(1).max(2) & !1;
        // ATOMICS: pairs with the acquire load that begins `read`.
        self.sequence.store(even, Ordering::Release);
        true
    }

    /// Empties the slot. Only for when no other thread uses it, as in the child of a fork.
    pub fn clear(&self) {
        self.sequence.store(0, Ordering::Release);
    }

    fn read_fields(&self) -> Option<Entry> {
        let thread_cpu = self.thread_cpu.load(Ordering::Relaxed);
        let width_kind = self.width_kind.load(Ordering::Relaxed);
        Some(Entry {
            write: EarlierWrite {
                thread: ThreadId(upper(thread_cpu)),
                time: Nanos(self.time.load(Ordering::Relaxed)),
                cpu: Cpu(lower(thread_cpu)),
                access: Access {
                    ip: Ip(self.ip.load(Ordering::Relaxed)),
                    addr: Addr(self.addr.load(Ordering::Relaxed)),
                    width: upper(width_kind),
                    kind: AccessKind::from_u8(lower(width_kind) as u8)?,
                },
                stack: StackId(self.stack.load(Ordering::Relaxed)),
            },
            epoch: self.epoch.load(Ordering::Relaxed),
            weight: f32::from_bits(lower(width_kind) & WEIGHT_BITS),
        })
    }

    fn write_fields(&self, entry: &Entry) {
        let EarlierWrite { thread, time, cpu, access, stack } = entry.write;
        self.epoch.store(entry.epoch, Ordering::Relaxed);
        self.addr.store(access.addr.0, Ordering::Relaxed);
        self.ip.store(access.ip.0, Ordering::Relaxed);
        self.time.store(time.0, Ordering::Relaxed);
        self.stack.store(stack.0, Ordering::Relaxed);
        self.thread_cpu.store(pack(thread.0, cpu.0), Ordering::Relaxed);
        let weight_kind = entry.weight.to_bits() & WEIGHT_BITS | access.kind as u32;
        self.width_kind.store(pack(access.width, weight_kind), Ordering::Relaxed);
    }
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

// A slot is one line; see the type's documentation.
const _: () = assert!(size_of::<Slot>() == carom_base::LINE_BYTES as usize);

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: AccessKind) -> Entry {
        let access = Access { ip: Ip(u64::MAX), addr: Addr(1), width: u32::MAX, kind };
        let (thread, time, cpu, stack) = (ThreadId(u32::MAX), Nanos(3), Cpu(7), StackId(9));
        Entry { write: EarlierWrite { thread, time, cpu, access, stack }, epoch: 5, weight: 1.0 }
    }

    #[test]
    fn what_is_written_is_read() {
        let slot = Slot::default();
        assert_eq!(slot.read(), None);
        for kind in [AccessKind::Load, AccessKind::Store, AccessKind::ReadModifyWrite] {
            assert!(slot.try_write(&entry(kind)));
            assert_eq!(slot.read(), Some(entry(kind)));
        }
    }

    /// The mantissa keeps 15 bits: the error is less than 2^-15 of the weight.
    #[test]
    fn weights_above_and_below_one_are_kept() {
        let slot = Slot::default();
        let kept = |weight: f32| {
            assert!(slot.try_write(&Entry { weight, ..entry(AccessKind::ReadModifyWrite) }));
            slot.read().unwrap().weight
        };
        for exact in [1.0, 5.0, 64.0, 0.25] {
            assert_eq!(kept(exact), exact);
        }
        for weight in [1.0 / 3.0, 7.3, 1e-6, 12_345.678, 5e9] {
            let error = 1.0 - kept(weight) / weight;
            assert!((0.0..1.0 / 32_768.0).contains(&error), "{weight}: {error}");
        }
    }

    #[test]
    fn nobody_waits_for_a_writer_that_stopped() {
        let slot = Slot { sequence: AtomicU32::new(3), ..Slot::default() };
        assert_eq!(slot.read(), None);
        assert!(!slot.try_write(&entry(AccessKind::Store)));
        slot.clear();
        assert!(slot.try_write(&entry(AccessKind::Store)));
    }

    #[test]
    fn the_sequence_number_skips_zero_when_it_wraps() {
        let slot = Slot { sequence: AtomicU32::new(u32::MAX - 1), ..Slot::default() };
        assert!(slot.try_write(&entry(AccessKind::Store)));
        assert_eq!(slot.read(), Some(entry(AccessKind::Store)));
    }
}
