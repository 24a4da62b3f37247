//! `execl` and its kin. The C library's own call `execve` inside it, past every hook, so they need hooks too.

use std::{
    arch::naked_asm,
    ffi::{c_char, c_int},
};

use super::{Arguments, execv, execve, execvp};

/// Defines the variadic function `$name(path, argument, ..., NULL, ...)` as a call of `$target(path, array)`.
///
/// Rust cannot define variadic functions. At the entry, the first five arguments after `path` are in registers
/// and the others on the stack above the return address. With the return address taken out and the registers
/// pushed in its place, all of them are one array:
///
/// ```text
/// RSP -> rsi rdx rcx r8 r9 | arguments of the caller ... NULL
/// ```
macro_rules! variadic {
    ($name:ident, $wrap:literal, $target:path) => {
        /// # Safety
        /// As exec(3).
        #[cfg_attr(feature = "static-link", unsafe(export_name = $wrap))]
        #[cfg_attr(not(feature = "static-link"), unsafe(no_mangle))]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name(_path: *const c_char, _argument: *const c_char) -> c_int {
            naked_asm!(
                "pop rax",
                "push r9",
                "push r8",
                "push rcx",
                "push rdx",
                "push rsi",
                "mov rsi, rsp",
                // The return address; with it, RSP is a multiple of 16 as at every call.
                "push rax",
                "call {target}",
                "pop rcx",
                "add rsp, 40",
                "push rcx",
                "ret",
                target = sym $target,
            )
        }
    };
}

variadic!(execl, "__wrap_execl", execv);
variadic!(execlp, "__wrap_execlp", execvp);
variadic!(execle, "__wrap_execle", with_environment);

/// The environment comes after the null that ends the arguments.
unsafe extern "C" fn with_environment(path: *const c_char, argv: Arguments) -> c_int {
    let mut end = argv;
    // SAFETY: inside the array, whose end has not been met.
    while !unsafe { *end }.is_null() {
        // SAFETY: as above.
        end = unsafe { end.add(1) };
    }
    // SAFETY: `execle` has one more argument after the null.
    let last = unsafe { end.add(1) };
    // SAFETY: as above.
    let environment = unsafe { *last };
    // SAFETY: the program's arguments.
    unsafe { execve(path, argv, environment.cast()) }
}
