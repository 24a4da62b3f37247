//! The tables in which indirect jumps look up the translation of their target.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use super::{
    FLOOR, MemoryError, Prefer, REACH,
    reservation::{Reservation, Wish},
};

/// The kind of jump that looks its target up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// `ret`.
    Return,
    /// An indirect `call`.
    Call,
    /// An indirect `jmp`.
    Jump,
}

impl TableKind {
    /// All of them, in the order in which their tables lie.
    pub const ALL: [Self; 3] = [Self::Return, Self::Call, Self::Jump];
}

/// Entries of a table: one for each value of the low 16 bits of a target.
pub const ENTRIES: usize = 1 << 16;

/// An entry's size: an address in the cache.
pub const ENTRY_BYTES: u64 = 8;

const TABLE_BYTES: u64 = ENTRIES as u64 * ENTRY_BYTES;

const WHAT: &str = "look-up tables";

const ALL_BYTES: u64 = TABLE_BYTES * TableKind::ALL.len() as u64;

/// A huge page, in which all of them lie where the kernel has one: it is there sooner than hundreds of small ones, and needs one entry
/// of the translation look-aside buffer.
const PAGE_BYTES: u64 = 2 << 20;

/// Within reach of the code of a jump ([`crate::encode::Emitter::jump_through`]), where programs do not need the
/// room.
const WITHIN: Range<u64> = REACH..(34 << 30) - TABLE_BYTES;

/// Where they lie if there is no room in that range.
const ELSE_WITHIN: Range<u64> = FLOOR..REACH;

/// Three tables, one for each [`TableKind`], shared by all threads.
///
/// An entry holds the landing of *some* target with these low 16 bits; the landing itself compares the whole target.
#[derive(Debug)]
pub struct Tables {
    memory: Reservation,
    miss: [u64; TableKind::ALL.len()],
}

impl Tables {
    /// Makes tables filled with the addresses, one for each kind in the order of [`TableKind::ALL`], of the code that
    /// handles a target that is not in the table.
    ///
    /// # Errors
    /// No hole, or limits on memory.
    pub fn new(miss: [u64; TableKind::ALL.len()]) -> Result<Self, MemoryError> {
        let reserve = |within| {
            let prefer = Prefer::High;
            Reservation::find(&Wish { what: WHAT, bytes: PAGE_BYTES, align: PAGE_BYTES, within, prefer })
        };
        let memory = match reserve(WITHIN) {
            Err(MemoryError::NoHole { .. }) => reserve(ELSE_WITHIN)?,
            found => found?,
        };
        memory.ask_for_huge_pages();
        memory.open(0..PAGE_BYTES)?;
        // All of them are written now: one call is cheaper than a fault for each page.
        memory.populate(0..ALL_BYTES)?;
        let tables = Self { memory, miss };
        TableKind::ALL.into_iter().for_each(|kind| tables.reset(kind));
        Ok(tables)
    }

    /// The address of a table, a multiple of its size.
    pub fn address(&self, kind: TableKind) -> u64 {
        self.memory.range().start + kind as u64 * TABLE_BYTES
    }

    /// Makes jumps to `original` continue at `landing`.
    pub fn set(&self, kind: TableKind, original: u64, landing: u64) {
        // ATOMICS: release, so that the landing's code is visible to threads that jump to it. On x86 the plain loads of
        // translated code acquire.
        self.entry(kind, original).store(landing, Ordering::Release);
    }

    /// Makes jumps to `original`, and to all targets with the same entry, miss.
    pub fn clear(&self, kind: TableKind, original: u64) {
        self.set(kind, original, self.miss(kind));
    }

    /// Where jumps to `original` continue now: its landing, another target's, or the code for a miss.
    pub fn get(&self, kind: TableKind, original: u64) -> u64 {
        // ATOMICS: pairs with the release in `set`.
        self.entry(kind, original).load(Ordering::Acquire)
    }

    /// Empties a table.
    pub fn reset(&self, kind: TableKind) {
        (0..ENTRIES as u64).for_each(|entry| self.clear(kind, entry));
    }

    fn miss(&self, kind: TableKind) -> u64 {
        self.miss.get(kind as usize).copied().unwrap_or_default()
    }

    fn entry(&self, kind: TableKind, original: u64) -> &AtomicU64 {
        let index = original % ENTRIES as u64;
        let address = self.address(kind) + index * ENTRY_BYTES;
        let place = std::ptr::with_exposed_provenance_mut(address as usize);
        // SAFETY: an aligned entry of a table owned by `self`; we access it atomically only, translated code with
        // single loads.
        unsafe { AtomicU64::from_ptr(place) }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::low_memory, *};

    const MISS: [u64; 3] = [0x1000, 0x2000, 0x3000];

    /// Where jumps to `original` continue.
    fn get(tables: &Tables, kind: TableKind, original: u64) -> u64 {
        tables.entry(kind, original).load(Ordering::Relaxed)
    }

    #[test]
    fn a_table_maps_the_low_16_bits_to_a_landing() {
        let _turn = low_memory();
        let tables = Tables::new(MISS).expect("tables");
        for (kind, miss) in TableKind::ALL.into_iter().zip(MISS) {
            for original in [0, 1, 0xffff, 0x7fff_1234_5678] {
                assert_eq!(get(&tables, kind, original), miss);
            }
        }
        tables.set(TableKind::Call, 0x7fff_1234_5678, 0xabc0);
        assert_eq!(get(&tables, TableKind::Call, 0x7fff_1234_5678), 0xabc0);
        assert_eq!(get(&tables, TableKind::Call, 0x5678), 0xabc0, "the same entry");
        assert_eq!(get(&tables, TableKind::Call, 0x5679), 0x2000, "its neighbour");
        assert_eq!(get(&tables, TableKind::Return, 0x5678), 0x1000, "another table");
        tables.clear(TableKind::Call, 0x5678);
        assert_eq!(get(&tables, TableKind::Call, 0x7fff_1234_5678), 0x2000);
    }

    #[test]
    fn translated_code_finds_the_entry_by_address_and_index() {
        let _turn = low_memory();
        let tables = Tables::new(MISS).expect("tables");
        tables.set(TableKind::Jump, 0x9_ffff, 0xabc0);
        let address = tables.address(TableKind::Jump) + 8 * 0xffff;
        // SAFETY: the last entry of the last table.
        assert_eq!(unsafe { *(address as *const u64) }, 0xabc0);
        assert_eq!(address + ENTRY_BYTES, tables.memory.range().start + ALL_BYTES);
        let Range { start, end } = tables.memory.range();
        assert!(start % PAGE_BYTES == 0 && WITHIN.start <= start && end <= WITHIN.end);
    }

    #[test]
    fn a_reset_empties_one_table() {
        let _turn = low_memory();
        let tables = Tables::new(MISS).expect("tables");
        for kind in TableKind::ALL {
            tables.set(kind, 5, 0xabc0);
        }
        tables.reset(TableKind::Call);
        assert_eq!(TableKind::ALL.map(|kind| get(&tables, kind, 5)), [0xabc0, MISS[1], 0xabc0]);
    }
}
