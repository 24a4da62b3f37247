//! The analysis, compiled a second time with the extensions that most x86-64 processors have: bit counts and bit scans
//! in one instruction, and vectors of twice the width.

use std::arch::is_x86_feature_detected;

use carom_base_reuse::exact::{Exact, Moves, Sequence, Task, Tops};

/// [`Tops::sequence`].
pub fn answer(tops: &mut Tops, sequence: &Sequence, moves: &mut Moves) {
    if is_wide() {
        // SAFETY: the processor has these features.
        unsafe { answer_wide(tops, sequence, moves) }
    } else {
        tops.sequence(sequence, moves);
    }
}

/// [`Exact::work`].
pub fn work(exact: &mut Exact, task: &Task) {
    if is_wide() {
        // SAFETY: the processor has these features.
        unsafe { work_wide(exact, task) }
    } else {
        exact.work(task);
    }
}

fn is_wide() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn answer_wide(tops: &mut Tops, sequence: &Sequence, moves: &mut Moves) {
    tops.sequence(sequence, moves);
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn work_wide(exact: &mut Exact, task: &Task) {
    exact.work(task);
}
