//! Memory and counters over time.

use carom_store::Rule;

use crate::{COUNTERS, LATE, MEMORY, expect};

#[test]
fn memory_after_the_end() {
    expect(MEMORY, &[Rule::OutsideRun(LATE)], |r| r.memory[0].time = LATE);
}

#[test]
fn counts_after_the_end() {
    expect(COUNTERS, &[Rule::OutsideRun(LATE)], |r| r.counters[0].time = LATE);
}

#[test]
fn counts_of_nothing_that_has_a_name() {
    expect(COUNTERS, &[Rule::UnknownCounter(2)], |r| r.counters[0].counter = 2);
}
