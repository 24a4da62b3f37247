//! The cost of timing itself: the bracket around nothing, and around a load that certainly hits.

use std::arch::naked_asm;

use crate::{
    engine::{
        calling::{gs_base, set_gs_base},
        process::is_started,
    },
    lane::slots::{Slots, TIMED_BEGIN, TIMED_END},
};

/// How often each is measured.
const TIMES: usize = 1001;

/// Measurements around known code, in ticks of the time-stamp counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calibration {
    /// Around nothing: what is to be subtracted.
    pub nothing: Spread,
    /// Around a load of 8 bytes that was loaded just before, so that it hits the first-level cache.
    pub hit: Spread,
}

/// The distribution of measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// The smallest.
    pub least: u32,
    /// A quarter is smaller.
    pub lower_quartile: u32,
    /// Half of them are smaller.
    pub median: u32,
    /// Three quarters are smaller.
    pub upper_quartile: u32,
}

/// Measures what [`Mode::Time`](crate::Mode::Time) would measure where nothing takes time. Takes some thousand rounds
/// and about a tenth of a millisecond. `None` where the engine was not started. Signals must be blocked.
pub fn calibrate() -> Option<Calibration> {
    let word = &raw const WORD;
    is_started()
        .then(|| Calibration { nothing: measured(around_nothing, word), hit: measured(around_hit, word) })
}

/// The word that is loaded.
static WORD: u64 = 0;

/// The ticks between the two readings of `bracket`.
fn measured(bracket: unsafe extern "C" fn(*const u64), word: *const u64) -> Spread {
    let mut ticks = [0; TIMES];
    for ticks in &mut ticks {
        let [begin, end] = once(bracket, word);
        *ticks = end.wrapping_sub(begin);
    }
    ticks.sort_unstable();
    let at = |quarter: usize| ticks.get(quarter * (TIMES - 1) / 4).copied().unwrap_or_default();
    Spread { least: at(0), lower_quartile: at(1), median: at(2), upper_quartile: at(3) }
}

/// The two readings of a bracket, as they lie in the slots.
fn once(bracket: unsafe extern "C" fn(*const u64), word: *const u64) -> [u32; 2] {
    // SAFETY: words all of whose values are valid.
    let mut slots: Slots = unsafe { std::mem::zeroed() };
    let place = &raw mut slots;
    let before = gs_base();
    set_gs_base(place.expose_provenance() as u64);
    // SAFETY: GS is where slots are, and the word can be read.
    unsafe { bracket(word) };
    set_gs_base(before);
    // SAFETY: in the slots.
    let times = unsafe { &raw const (*place).times };
    // SAFETY: as above; written behind the compiler's back.
    unsafe { times.read_volatile() }
}

/// Defines a function that runs the given instruction in a bracket.
macro_rules! bracket {
    ($name:ident, $what:literal $($instruction:literal)?) => {
        #[doc = $what]
        ///
        /// What [`Emitter::begin_bracket`](crate::encode::Emitter::begin_bracket) and the like append for R8 and R9, from the
        /// beginning of a line on.
        #[unsafe(naked)]
        unsafe extern "C" fn $name(_word: *const u64) {
            naked_asm!(
                "mov r8, rax",
                "mov r9, rdx",
                ".balign 64",
                "lfence",
                "rdtsc",
                "mov gs:[{begin}], eax",
                "mov rax, r8",
                "mov rdx, r9",
                "lfence",
                $($instruction,)?
                "mov r8, rax",
                "mov r9, rdx",
                "lfence",
                "rdtsc",
                "mov gs:[{end}], eax",
                "mov rax, r8",
                "mov rdx, r9",
                "ret",
                ".balign 64",
                begin = const TIMED_BEGIN,
                end = const TIMED_END,
            )
        }
    };
}

bracket!(around_nothing, "Nothing.");
bracket!(around_hit, "A load." "mov rcx, [rdi]");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{encode::Emitter, lane::registers::Gpr};

    const KEPT: [Gpr; 2] = [Gpr(8), Gpr(9)];

    /// The code of the function from its second line on, `bytes` bytes long.
    fn code_of(function: unsafe extern "C" fn(*const u64), bytes: usize) -> Vec<u8> {
        let begin = (function as *const () as usize + 6).next_multiple_of(64);
        // SAFETY: the function's own code.
        unsafe { std::slice::from_raw_parts(begin as *const u8, bytes) }.to_vec()
    }

    fn emitted(instruction: &[u8]) -> Vec<u8> {
        let mut code = Emitter::at(64);
        code.begin_bracket(KEPT, instruction.len() as u64);
        code.raw(instruction);
        code.keep_rax_and_rdx(KEPT);
        code.end_bracket(KEPT);
        code.bytes().to_vec()
    }

    #[test]
    fn what_is_calibrated_is_what_is_emitted() {
        let [nothing, hit] = [emitted(&[]), emitted(&[0x48, 0x8b, 0x0f])];
        assert_eq!(code_of(around_nothing, nothing.len()), nothing);
        assert_eq!(code_of(around_hit, hit.len()), hit);
    }
}
