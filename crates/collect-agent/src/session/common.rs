//! The file that the agents of all processes map.

use std::{
    ffi::CStr,
    ptr::NonNull,
    sync::atomic::{AtomicPtr, Ordering::*},
};

use carom_base_detect::{Board, Publisher, Slot};
use carom_base_sys::map;
use carom_base_wire::{COMMON_BOARDS, COMMON_PUBLISHERS, CommonHeader};

/// The boards of memory that processes share.
#[derive(Clone, Copy)]
pub struct CommonBoards {
    pub header: &'static CommonHeader,
    /// By `Population`.
    pub boards: &'static [Board<'static>; COMMON_BOARDS],
}

/// Where the file is mapped. A forked child has it at the same place.
static MAPPED: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());

/// Maps the file at `path`, with `slots` slots on each board. `None` where there is no such file, because sharing is
/// not looked for.
pub fn boards(path: &CStr, slots: u32) -> Option<CommonBoards> {
    let base = match NonNull::new(MAPPED.load(Acquire)) {
        Some(mapped) => mapped,
        None => map::open_shared(path, CommonHeader::bytes(slots)).ok()?,
    };
    MAPPED.store(base.as_ptr(), Release);
    // SAFETY: a mapping of at least this size that stays; all fields are atomics.
    let header = unsafe { base.cast::<CommonHeader>().as_ref() };
    if !header.is_good(slots) {
        return None;
    }
    let boards = std::array::from_fn(|board| {
        let publishers = at::<Publisher>(base, CommonHeader::publishers_offset(board), COMMON_PUBLISHERS);
        let slots = at::<Slot>(base, CommonHeader::slots_offset(board, slots), slots as usize);
        Board::new(slots, publishers, &header.published[board])
    });
    Some(CommonBoards { header, boards: Box::leak(Box::new(boards)) })
}

impl CommonBoards {
    /// A number that no other thread of the recording has. Signal-safe.
    pub fn next_number(&self) -> u32 {
        // ATOMICS: a counter by itself. Beyond 2^31 threads, numbers come again.
        self.header.next_thread.fetch_add(1, Relaxed) & (u32::MAX >> 1)
    }
}

/// `count` things of atomics at `offset` of the file.
fn at<T>(base: NonNull<u8>, offset: usize, count: usize) -> &'static [T] {
    // SAFETY: inside the mapping, whose size was checked.
    let first = unsafe { base.add(offset) };
    // SAFETY: inside the mapping, which stays, and aligned; all zeroes and everything else is valid for atomics.
    unsafe { std::slice::from_raw_parts(first.cast::<T>().as_ptr(), count) }
}
