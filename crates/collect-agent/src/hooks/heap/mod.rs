//! `malloc` and its kin: every program calls them all the time, and where blocks are not followed it must cost nothing.
//!
//! So a hook is two moves and a jump through [`TARGETS`]. That leads to the C library's function itself, unless
//! blocks are followed: then to ours in [`follow`], with the caller's stack and frame pointers as two further
//! arguments. Before the first call it leads to [`early`], which finds out where the C library's functions are.

mod early;
mod follow;
#[cfg(not(feature = "static-link"))]
mod operators;

use std::{
    ffi::c_void,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

use super::next::next;
#[cfg(not(feature = "static-link"))]
pub use operators::ways_on as operators;

next!(MALLOC, c"malloc", __real_malloc, fn next_malloc(size: usize) -> *mut c_void);
next!(CALLOC, c"calloc", __real_calloc);
next!(REALLOC, c"realloc", __real_realloc);
next!(REALLOCARRAY, c"reallocarray", __real_reallocarray);
next!(FREE, c"free", __real_free);
next!(POSIX_MEMALIGN, c"posix_memalign", __real_posix_memalign);
next!(ALIGNED_ALLOC, c"aligned_alloc", __real_aligned_alloc);
next!(MEMALIGN, c"memalign", __real_memalign);
next!(VALLOC, c"valloc", __real_valloc);
next!(PVALLOC, c"pvalloc", __real_pvalloc);

/// The hooks in the order of [`TARGETS`].
const COUNT: usize = 10;

/// Where each hook leads.
static TARGETS: [AtomicPtr<c_void>; COUNT] = [
    AtomicPtr::new(early::malloc as *mut c_void),
    AtomicPtr::new(early::calloc as *mut c_void),
    AtomicPtr::new(early::realloc as *mut c_void),
    AtomicPtr::new(early::reallocarray as *mut c_void),
    AtomicPtr::new(early::free as *mut c_void),
    AtomicPtr::new(early::posix_memalign as *mut c_void),
    AtomicPtr::new(early::aligned_alloc as *mut c_void),
    AtomicPtr::new(early::memalign as *mut c_void),
    AtomicPtr::new(early::valloc as *mut c_void),
    AtomicPtr::new(early::pvalloc as *mut c_void),
];

/// Has the hooks enter and remove blocks, or leads them to the C library.
pub fn follow_heap(on: bool) {
    early::resolve();
    follow::lead_on_to(early::found());
    lead_to(if on { follow::TARGETS } else { early::found() });
}

/// The hooks, and what translated code runs in their place: the C library's functions, or ours where blocks are
/// `followed`. Ours lead on to the library's in the same way.
#[cfg(not(feature = "static-link"))]
pub fn ways_on(followed: bool) -> [[(*const c_void, *const c_void); COUNT]; 2] {
    // Defined by the hooks.
    unsafe extern "C" {
        static carom_hook_malloc: u8;
        static carom_hook_calloc: u8;
        static carom_hook_realloc: u8;
        static carom_hook_reallocarray: u8;
        static carom_hook_free: u8;
        static carom_hook_posix_memalign: u8;
        static carom_hook_aligned_alloc: u8;
        static carom_hook_memalign: u8;
        static carom_hook_valloc: u8;
        static carom_hook_pvalloc: u8;
    }
    let hooks: [*const u8; COUNT] = [
        &raw const carom_hook_malloc,
        &raw const carom_hook_calloc,
        &raw const carom_hook_realloc,
        &raw const carom_hook_reallocarray,
        &raw const carom_hook_free,
        &raw const carom_hook_posix_memalign,
        &raw const carom_hook_aligned_alloc,
        &raw const carom_hook_memalign,
        &raw const carom_hook_valloc,
        &raw const carom_hook_pvalloc,
    ];
    early::resolve();
    let library = early::found();
    let targets = if followed { follow::ENTRIES } else { library };
    follow::lead_on_to(library);
    [
        std::array::from_fn(|index| (hooks[index].cast(), targets[index])),
        std::array::from_fn(|index| (follow::WAYS[index], library[index])),
    ]
}

/// A thread that is between two of these sees a block come or go unnoticed, which does no harm.
fn lead_to(functions: [*const c_void; COUNT]) {
    for (target, function) in TARGETS.iter().zip(functions) {
        target.store(function.cast_mut(), Relaxed);
    }
}

/// Declares the hook of the C function `$name`, at `$index` of [`TARGETS`]. `$sp` and `$fp` are the registers
/// of the two arguments after the function's own.
macro_rules! hook {
    ($index:literal, $name:ident, $wrap:literal, $sp:literal, $fp:literal) => {
        #[cfg_attr(feature = "static-link", unsafe(export_name = $wrap))]
        #[cfg_attr(not(feature = "static-link"), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                // A name of its own: the address of the exported one may be that of the program's linkage table.
                concat!(".globl carom_hook_", stringify!($name)),
                concat!(".hidden carom_hook_", stringify!($name)),
                concat!("carom_hook_", stringify!($name), ":"),
                concat!("mov ", $sp, ", rsp"),
                concat!("mov ", $fp, ", rbp"),
                "jmp qword ptr [rip + {targets} + 8 * {index}]",
                targets = sym TARGETS,
                index = const $index,
            )
        }
    };
}

hook!(0, malloc, "__wrap_malloc", "rsi", "rdx");
hook!(1, calloc, "__wrap_calloc", "rdx", "rcx");
hook!(2, realloc, "__wrap_realloc", "rdx", "rcx");
hook!(3, reallocarray, "__wrap_reallocarray", "rcx", "r8");
hook!(4, free, "__wrap_free", "rsi", "rdx");
hook!(5, posix_memalign, "__wrap_posix_memalign", "rcx", "r8");
hook!(6, aligned_alloc, "__wrap_aligned_alloc", "rdx", "rcx");
hook!(7, memalign, "__wrap_memalign", "rdx", "rcx");
hook!(8, valloc, "__wrap_valloc", "rsi", "rdx");
hook!(9, pvalloc, "__wrap_pvalloc", "rsi", "rdx");
