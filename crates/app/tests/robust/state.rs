//! The processor's state.

use crate::support::keeps;

#[test]
fn registers_flags_modes_and_errno_are_kept() {
    keeps("state.c", &[]);
}
