//! Functions by which the program restricts its system calls: the agent may have to step aside first. For threads in
//! the cache the translator sees the system calls themselves.
//!
//! The hooks go on in the C library's functions: a program may have allowed system calls from the library's code alone
//! (PR_SET_SYSCALL_USER_DISPATCH). Before [`prepare`] these are not known, and the hooks make the system call
//! themselves.

use std::{arch::naked_asm, ffi::c_long, sync::atomic::AtomicU64};

use carom_base_sys::signal;

use crate::aside;

/// The hooks, and the C library's functions that translated code calls in their place.
#[cfg(not(feature = "static-link"))]
pub fn ways_to_library() -> impl Iterator<Item = (*const libc::c_void, *const libc::c_void)> {
    // Names of their own: the addresses of the exported ones may be those of the program's linkage tables.
    unsafe extern "C" {
        static carom_hook_prctl: u8;
        static carom_hook_syscall: u8;
    }
    let hooks = [(&raw const carom_hook_prctl, c"prctl"), (&raw const carom_hook_syscall, c"syscall")];
    hooks.into_iter().map(|(hook, name)| {
        // SAFETY: a valid name.
        (hook.cast(), unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }.cast_const())
    })
}

/// The C library's functions, where they are known.
static PRCTL: AtomicU64 = AtomicU64::new(0);
static SYSCALL: AtomicU64 = AtomicU64::new(0);

/// Finds them. (A statically linked program has no code that is the C library's alone.)
#[cfg(not(feature = "static-link"))]
pub fn prepare() {
    for (place, (_, function)) in [&PRCTL, &SYSCALL].into_iter().zip(ways_to_library()) {
        // ATOMICS: a word that is read by itself.
        place.store(function.addr() as u64, std::sync::atomic::Ordering::Relaxed);
    }
}

/// Declares the hook `$name`, which asks `$before` where EDI is one of three numbers, and goes on where `$library` says, or
/// makes its system call after `$shuffle` has put number and arguments where the kernel wants them.
macro_rules! hook {
    ($name:ident, $wrap:literal, ($first:literal, $second:literal, $third:literal), $before:ident, $library:ident, $shuffle:literal) => {
        /// # Safety
        /// As the C function of this name.
        #[cfg_attr(feature = "static-link", unsafe(export_name = $wrap))]
        #[cfg_attr(not(feature = "static-link"), unsafe(no_mangle))]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                concat!(".globl carom_hook_", stringify!($name)),
                concat!(".hidden carom_hook_", stringify!($name)),
                concat!("carom_hook_", stringify!($name), ":"),
                concat!("cmp edi, ", $first),
                "je 2f",
                concat!("cmp edi, ", $second),
                "je 2f",
                concat!("cmp edi, ", $third),
                "jne 3f",
                "2:",
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "push r9",
                "sub rsp, 8",
                "call {before}",
                "add rsp, 8",
                "pop r9",
                "pop r8",
                "pop rcx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "3:",
                "mov r11, [rip + {library}]",
                "test r11, r11",
                "jz 5f",
                "jmp r11",
                "5:",
                $shuffle,
                "syscall",
                "cmp rax, -4095",
                "jae 4f",
                "ret",
                "4:",
                "mov rdi, rax",
                "jmp {failed}",
                before = sym $before,
                library = sym $library,
                failed = sym failed,
            )
        }
    };
}

// PR_SET_SECCOMP, PR_SET_TSC, PR_SET_SYSCALL_USER_DISPATCH; SYS_prctl, SYS_seccomp, SYS_ptrace.
hook!(prctl, "__wrap_prctl", (22, 26, 59), before_prctl, PRCTL, "mov r10, rcx; mov eax, 157");
hook!(
    syscall,
    "__wrap_syscall",
    (157, 317, 101),
    before_call,
    SYSCALL,
    "mov rax, rdi; mov rdi, rsi; mov rsi, rdx; mov rdx, rcx; mov r10, r8; mov r8, r9; mov r9, [rsp + 8]"
);

extern "C" fn before_prctl(option: u64, second: u64, third: u64) {
    aside::before(libc::SYS_prctl, [option, second, third, 0, 0, 0]);
}

extern "C" fn before_call(number: c_long, first: u64, second: u64, third: u64) {
    let arguments = [first, second, third, 0, 0, 0];
    if carom_collect_translate::may_end_here(number, arguments) {
        aside::before(number, arguments);
    }
}

/// What the C library returns where the kernel returned this.
extern "C" fn failed(result: i64) -> c_long {
    signal::set_errno(-result as i32);
    -1
}
