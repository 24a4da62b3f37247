//! Landings: where indirect transfers arrive in the cache.
//!
//! Three tables lead to them, each with one entry for every value of the low 16 bits of a target. So a landing compares
//! the whole target first. Those that share an entry form a chain: the entry leads to the one that was put there last,
//! each leads on to the one that was there before it, and the dispatcher is asked at the end. All of them leave the flags
//! alone: what comes by may be on its way to code that reads them.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{cache::Cache, code::Code, passages};
use crate::{encode::marks::Undo, lane::registers::Gpr, memory::TableKind};

/// How an indirect transfer arrives at its target.
#[derive(Clone, Copy, Debug)]
pub struct Landing {
    pub table: TableKind,
    /// What is borrowed on arrival: RCX, in which the table's index was and whose value is in B, and the next one.
    pub undo: Undo,
    /// Holds the original address that is wanted; its value is in A.
    pub target: Gpr,
}

impl Landing {
    pub const RETURN: Self = Self { table: TableKind::Return, undo: Undo::Return, target: Gpr::RSI };
    pub const CALL: Self = Self { table: TableKind::Call, undo: Undo::Jump, target: Gpr::R11 };
    pub const JUMP: Self = Self { table: TableKind::Jump, undo: Undo::Jump, target: Gpr::R11 };

    /// The one that leads through a table.
    pub const fn through(table: TableKind) -> Self {
        match table {
            TableKind::Return => Self::RETURN,
            TableKind::Call => Self::CALL,
            TableKind::Jump => Self::JUMP,
        }
    }
}

/// A landing that was made.
#[derive(Clone, Copy, Debug)]
pub struct Landed {
    /// Where it begins.
    pub at: u64,
    /// Where the displacement is of its jump for other targets.
    pub on: u64,
}

/// All of them, by table and original address.
#[derive(Debug, Default)]
pub struct Landings {
    all: [FxHashMap<u64, (Landed, Filling)>; TableKind::ALL.len()],
    /// How often the tables were emptied.
    filling: u64,
}

/// Which filling of the tables a landing was put into last: it is in them if that is the present one.
type Filling = Option<u64>;

impl Landings {
    /// A landing for the code at `pc`, which is in no table yet.
    pub fn add(&mut self, table: TableKind, pc: u64, landed: Landed) {
        self.of(table).insert(pc, (landed, None));
    }

    /// Forgets the one for the code at `pc`.
    pub fn remove(&mut self, table: TableKind, pc: u64) {
        self.of(table).remove(&pc);
    }

    /// Forgets those for blocks that are `gone`, and those that lie where `is_dead` holds.
    pub fn forget(&mut self, gone: &FxHashSet<u64>, is_dead: impl Fn(u64) -> bool) {
        for landings in &mut self.all {
            landings.retain(|pc, (landed, _)| !gone.contains(pc) && !is_dead(landed.at));
        }
    }

    /// The one for the code at `pc`.
    pub fn find(&mut self, table: TableKind, pc: u64) -> Option<Landed> {
        self.of(table).get(&pc).map(|(landed, _)| *landed)
    }

    fn of(&mut self, table: TableKind) -> &mut FxHashMap<u64, (Landed, Filling)> {
        let [returns, calls, jumps] = &mut self.all;
        match table {
            TableKind::Return => returns,
            TableKind::Call => calls,
            TableKind::Jump => jumps,
        }
    }
}

impl Cache {
    /// Puts a landing into its table, in front of those that share its entry.
    pub fn put(&mut self, table: TableKind, pc: u64, landed: Landed) {
        let Self { landings, tables, codes, .. } = self;
        let filling = Some(landings.filling);
        let Some((_, put)) = landings.of(table).get_mut(&pc) else { return };
        // Another thread that missed it at the same time may have been here before: a chain must have an end.
        if *put == filling {
            return;
        }
        let Some(code) = codes.iter_mut().find(|code| code.contains(landed.at)) else { return };
        // Without room for a way to the next one, each such transfer leaves.
        if lead_on(code, table, pc, landed, tables.get(table, pc)) {
            tables.set(table, pc, landed.at);
            *put = filling;
        }
    }

    /// Whether transfers to `pc` find no landing at all in their entry.
    pub fn misses(&self, table: TableKind, pc: u64) -> bool {
        misses().contains(&self.tables.get(table, pc))
    }

    /// No transfer finds its landing any more: each is put into its table again when it is wanted.
    pub fn empty_tables(&mut self) {
        TableKind::ALL.into_iter().for_each(|table| self.tables.reset(table));
        self.landings.filling += 1;
    }
}

/// Makes a landing lead on to `next`, the address in its entry.
fn lead_on(code: &mut Code, table: TableKind, pc: u64, landed: Landed, next: u64) -> bool {
    let next = if misses().contains(&next) { code.miss(table) } else { next };
    code.lead_on(landed.on, next, pc, Landing::through(table).undo)
}

/// Where landings lead in the end, by [`TableKind`].
pub fn misses() -> [u64; TableKind::ALL.len()] {
    [
        passages::return_miss as *const () as u64,
        passages::call_miss as *const () as u64,
        passages::jump_miss as *const () as u64,
    ]
}
