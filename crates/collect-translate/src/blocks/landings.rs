//! Landings: where indirect transfers arrive in the cache.
//!
//! Three tables lead to them, each with one entry for every value of the low 16 bits of a target. So a landing first
//! compares the whole target. Landings with a common entry form a chain: the entry leads to the one that was added
//! last, each leads on to the one added before it, and the dispatcher is at the end. All of them preserve the flags,
//! because the target code may read them.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{arenas::Arenas, code::Code, passages::misses};
use crate::{
    encode::marks::Undo,
    lane::registers::Gpr,
    memory::{MemoryError, TableKind, Tables},
};

/// How an indirect transfer arrives at its target.
#[derive(Clone, Copy, Debug)]
pub struct Landing {
    pub table: TableKind,
    /// What is borrowed on arrival: RCX, which held the table's index and whose value is in B, and the next one.
    pub undo: Undo,
    /// Holds the wanted original address; its own value is in A.
    pub target: Gpr,
}

impl Landing {
    pub const RETURN: Self = Self { table: TableKind::Return, undo: Undo::Return, target: Gpr::RSI };
    pub const CALL: Self = Self { table: TableKind::Call, undo: Undo::Jump, target: Gpr::R11 };
    pub const JUMP: Self = Self { table: TableKind::Jump, undo: Undo::Jump, target: Gpr::R11 };

    /// Arrival through a table.
    pub const fn through(table: TableKind) -> Self {
        match table {
            TableKind::Return => Self::RETURN,
            TableKind::Call => Self::CALL,
            TableKind::Jump => Self::JUMP,
        }
    }
}

/// A landing, once it is made.
#[derive(Clone, Copy, Debug)]
pub struct Landed {
    /// Where it begins.
    pub at: u64,
    /// Where the displacement of its jump for other targets is.
    pub on: u64,
}

/// All landings, by table and original address.
#[derive(Debug)]
pub struct Landings {
    all: [FxHashMap<u64, (Landed, Filling)>; TableKind::ALL.len()],
    /// The tables that lead to them.
    tables: Tables,
    /// How often the tables were emptied.
    filling: u64,
    /// Those of the fragment in the making, which may not run yet.
    fresh: Vec<(TableKind, u64, Landed)>,
}

/// The filling of the tables into which a landing was last put: it is in them if that is the present one.
type Filling = Option<u64>;

impl Landings {
    /// None.
    ///
    /// # Errors
    /// The address space has no room for the tables.
    pub fn new() -> Result<Self, MemoryError> {
        Ok(Self { all: Default::default(), tables: Tables::new(misses())?, filling: 0, fresh: Vec::new() })
    }

    /// Where a table lies.
    pub fn table(&self, kind: TableKind) -> u64 {
        self.tables.address(kind)
    }

    /// Notes a landing for `pc` of the fragment in the making.
    pub fn lands(&mut self, table: TableKind, pc: u64, landed: Landed) {
        self.add(table, pc, landed);
        self.fresh.push((table, pc, landed));
    }

    /// The fragment is complete.
    pub fn publish(&mut self, arenas: &mut Arenas) {
        let mut fresh = std::mem::take(&mut self.fresh);
        for (table, pc, landed) in fresh.drain(..) {
            // Many landings are never used: a used one must not wait behind them in a chain.
            if self.misses(table, pc) {
                self.put(arenas, table, pc, landed);
            }
        }
        self.fresh = fresh;
    }

    /// The fragment could not be made.
    pub fn retract(&mut self) {
        for (table, pc, _) in std::mem::take(&mut self.fresh) {
            self.of(table).remove(&pc);
        }
    }

    /// Puts a landing into its table, in front of those that share its entry.
    pub fn put(&mut self, arenas: &mut Arenas, table: TableKind, pc: u64, landed: Landed) {
        let filling = Some(self.filling);
        let next = self.tables.get(table, pc);
        let Some((_, put)) = self.of(table).get_mut(&pc) else { return };
        // Another thread that missed at the same time may have put it already: a chain must have an end.
        if *put == filling {
            return;
        }
        let Some(code) = arenas.at_mut(landed.at) else { return };
        // Without room to lead on to the next landing, each such transfer leaves.
        if lead_on(code, table, pc, landed, next) {
            *put = filling;
            self.tables.set(table, pc, landed.at);
        }
    }

    /// Whether the table's entry for `pc` is empty.
    fn misses(&self, table: TableKind, pc: u64) -> bool {
        misses().contains(&self.tables.get(table, pc))
    }

    /// Empties the tables: each landing is put into its table again when it is next used.
    pub fn empty_tables(&mut self) {
        TableKind::ALL.into_iter().for_each(|table| self.tables.reset(table));
        self.filling += 1;
    }

    /// Adds a landing for the code at `pc`, which is in no table yet.
    pub fn add(&mut self, table: TableKind, pc: u64, landed: Landed) {
        self.of(table).insert(pc, (landed, None));
    }

    /// Forgets landings for blocks in `gone`, and those that lie where `is_dead` holds.
    pub fn forget(&mut self, gone: &FxHashSet<u64>, is_dead: impl Fn(u64) -> bool) {
        for landings in &mut self.all {
            landings.retain(|pc, (landed, _)| !gone.contains(pc) && !is_dead(landed.at));
        }
    }

    /// The landing for the code at `pc`.
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

/// Makes a landing lead on to `next`, the address in its entry.
fn lead_on(code: &mut Code, table: TableKind, pc: u64, landed: Landed, next: u64) -> bool {
    let next = if misses().contains(&next) { code.miss(table) } else { next };
    code.lead_on(landed.on, next, pc, Landing::through(table).undo)
}
