//! The analysis, compiled a second time with the extensions that most x86-64 processors have: bit counts and bit scans
//! in one instruction, and vectors of twice the width.

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
