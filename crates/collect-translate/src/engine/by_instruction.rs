//! What the process has executed, by instruction, since that was last told.
//!
//! While the program runs only blocks are counted. Their counts are divided among their instructions when somebody asks, when an
//! arena is emptied, and where the process ends: [`Seen`] is what was divided before.

use crate::{
    blocks::{cache::Cache, code::Code, place::Place},
    decode::block::{Block, Sums},
    engine::Engine,
    probes::{
        by_instruction::ByInstruction,
        counter::{Counter, Unit},
        totals::Counts,
    },
    threads::books::Books,
};

/// Counts that are kept by instruction, and what of the counters is in them.
#[derive(Debug, Default)]
pub struct Divided {
    counts: ByInstruction,
    /// By arena.
    seen: Vec<Seen>,
}

/// Of the counters in one arena, what attached threads have counted. Less what a thread had counted when it left: so what is new is
/// always the difference to what the attached ones have counted now.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// By counter.
    units: Vec<i64>,
    /// By branch with a counter of its own.
    falls: Vec<i64>,
}

impl Seen {
    /// What these threads have counted by now.
    fn now<'b>(threads: impl Iterator<Item = &'b Books>, arena: usize, code: &Code) -> Self {
        let mut now = Self { units: vec![0; code.counters().len()], falls: vec![0; code.edges().len()] };
        for books in threads {
            for (id, units) in (0..).zip(&mut now.units) {
                *units += books.units(Place { arena, code, id });
            }
            for (all, falls) in now.falls.iter_mut().zip(code.falls(books.lane)) {
                *all += falls;
            }
        }
        now
    }

    /// Subtracts what `other` has counted.
    fn subtract(&mut self, other: &Self) {
        for (own, others) in [(&mut self.units, &other.units), (&mut self.falls, &other.falls)] {
            own.resize(own.len().max(others.len()), 0);
            own.iter_mut().zip(others).for_each(|(own, other)| *own -= other);
        }
    }
}

impl Divided {
    fn seen(&mut self, arena: usize) -> &mut Seen {
        if self.seen.len() <= arena {
            self.seen.resize_with(arena + 1, Seen::default);
        }
        &mut self.seen[arena]
    }

    /// Divides what a counter has counted anew.
    fn divide(&mut self, cache: &mut Cache, counter: &Counter, units: i64) {
        if counter.fallen {
            self.counts.fall(counter.pc, units);
        }
        match block(cache, counter) {
            Some(block) => {
                for decoded in &block.instructions {
                    self.counts.at(decoded.instruction.ip()).add(units, &decoded.sums());
                }
            }
            None => self.counts.at(counter.pc).add(units, &counter.sums()),
        }
    }
}

/// The block whose executions a counter counts, where its code is still there.
fn block(cache: &mut Cache, counter: &Counter) -> Option<Block> {
    if counter.unit != Unit::Execution || counter.sums() == Sums::default() {
        return None;
    }
    let code = cache.source.code_after(counter.pc)?;
    let mut block = Block::decode(counter.pc, code, &mut cache.accesses)?;
    block.truncate(counter.sums().instructions as usize);
    Some(block).filter(|block| block.sums == counter.sums())
}

impl Engine {
    /// What was executed since the last call, by instruction. Nothing where that is not asked for.
    pub fn executed(&mut self) -> impl Iterator<Item = (u64, Counts)> + use<> {
        for arena in 0..self.cache.arenas.all().len() {
            self.divide(arena);
        }
        let mut counts = self.by_instruction.as_mut().map(|divided| std::mem::take(&mut divided.counts));
        for books in self.threads_mut() {
            if let (Some(counts), Some(corrections)) = (&mut counts, &mut books.corrections) {
                counts.join(std::mem::take(&mut **corrections));
            }
        }
        counts.into_iter().flat_map(ByInstruction::into_counts)
    }

    /// Divides what was counted in an arena since the last time.
    fn divide(&mut self, arena: usize) {
        let Some(mut divided) = self.by_instruction.take() else { return };
        if let Some(code) = self.cache.arenas.get(arena) {
            let now = Seen::now(self.threads(), arena, code);
            let mut new = now.clone();
            new.subtract(divided.seen(arena));
            *divided.seen(arena) = now;
            for (edge, falls) in code.edges().iter().zip(&new.falls) {
                divided.counts.fall(edge.behind, *falls);
            }
            let counted = code.counters().iter().copied().zip(new.units).filter(|(_, units)| *units != 0);
            for (counter, units) in counted.collect::<Vec<_>>() {
                divided.divide(&mut self.cache, &counter, units);
            }
        }
        self.by_instruction = Some(divided);
    }

    /// An arena is about to be emptied, and its counters begin anew.
    pub(super) fn divide_at_last(&mut self, arena: usize) {
        self.divide(arena);
        if let Some(divided) = &mut self.by_instruction {
            *divided.seen(arena) = Seen::default();
        }
    }

    /// A thread is about to leave the list: what it has counted is kept.
    pub(super) fn keep_counts_of(&mut self, books: &mut Books) {
        let Some(divided) = &mut self.by_instruction else { return };
        for (arena, code) in self.cache.arenas.all().iter().enumerate() {
            divided.seen(arena).subtract(&Seen::now(std::iter::once(&*books), arena, code));
        }
        if let Some(corrections) = books.corrections.take() {
            divided.counts.join(*corrections);
        }
    }

    /// In the child of a fork, whose only thread begins to count.
    pub fn divide_anew(&mut self) {
        if self.by_instruction.is_none() {
            return;
        }
        let all = self.cache.arenas.all().iter().enumerate();
        let seen = all.map(|(arena, code)| Seen::now(self.threads(), arena, code)).collect();
        self.by_instruction = Some(Divided { seen, ..Divided::default() });
        self.threads_mut().for_each(|books| books.corrections = Some(Box::default()));
    }
}
