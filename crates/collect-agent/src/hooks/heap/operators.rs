//! C++'s `operator new` and `delete` of allocators that have their own.
//!
//! Those of the C++ library call `malloc` and `free`, so their blocks are followed by the hooks. Those of jemalloc, tcmalloc
//! and mimalloc do not. They cannot be hooked as `malloc` is: a library that is loaded later could have the only ones that are
//! right, and no program could throw an exception through a hook in Rust. Translated code runs the functions of this module
//! in their place.
//!
//! They are written in assembly so that an exception passes through them: their frames are described, and have no
//! handlers.

use std::{
    arch::naked_asm,
    ffi::{CStr, c_void},
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

use carom_base_sys::loader;

use super::{MALLOC, follow::caller};
use crate::objects;

/// The number of operators.
const COUNT: usize = 20;

/// The allocator's functions.
static LIBRARY: [AtomicPtr<c_void>; COUNT] = [const { AtomicPtr::new(std::ptr::null_mut()) }; COUNT];

/// What translated code runs in place of the allocator's operators, and what in place of the ways on to them. Empty where the
/// operators call `malloc`.
pub fn ways_on() -> impl Iterator<Item = (*const c_void, *const c_void)> {
    let allocator = library_of(MALLOC.address());
    OPERATORS.iter().zip(&LIBRARY).flat_map(move |(operator, place)| {
        let found =
            loader::function(operator.name).map_or(std::ptr::null(), |found| found.as_ptr().cast_const());
        let own = !found.is_null() && allocator.is_some() && library_of(found) == allocator;
        if own {
            place.store(found.cast_mut(), Relaxed);
        }
        let both = [(found, operator.entry as *const c_void), (operator.way as *const c_void, found)];
        both.into_iter().filter(move |_| own)
    })
}

/// Where the library with this function begins.
fn library_of(function: *const c_void) -> Option<usize> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: room for what is asked for.
    let found = unsafe { libc::dladdr(function, info.as_mut_ptr()) };
    // SAFETY: filled in.
    (found != 0).then(|| unsafe { info.assume_init() }.dli_fbase.addr())
}

/// An operator: its name in the language's binary interface, what runs in its place, and the way on to it.
struct Operator {
    name: &'static CStr,
    entry: unsafe extern "C" fn(),
    way: unsafe extern "C" fn(),
}

#[unsafe(link_section = "carom_led_on")]
unsafe extern "C" fn entered(block: *mut c_void, size: usize, sp: *const u64, fp: u64) {
    // SAFETY: the stack pointer with which the operator was called.
    objects::allocated(block, size, unsafe { caller(sp, fp) });
}

#[unsafe(link_section = "carom_led_on")]
unsafe extern "C" fn freed(block: *mut c_void) {
    objects::freeing(block);
}

/// Declares [`OPERATORS`], each with its index: those that `allocate` as many bytes as their first argument says, and those
/// that `release` the block that it points to.
macro_rules! operators {
    (allocate $($new:literal $new_name:literal)*; release $($delete:literal $delete_name:literal)*) => {
        static OPERATORS: [Operator; COUNT] = [
            $(Operator { name: $new_name, entry: allocate::<$new>, way: way::<$new> },)*
            $(Operator { name: $delete_name, entry: release::<$delete>, way: way::<$delete> },)*
        ];
    };
}

operators! {
    allocate
    0 c"_Znwm"
    1 c"_Znam"
    2 c"_ZnwmRKSt9nothrow_t"
    3 c"_ZnamRKSt9nothrow_t"
    4 c"_ZnwmSt11align_val_t"
    5 c"_ZnamSt11align_val_t"
    6 c"_ZnwmSt11align_val_tRKSt9nothrow_t"
    7 c"_ZnamSt11align_val_tRKSt9nothrow_t";
    release
    8 c"_ZdlPv"
    9 c"_ZdaPv"
    10 c"_ZdlPvm"
    11 c"_ZdaPvm"
    12 c"_ZdlPvRKSt9nothrow_t"
    13 c"_ZdaPvRKSt9nothrow_t"
    14 c"_ZdlPvSt11align_val_t"
    15 c"_ZdaPvSt11align_val_t"
    16 c"_ZdlPvmSt11align_val_t"
    17 c"_ZdaPvmSt11align_val_t"
    18 c"_ZdlPvSt11align_val_tRKSt9nothrow_t"
    19 c"_ZdaPvSt11align_val_tRKSt9nothrow_t"
}

/// Leads on to an operator of the allocator. Where code is translated, that runs in its place.
#[unsafe(naked)]
#[unsafe(link_section = "carom_led_on")]
unsafe extern "C" fn way<const INDEX: usize>() {
    naked_asm!("jmp qword ptr [rip + {library} + 8 * {index}]", library = sym LIBRARY, index = const INDEX)
}

/// Keeps the number of bytes, and enters the block that it was given.
#[unsafe(naked)]
#[unsafe(link_section = "carom_led_on")]
unsafe extern "C" fn allocate<const INDEX: usize>() {
    naked_asm!(
        ".cfi_startproc",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "call {way}",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "mov rdi, rax",
        "mov rdx, rsp",
        "mov rcx, rbp",
        "push rax",
        ".cfi_adjust_cfa_offset 8",
        "call {entered}",
        "pop rax",
        ".cfi_adjust_cfa_offset -8",
        "ret",
        ".cfi_endproc",
        way = sym way::<INDEX>,
        entered = sym entered,
    )
}

/// Removes the block, and goes on with all arguments.
#[unsafe(naked)]
#[unsafe(link_section = "carom_led_on")]
unsafe extern "C" fn release<const INDEX: usize>() {
    naked_asm!(
        ".cfi_startproc",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "push rdx",
        ".cfi_adjust_cfa_offset 8",
        "call {freed}",
        "pop rdx",
        ".cfi_adjust_cfa_offset -8",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        "jmp {way}",
        ".cfi_endproc",
        way = sym way::<INDEX>,
        freed = sym freed,
    )
}
