//! The two loops. All private arrays are swept by the same one: a tool that finds every instruction equally often
//! then finds every array equally often.

use std::arch::naked_asm;
use std::sync::atomic::AtomicU8;

/// Loads byte k and stores byte k + 1 for k = 0, 2, 4, ...: as many accesses as the array, of an even length, has bytes.
pub fn sweep(array: &[AtomicU8]) {
    // SAFETY: the array's bytes are atomic, and a pair begins only where two are left.
    unsafe { ribench_sweep(array.as_ptr().cast_mut().cast(), array.len() as u64 & !1) }
}

/// Stores every byte of the array, one after the other.
pub fn store(array: &[AtomicU8]) {
    // SAFETY: the array's bytes are atomic.
    unsafe { ribench_store(array.as_ptr().cast_mut().cast(), array.len() as u64) }
}

/// Nothing but the two accesses touches memory. Odd bytes become 1.
///
/// # Safety
/// `bytes` bytes from `array` on, an even number, are readable and writable.
#[unsafe(naked)]
unsafe extern "sysv64" fn ribench_sweep(array: *mut u8, bytes: u64) {
    naked_asm!(
        "mov ecx, 1",
        "add rsi, rdi",
        "cmp rdi, rsi",
        "jae 3f",
        ".p2align 4",
        "2:",
        "movzx eax, byte ptr [rdi]",
        "mov byte ptr [rdi + 1], cl",
        "add rdi, 2",
        "cmp rdi, rsi",
        "jb 2b",
        "3:",
        "ret",
    )
}

/// Nothing but the store touches memory. The bytes become 1.
///
/// # Safety
/// `bytes` bytes from `array` on are writable.
#[unsafe(naked)]
unsafe extern "sysv64" fn ribench_store(array: *mut u8, bytes: u64) {
    naked_asm!(
        "mov ecx, 1",
        "add rsi, rdi",
        "cmp rdi, rsi",
        "jae 3f",
        ".p2align 4",
        "2:",
        "mov byte ptr [rdi], cl",
        "inc rdi",
        "cmp rdi, rsi",
        "jb 2b",
        "3:",
        "ret",
    )
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind};

    use super::*;

    fn written(length: usize, by: impl Fn(&[AtomicU8])) -> Vec<u8> {
        // The last byte is not passed: it would show a loop that ran too far.
        let array: Vec<AtomicU8> = (0..=length).map(|_| AtomicU8::new(0)).collect();
        by(&array[..length]);
        array.iter().map(|byte| byte.load(Relaxed)).collect()
    }

    #[test]
    fn a_sweep_stores_every_other_byte_and_a_store_every_one() {
        assert_eq!(written(6, sweep), [0, 1, 0, 1, 0, 1, 0]);
        assert_eq!(written(5, sweep), [0, 1, 0, 1, 0, 0]);
        assert_eq!(written(3, store), [1, 1, 1, 0]);
        assert_eq!((written(0, sweep), written(0, store)), (vec![0], vec![0]));
    }

    /// From the bytes of the code: the loop runs from the target of its backward jump to that jump.
    #[test]
    fn the_loops_have_no_other_accesses() {
        /// More than either function has.
        const BYTES: usize = 64;
        for (function, accesses) in [(ribench_sweep as *const u8, 2), (ribench_store as *const u8, 1)] {
            // SAFETY: code is readable, and the binary goes on behind the function.
            let code = unsafe { std::slice::from_raw_parts(function, BYTES) };
            let code: Vec<Instruction> = Decoder::with_ip(64, code, 0, DecoderOptions::NONE)
                .iter()
                .take_while(|i| i.mnemonic() != Mnemonic::Ret)
                .collect();
            let jump = code.last().unwrap();
            assert!(jump.near_branch_target() < jump.ip());
            let body = code.iter().filter(|i| i.ip() >= jump.near_branch_target());
            let memory =
                |i: &&Instruction| (0..i.op_count()).any(|operand| i.op_kind(operand) == OpKind::Memory);
            assert_eq!(body.filter(memory).count(), accesses);
        }
    }
}
