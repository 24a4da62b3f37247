//! The first calls. The C library's functions are found with `dlsym`, which may allocate itself. A small buffer serves
//! it; its blocks are recognised later and never freed.

use std::{
    arch::naked_asm,
    cell::UnsafeCell,
    ffi::{c_int, c_void},
    sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::*},
};

use super::{
    ALIGNED_ALLOC, CALLOC, COUNT, FREE, MALLOC, MEMALIGN, POSIX_MEMALIGN, PVALLOC, REALLOC, REALLOCARRAY,
    TARGETS, VALLOC, lead_to, next_malloc,
};

/// `dlsym` asks for a few hundred bytes, where it asks at all.
const BUFFER_BYTES: usize = 16 << 10;

/// What malloc aligns to on x86-64; also the room for a block's size before it.
const ALIGNMENT: usize = 16;

#[repr(C, align(16))]
struct Buffer(UnsafeCell<[u8; BUFFER_BYTES]>);
// SAFETY: every block of it is handed out once.
unsafe impl Sync for Buffer {}

static BUFFER: Buffer = Buffer(UnsafeCell::new([0; BUFFER_BYTES]));
static USED: AtomicUsize = AtomicUsize::new(0);
static RESOLVING: AtomicBool = AtomicBool::new(false);

/// Finds the C library's functions and leads the hooks to them. Called before the program has threads; again,
/// it does nothing.
pub extern "C" fn resolve() {
    if RESOLVING.swap(true, Relaxed) {
        return;
    }
    lead_to(MEANWHILE);
    lead_to(found());
}

/// The C library's functions in the order of the hooks.
pub fn found() -> [*const c_void; COUNT] {
    let mut functions = [
        &MALLOC,
        &CALLOC,
        &REALLOC,
        &REALLOCARRAY,
        &FREE,
        &POSIX_MEMALIGN,
        &ALIGNED_ALLOC,
        &MEMALIGN,
        &VALLOC,
        &PVALLOC,
    ]
    .map(super::super::next::Next::address);
    if USED.load(Relaxed) > 0 {
        LIBRARY_REALLOC.store(functions[2].cast_mut(), Relaxed);
        LIBRARY_FREE.store(functions[4].cast_mut(), Relaxed);
        functions[2] = careful_realloc as *const c_void;
        functions[4] = careful_free as *const c_void;
    }
    functions
}

/// What serves `dlsym`.
const MEANWHILE: [*const c_void; COUNT] = [
    small_malloc as *const c_void,
    small_calloc as *const c_void,
    small_realloc as *const c_void,
    refuse as *const c_void,
    ignore as *const c_void,
    refuse_status as *const c_void,
    refuse as *const c_void,
    refuse as *const c_void,
    refuse as *const c_void,
    refuse as *const c_void,
];

/// Declares the function that the hook of this name leads to at first: it finds the functions, then forwards the call.
macro_rules! first {
    ($($index:literal $name:ident)*) => {$(
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "call {resolve}",
                "pop r8",
                "pop rcx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "jmp qword ptr [rip + {targets} + 8 * {index}]",
                resolve = sym resolve,
                targets = sym TARGETS,
                index = const $index,
            )
        }
    )*};
}

first! {
    0 malloc
    1 calloc
    2 realloc
    3 reallocarray
    4 free
    5 posix_memalign
    6 aligned_alloc
    7 memalign
    8 valloc
    9 pvalloc
}

/// Is `block` from the buffer?
pub fn is_ours(block: *mut c_void) -> bool {
    block.addr().wrapping_sub((&raw const BUFFER).addr()) < BUFFER_BYTES
}

/// `realloc` of a block from the buffer: a copy in a new block. `None` for any other block.
///
/// # Safety
/// As realloc(3).
pub unsafe fn moved(block: *mut c_void, size: usize) -> Option<*mut c_void> {
    if !is_ours(block) {
        return None;
    }
    // SAFETY: the argument is plain.
    let copy = unsafe { next_malloc(size) };
    if !copy.is_null() {
        // SAFETY: both are at least this long, and apart.
        unsafe { copy_block(block, copy, size) };
    }
    Some(copy)
}

/// # Safety
/// `from` is a block of the buffer, and `to` another block of at least `size` bytes.
unsafe fn copy_block(from: *mut c_void, to: *mut c_void, size: usize) {
    // SAFETY: every block of the buffer has its size before it.
    let header = unsafe { from.byte_sub(ALIGNMENT) };
    // SAFETY: as above.
    let length = unsafe { header.cast::<usize>().read() };
    // SAFETY: within both blocks.
    unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast::<u8>(), length.min(size)) };
}

/// The C library's functions behind the careful ones.
static LIBRARY_FREE: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
static LIBRARY_REALLOC: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Declares a function that leads on to the C library's, unless its first argument is a block of the buffer: that goes
/// to `$ours`. It stands in a section of its own: where the program's code is translated, this is translated with
/// it, so that what the library does is not run natively.
macro_rules! careful {
    ($name:ident, $library:ident, $ours:ident) => {
        #[unsafe(naked)]
        #[unsafe(link_section = "carom_led_on")]
        unsafe extern "C" fn $name() {
            naked_asm!(
                "lea rax, [rip + {buffer}]",
                "mov rcx, rdi",
                "sub rcx, rax",
                "cmp rcx, {bytes}",
                "jb {ours}",
                "jmp qword ptr [rip + {library}]",
                buffer = sym BUFFER,
                bytes = const BUFFER_BYTES,
                ours = sym $ours,
                library = sym $library,
            )
        }
    };
}

careful!(careful_free, LIBRARY_FREE, ignore);
careful!(careful_realloc, LIBRARY_REALLOC, move_out);

unsafe extern "C" fn move_out(block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the program's arguments, the block being one of the buffer.
    unsafe { moved(block, size) }.unwrap_or_default()
}

extern "C" fn small_malloc(size: usize) -> *mut c_void {
    let Some(bytes) = size.checked_next_multiple_of(ALIGNMENT).and_then(|b| b.checked_add(ALIGNMENT)) else {
        return std::ptr::null_mut();
    };
    let start = USED.fetch_add(bytes.min(BUFFER_BYTES), Relaxed);
    if start.saturating_add(bytes) > BUFFER_BYTES {
        return std::ptr::null_mut();
    }
    // SAFETY: inside the buffer.
    let header = unsafe { BUFFER.0.get().byte_add(start) };
    // SAFETY: aligned, and handed out to nobody else.
    unsafe { header.cast::<usize>().write(size) };
    // SAFETY: inside the buffer.
    unsafe { header.byte_add(ALIGNMENT) }.cast()
}

/// The buffer is zeroes, and no block of it is used twice.
extern "C" fn small_calloc(count: usize, size: usize) -> *mut c_void {
    count.checked_mul(size).map_or(std::ptr::null_mut(), |bytes| small_malloc(bytes))
}

unsafe extern "C" fn small_realloc(block: *mut c_void, size: usize) -> *mut c_void {
    let copy = small_malloc(size);
    if !copy.is_null() && is_ours(block) {
        // SAFETY: both are blocks of the buffer.
        unsafe { copy_block(block, copy, size) };
    }
    copy
}

extern "C" fn ignore(_block: *mut c_void) {}

extern "C" fn refuse() -> *mut c_void {
    std::ptr::null_mut()
}

extern "C" fn refuse_status() -> c_int {
    libc::ENOMEM
}
