//! Full arenas are retired and emptied (`engine::room` decides when).

use super::cache::Cache;
use crate::probes::mode::Version;

impl Cache {
    /// The oldest full arena to which this version of the code at `pc` could be translated, and which is not to be left alone. An arena
    /// with code that creates threads stays, because a new thread is not known before it has left that code.
    pub fn oldest(&self, pc: u64, version: Version, left_alone: impl Fn(usize) -> bool) -> Option<usize> {
        let reach = self.source.reach(pc)?;
        let spawns = |index: usize| {
            let code = self.arenas.get(index);
            self.translations.spawns().any(|spawn| code.is_some_and(|code| code.contains(spawn)))
        };
        self.arenas.oldest(&reach, version, |index| spawns(index) || left_alone(index))
    }

    /// Forgets the code in an arena.
    pub fn retire(&mut self, index: usize) {
        let range = self.arenas.retire(index);
        self.bury(range.into_iter().collect());
    }

    /// Makes every thread that is in the cache enter the dispatcher soon.
    pub fn cut_links(&mut self) {
        for code in self.arenas.iter_mut() {
            code.cut_links();
        }
        self.landings.empty_tables();
    }

    /// Makes the arena's memory available again. False where it cannot be used.
    pub fn empty(&mut self, index: usize) -> bool {
        let Some((range, hooks)) = self.arenas.empty(index, &self.lanes) else { return false };
        self.waiting.forget(|patch| range.contains(&patch));
        self.hooks.give_back(hooks);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::arch::naked_asm;

    use super::*;
    use crate::probes::mode::Mode;

    #[unsafe(naked)]
    extern "C" fn called() {
        naked_asm!("ret")
    }

    #[unsafe(naked)]
    extern "C" fn instead() {
        naked_asm!("nop", "ret")
    }

    #[unsafe(naked)]
    extern "C" fn calls() {
        naked_asm!("sub rsp, 8", "call {}", "add rsp, 8", "ret", sym called)
    }

    /// How many jumps of the fragment that begins at `from` lead to `to`.
    fn jumps(from: u64, to: u64) -> usize {
        const BYTES: u64 = 64;
        let leads = |at: u64| {
            // SAFETY: translated code, which is readable, and mapped well beyond its end.
            let displacement =
                unsafe { std::ptr::with_exposed_provenance::<i32>(at as usize).read_unaligned() };
            (at + 4).wrapping_add_signed(i64::from(displacement)) == to
        };
        (from..from + BYTES).filter(|&at| leads(at)).count()
    }

    /// The jump knows the function by what the program calls, the arena by what runs instead.
    #[test]
    fn jumps_to_what_runs_in_place_of_a_function_are_cut() {
        let mut cache = Cache::new(Mode::Count, Vec::new()).expect("an empty cache");
        let [called, instead, calls] = [called, instead, calls].map(|code| code as *const () as u64);
        cache.source.lead_on(called, instead);
        let to = cache.get(called).expect("code");
        // A block or two fill an arena.
        cache.arenas.bound(8, 16 * 64 + 1);
        let from = cache.get(calls).expect("code");
        let arena = |at| cache.arenas.at(at).map(|(index, _)| index).expect("an arena");
        let (first, second) = (arena(to), arena(from));
        assert_ne!(first, second);
        assert_eq!(jumps(from, to), 1);
        cache.retire(first);
        assert_eq!(jumps(from, to), 0);
        // Translated again, it is found again.
        let again = cache.get(called).expect("code");
        assert_ne!(again, to);
        assert_eq!(jumps(from, again), 1);
    }
}
