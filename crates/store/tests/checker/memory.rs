//! Memory over time.

use carom_store::Rule;

use crate::{LATE, MEMORY, expect};

#[test]
fn memory_after_the_end() {
    expect(MEMORY, &[Rule::OutsideRun(LATE)], |r| r.memory[0].time = LATE);
}
