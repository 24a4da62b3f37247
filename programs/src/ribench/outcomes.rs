//! The outcome of every use, from the structure of the loops alone.
//!
//! A use is an access. It is *reused* by the same thread's next access to the same byte, unless another thread writes
//! the byte in between, which *invalidates* it. Distances are accesses of the thread strictly between the two: one
//! less than in the thesis' table 6.4.

use std::collections::BTreeMap;

use super::parameters::Parameters;

/// The outcomes of the uses of all threads together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Reuses by distance.
    pub reuses: BTreeMap<u64, u64>,
    /// Uses that another thread's store invalidates.
    pub invalidated: u64,
    /// Those to which the thread returns: as many accesses find their byte invalidated.
    pub found_invalidated: u64,
    /// Uses that are never accessed again.
    pub last: u64,
}

impl Outcomes {
    /// All reuses.
    pub fn reused(&self) -> u64 {
        self.reuses.values().sum()
    }

    fn add(&mut self, next: u64, count: u64) {
        // No accesses have no distance.
        if count > 0 {
            *self.reuses.entry(next - 1).or_default() += count;
        }
    }
}

/// The outcomes of a run in which the threads store to the shared array in turns, or of one thread alone.
pub fn outcomes(parameters: &Parameters, threads: u64) -> Outcomes {
    let Parameters { outer, loops, inv } = *parameters;
    let mut outcomes = Outcomes::default();
    for of in loops.into_iter().filter(|of| of.passes > 0) {
        let pass = parameters.pass(of);
        // From one pass to the next, and from the last of one outer iteration to the first of the next.
        outcomes.add(pass, threads * outer * (of.passes - 1) * of.accesses);
        outcomes.add(parameters.round() - (of.passes - 1) * pass, threads * (outer - 1) * of.accesses);
        outcomes.last += threads * of.accesses;
    }
    let Some(final_loop) = loops.iter().rposition(|of| of.passes > 0) else { return outcomes };
    if threads == 1 {
        // A pass over the shared array follows each pass over a private one, except for the very last.
        for (number, of) in loops.into_iter().enumerate() {
            let passes = outer * of.passes - u64::from(number == final_loop);
            outcomes.add(parameters.pass(of), passes * inv);
        }
        outcomes.last += inv;
    } else {
        // Between two passes of one thread there is one of every other. After its last one there are those of the
        // threads that come later in the order.
        outcomes.found_invalidated = threads * (parameters.passes() - 1) * inv;
        outcomes.invalidated = outcomes.found_invalidated + (threads - 1) * inv;
        outcomes.last += inv;
    }
    outcomes
}

/// Table 6.4: the reuses that the thesis expects, by distance in its own convention. It ignores that the first and
/// the last pass of each outer iteration have neighbours in another iteration, or none.
pub fn table_6_4(parameters: &Parameters, threads: u64) -> BTreeMap<u64, u64> {
    let mut reuses = BTreeMap::new();
    for of in parameters.loops.into_iter().filter(|of| of.passes * of.accesses > 0) {
        *reuses.entry(parameters.pass(of)).or_default() +=
            threads * parameters.outer * of.passes * of.accesses;
    }
    reuses
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::parameters::Repeated;
    use super::*;

    /// Follows listing 6.1 access by access, with the threads taking turns at each pass, and finds for each one the
    /// outcome of the same thread's previous access to the same byte.
    fn replayed(parameters: &Parameters, threads: u64) -> Outcomes {
        struct Use {
            position: u64,
            overwritten: bool,
        }
        let mut outcomes = Outcomes::default();
        // Array 5 is the shared one; its uses are kept apart by thread.
        let mut uses: HashMap<(u64, usize, u64), Use> = HashMap::new();
        let mut positions = vec![0_u64; threads as usize];
        let mut touch = |thread: u64, array: usize, byte: u64| {
            let position = positions[thread as usize];
            positions[thread as usize] += 1;
            match uses.insert((thread, array, byte), Use { position, overwritten: false }) {
                Some(earlier) if earlier.overwritten => outcomes.found_invalidated += 1,
                Some(earlier) => *outcomes.reuses.entry(position - earlier.position - 1).or_default() += 1,
                None => {}
            }
            if array == 5 {
                for other in (0..threads).filter(|&other| other != thread) {
                    uses.entry((other, array, byte)).and_modify(|earlier| earlier.overwritten = true);
                }
            }
        };
        for _ in 0..parameters.outer {
            for (array, of) in parameters.loops.into_iter().enumerate() {
                for _ in 0..of.passes {
                    for thread in 0..threads {
                        (0..parameters.inv).for_each(|byte| touch(thread, 5, byte));
                    }
                    for thread in 0..threads {
                        (0..of.accesses).for_each(|byte| touch(thread, array, byte));
                    }
                }
            }
        }
        let overwritten_at_the_end = uses.values().filter(|last| last.overwritten).count() as u64;
        outcomes.invalidated = outcomes.found_invalidated + overwritten_at_the_end;
        outcomes.last = uses.len() as u64 - overwritten_at_the_end;
        outcomes
    }

    #[test]
    fn outcomes_are_those_of_the_loops_access_by_access() {
        let of = |(passes, accesses)| Repeated { passes, accesses };
        for inv in [0, 1, 5] {
            for outer in [1, 2, 3] {
                for loops in [
                    [(5, 10), (4, 20), (4, 40), (2, 8), (3, 16)],
                    [(2, 0), (1, 6), (0, 4), (3, 2), (1, 12)],
                    [(1, 2), (1, 2), (1, 2), (1, 2), (0, 2)],
                    [(0, 0), (0, 2), (0, 0), (0, 0), (0, 0)],
                ] {
                    let parameters = Parameters { outer, loops: loops.map(of), inv };
                    for threads in [1, 2, 3] {
                        let expected = outcomes(&parameters, threads);
                        assert_eq!(expected, replayed(&parameters, threads), "{parameters:?}, {threads}");
                        assert_eq!(
                            expected.reused() + expected.invalidated + expected.last,
                            parameters.accesses(threads)
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn table_6_4_counts_all_passes_at_one_distance() {
        let of = |(passes, accesses)| Repeated { passes, accesses };
        let loops = [(5, 10), (4, 20), (0, 40), (2, 0), (3, 10)].map(of);
        // 10 + 1: 3 threads * 2 * (5 + 3) * 10; 20 + 1: 3 * 2 * 4 * 20.
        let parameters = Parameters { outer: 2, loops, inv: 1 };
        assert_eq!(table_6_4(&parameters, 3), BTreeMap::from([(11, 480), (21, 480)]));
    }
}
