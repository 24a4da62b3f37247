//! The analysis, also compiled for what most processors can do beyond the least that x86-64 asks for: count bits and find
//! the first one by one instruction, compare and subtract twice as many numbers at once.

use std::arch::is_x86_feature_detected;

use carom_base_reuse::exact::{Exact, Sequence};

/// [`Exact::sequence`].
pub fn sequence(exact: &mut Exact, sequence: &Sequence) {
    let is_wide = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt");
    if is_wide {
        // SAFETY: the processor has these features.
        unsafe { wide(exact, sequence) }
    } else {
        exact.sequence(sequence);
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn wide(exact: &mut Exact, sequence: &Sequence) {
    exact.sequence(sequence);
}
