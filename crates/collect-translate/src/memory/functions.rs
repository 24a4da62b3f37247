//! The memory functions that compiled code calls, in general registers and XMM0 to XMM15 alone. Those of the C library
//! use whatever the processor has.
//!
//! Where an object is linked with `--wrap` for each of [`NAMES`], its calls come here. The names are hidden: the
//! program's own calls do not.

use std::arch::asm;

/// What is wrapped, for build scripts.
#[cfg(test)]
const NAMES: [&str; 5] = ["memcpy", "memmove", "memset", "memcmp", "bcmp"];

/// Whether the calls of this object come here.
#[inline]
pub fn are_ours() -> bool {
    type Function = unsafe extern "C" fn(*mut libc::c_void, *const libc::c_void, usize) -> *mut libc::c_void;
    std::ptr::fn_addr_eq(libc::memcpy as Function, memcpy as Function)
}

/// # Safety
/// As of the C library's.
#[unsafe(export_name = "__wrap_memcpy")]
unsafe extern "C" fn memcpy(
    to: *mut libc::c_void,
    from: *const libc::c_void,
    bytes: usize,
) -> *mut libc::c_void {
    // SAFETY: the caller's promise.
    unsafe { memmove(to, from, bytes) }
}

/// # Safety
/// As of the C library's.
#[unsafe(export_name = "__wrap_memmove")]
unsafe extern "C" fn memmove(
    to: *mut libc::c_void,
    from: *const libc::c_void,
    bytes: usize,
) -> *mut libc::c_void {
    // Up to 64 bytes are read as a whole before any is written, in halves that overlap. More are moved in one direction,
    // so that nothing is overwritten before it is read, with the far end read beforehand.
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            ".hidden __wrap_memcpy",
            ".hidden __wrap_memmove",
            "mov rax, rdi",
            "cmp rdx, 16",
            "jb 2f",
            "cmp rdx, 32",
            "ja 5f",
            "movups xmm0, [rsi]",
            "movups xmm1, [rsi + rdx - 16]",
            "movups [rdi], xmm0",
            "movups [rdi + rdx - 16], xmm1",
            "jmp 9f",
            "2:",
            "cmp edx, 8",
            "jb 3f",
            "mov rcx, [rsi]",
            "mov r8, [rsi + rdx - 8]",
            "mov [rdi], rcx",
            "mov [rdi + rdx - 8], r8",
            "jmp 9f",
            "3:",
            "cmp edx, 4",
            "jb 4f",
            "mov ecx, [rsi]",
            "mov r8d, [rsi + rdx - 4]",
            "mov [rdi], ecx",
            "mov [rdi + rdx - 4], r8d",
            "jmp 9f",
            "4:",
            "test edx, edx",
            "jz 7f",
            // First, middle and last byte, which may be the same.
            "mov r9d, edx",
            "shr r9d, 1",
            "movzx ecx, byte ptr [rsi]",
            "movzx r8d, byte ptr [rsi + rdx - 1]",
            "movzx r10d, byte ptr [rsi + r9]",
            "mov [rdi], cl",
            "mov [rdi + r9], r10b",
            "mov [rdi + rdx - 1], r8b",
            "7:",
            "jmp 9f",
            "5:",
            "movups xmm0, [rsi]",
            "movups xmm1, [rsi + 16]",
            "movups xmm2, [rsi + rdx - 32]",
            "movups xmm3, [rsi + rdx - 16]",
            "cmp rdx, 64",
            "ja 6f",
            "movups [rdi], xmm0",
            "movups [rdi + 16], xmm1",
            "movups [rdi + rdx - 32], xmm2",
            "movups [rdi + rdx - 16], xmm3",
            "jmp 9f",
            "6:",
            "lea r8, [rdi + rdx - 32]",
            "mov rcx, rdi",
            "sub rcx, rsi",
            "cmp rcx, rdx",
            "jb 8f",
            // From the beginning on.
            "2:",
            "movups xmm4, [rsi]",
            "movups xmm5, [rsi + 16]",
            "movups [rdi], xmm4",
            "movups [rdi + 16], xmm5",
            "add rsi, 32",
            "add rdi, 32",
            "cmp rdi, r8",
            "jb 2b",
            "movups [r8], xmm2",
            "movups [r8 + 16], xmm3",
            "jmp 9f",
            // The target begins within the source: from the end on.
            "8:",
            "lea rsi, [rsi + rdx - 32]",
            "mov rdi, r8",
            "2:",
            "movups xmm4, [rsi]",
            "movups xmm5, [rsi + 16]",
            "movups [rdi], xmm4",
            "movups [rdi + 16], xmm5",
            "sub rsi, 32",
            "sub rdi, 32",
            "cmp rdi, rax",
            "ja 2b",
            "movups [rax], xmm0",
            "movups [rax + 16], xmm1",
            "9:",
            inout("rdi") to => _, inout("rsi") from => _, inout("rdx") bytes => _,
            out("rax") _, out("rcx") _, out("r8") _, out("r9") _, out("r10") _,
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
            options(nostack),
        );
    }
    to
}

