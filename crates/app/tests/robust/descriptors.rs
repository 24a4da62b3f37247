//! File descriptors and limits.

use crate::support::{keeps, same};

#[test]
fn descriptors_have_the_numbers_that_they_would_have() {
    for how in ["plain", "limit", "closefrom", "close_range"] {
        keeps("descriptors.c", &[how]);
    }
}

#[test]
fn all_descriptors_up_to_the_soft_limit_are_the_programs() {
    // Every number up to 63 is opened and kept, so the journal cannot be opened any more at the end.
    let (ending, _) = same("descriptors.c", &["all"]);
    assert_eq!(ending.code(), Some(0), "{}", ending.complaint());
}
