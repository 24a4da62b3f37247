//! File descriptors and limits.

use crate::support::keeps;

#[test]
fn descriptors_have_the_numbers_that_they_would_have() {
    for how in ["plain", "limit", "closefrom", "close_range"] {
        keeps("descriptors.c", &[how]);
    }
}