/// # Safety
/// As of the C library's.
#[unsafe(export_name = "__wrap_memset")]
unsafe extern "C" fn memset(to: *mut libc::c_void, byte: i32, bytes: usize) -> *mut libc::c_void {
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            ".hidden __wrap_memset",
            "movzx eax, sil",
            "movabs rcx, 0x0101010101010101",
            "imul rax, rcx",
            "cmp rdx, 16",
            "jb 3f",
            "movq xmm0, rax",
            "punpcklqdq xmm0, xmm0",
            "lea rcx, [rdi + rdx - 16]",
            "2:",
            "movups [rdi], xmm0",
            "add rdi, 16",
            "cmp rdi, rcx",
            "jb 2b",
            "movups [rcx], xmm0",
            "jmp 9f",
            "3:",
            "cmp edx, 8",
            "jb 4f",
            "mov [rdi], rax",
            "mov [rdi + rdx - 8], rax",
            "jmp 9f",
            "4:",
            "mov rcx, rdx",
            "rep stosb",
            "9:",
            inout("rdi") to => _, inout("rsi") byte => _, inout("rdx") bytes => _,
            out("rax") _, out("rcx") _, out("xmm0") _,
            options(nostack),
        );
    }
    to
}

/// # Safety
/// As of the C library's.
#[unsafe(export_name = "__wrap_memcmp")]
unsafe extern "C" fn memcmp(one: *const libc::c_void, other: *const libc::c_void, bytes: usize) -> i32 {
    let order: i32;
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            ".hidden __wrap_memcmp",
            ".hidden __wrap_bcmp",
            "xor ecx, ecx",
            "sub rdx, 16",
            "jb 3f",
            "2:",
            "movups xmm0, [rdi + rcx]",
            "movups xmm1, [rsi + rcx]",
            "pcmpeqb xmm0, xmm1",
            "pmovmskb eax, xmm0",
            "xor eax, 0xffff",
            "jnz 4f",
            "add rcx, 16",
            "cmp rcx, rdx",
            "jbe 2b",
            "3:",
            "add rdx, 16",
            "5:",
            "xor eax, eax",
            "cmp rcx, rdx",
            "je 6f",
            "movzx eax, byte ptr [rdi + rcx]",
            "movzx r8d, byte ptr [rsi + rcx]",
            "inc rcx",
            "sub eax, r8d",
            "jz 5b",
            "6:",
            "jmp 9f",
            "4:",
            "bsf eax, eax",
            "add rcx, rax",
            "movzx eax, byte ptr [rdi + rcx]",
            "movzx r8d, byte ptr [rsi + rcx]",
            "sub eax, r8d",
            "9:",
            in("rdi") one, in("rsi") other, inout("rdx") bytes => _,
            out("eax") order, out("rcx") _, out("r8") _, out("xmm0") _, out("xmm1") _,
            options(nostack, readonly),
        );
    }
    order
}

/// # Safety
/// As of the C library's.
#[unsafe(export_name = "__wrap_bcmp")]
unsafe extern "C" fn bcmp(one: *const libc::c_void, other: *const libc::c_void, bytes: usize) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { memcmp(one, other, bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beyond the sizes that are moved in one step.
    const MOST: usize = 200;

    type Compare = unsafe extern "C" fn(*const libc::c_void, *const libc::c_void, usize) -> i32;

    fn bytes() -> Vec<u8> {
        (0..2 * MOST).map(|n| (n * 7 + n / 251) as u8).collect()
    }

    #[test]
    fn every_size_is_moved_to_every_distance() {
        for (size, from, to) in (0..MOST).flat_map(|size| {
            [0, 1, 3, 15, 16, 31, 32, 33, 64, 90]
                .map(|at| [(size, at, 70), (size, 70, at)])
                .into_iter()
                .flatten()
        }) {
            let mut expected = bytes();
            expected.copy_within(from..from + size, to);
            let mut moved = bytes();
            let place = moved.as_mut_ptr().cast::<libc::c_void>();
            // SAFETY: both lie within the vector.
            let result = unsafe { memmove(place.wrapping_add(to), place.wrapping_add(from), size) };
            assert_eq!(result, place.wrapping_add(to));
            assert_eq!(moved, expected, "{size} bytes from {from} to {to}");
        }
    }

    #[test]
    fn every_size_is_filled() {
        for (size, at) in (0..MOST).flat_map(|size| [(size, 0), (size, 5)]) {
            let mut expected = bytes();
            expected[at..at + size].fill(0xa5);
            let mut filled = bytes();
            let place = filled.as_mut_ptr().wrapping_add(at).cast::<libc::c_void>();
            // SAFETY: within the vector.
            assert_eq!(unsafe { memset(place, 0x1a5, size) }, place);
            assert_eq!(filled, expected, "{size} bytes at {at}");
        }
    }

    #[test]
    fn every_difference_is_found() {
        let one = bytes();
        for size in 0..MOST {
            for changed in 0..MOST {
                let mut other = bytes();
                other[changed] = other[changed].wrapping_add(100);
                let wanted = one[..size].cmp(&other[..size]);
                // SAFETY: within the vectors.
                let [ordered, equal] = [memcmp, bcmp].map(|compare: Compare| unsafe {
                    compare(one.as_ptr().cast(), other.as_ptr().cast(), size)
                });
                assert_eq!(ordered.cmp(&0), wanted, "{size} bytes, {changed} changed");
                assert_eq!(equal == 0, wanted.is_eq());
            }
        }
    }

    #[test]
    fn build_scripts_wrap_all_of_them() {
        for script in [include_str!("../../build.rs"), include_str!("../../../collect-agent/build.rs")] {
            assert!(NAMES.iter().all(|name| script.contains(&format!("\"{name}\""))));
        }
    }
}
