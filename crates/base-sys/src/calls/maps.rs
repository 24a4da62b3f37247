//! The list of this process's mappings, also where it can no longer be opened: in another root, or behind Landlock.
//!
//! Signal-safe.

use std::{
    ffi::CStr,
    mem::ManuallyDrop,
    ops::Deref,
    sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::*},
};

use super::{
    descriptor, file,
    process::process_id,
    raw::{Errno, File},
};

/// `/proc/self/maps` is empty where it is opened once the main thread has ended (pthread_exit in `main`); this is not.
const MAPS: &CStr = c"/proc/thread-self/maps";

/// Can be read as long as the process lives, whichever thread has opened it.
const MAPS_TO_KEEP: &CStr = c"/proc/self/maps";

/// No descriptor, and one that is about to be kept.
const NONE: i32 = -1;
const BUSY: i32 = -2;

/// The descriptor that is kept.
static KEPT: AtomicI32 = AtomicI32::new(NONE);

/// The process that it tells of: a forked child has its parent's.
static KEPT_BY: AtomicU32 = AtomicU32::new(0);

/// The file behind it: the program may have closed all descriptors, and opened another one with this number.
static KEPT_FILE: AtomicU64 = AtomicU64::new(0);

/// The list, for [`File::read_at`] alone: several may read what is kept.
#[derive(Debug)]
pub enum Maps {
    /// Open for the caller.
    Opened(File),
    /// The one that is kept, and stays open.
    Kept(ManuallyDrop<File>),
}

impl Deref for Maps {
    type Target = File;

    fn deref(&self) -> &File {
        match self {
            Self::Opened(file) => file,
            Self::Kept(file) => file,
        }
    }
}

/// Opens the list.
///
/// # Errors
/// As of open(2), where none is [kept](keep) either.
pub fn open() -> Result<Maps, Errno> {
    File::open(MAPS).map(Maps::Opened).or_else(|errno| kept().map(Maps::Kept).ok_or(errno))
}

/// The process is about to change what it may open, or sees: keeps the list open from now on.
pub fn keep() {
    let before = KEPT.load(Acquire);
    if before == BUSY || kept().is_some() {
        return;
    }
    // ATOMICS: whoever has made it busy writes the other two.
    if KEPT.compare_exchange(before, BUSY, Acquire, Relaxed).is_err() {
        return;
    }
    let kept = File::open(MAPS_TO_KEEP).ok().and_then(|file| {
        KEPT_FILE.store(file::status_of(&file)?.st_ino, Relaxed);
        KEPT_BY.store(process_id(), Relaxed);
        Some(descriptor::keep_high(file.into_number()))
    });
    // ATOMICS: release, for what tells of the file.
    KEPT.store(kept.unwrap_or(NONE), Release);
}

/// The list that is kept, if it still is, and this process's.
fn kept() -> Option<ManuallyDrop<File>> {
    // ATOMICS: pairs with the release in `keep`.
    let number = KEPT.load(Acquire);
    if number < 0 || KEPT_BY.load(Relaxed) != process_id() {
        return None;
    }
    let file = ManuallyDrop::new(File::from_number(number));
    (file::status_of(&file)?.st_ino == KEPT_FILE.load(Relaxed)).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::{super::alone::holds_alone, *};

    /// Where there is no /proc. False without the right to.
    fn enter_root() -> bool {
        // SAFETY: a terminated string.
        unsafe { libc::chroot(c"/sys/kernel".as_ptr()) == 0 }
    }

    /// Whether the list tells of a mapping that is made now.
    fn is_ours() -> bool {
        let Ok(file) = open() else { return false };
        let protection = libc::PROT_READ | libc::PROT_EXEC;
        // SAFETY: a fresh mapping.
        let place = unsafe {
            libc::mmap(std::ptr::null_mut(), 4096, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
        };
        let (mut text, mut filled) = ([0; 1 << 16], 0);
        while let read @ 1.. = file.read_at(&mut text[filled..], filled as u64) {
            filled += read;
        }
        let mut digits = [0; 12];
        for (n, digit) in digits.iter_mut().enumerate() {
            *digit = b"0123456789abcdef"[place.addr() >> (44 - 4 * n) & 15];
        }
        text[..filled].windows(12).any(|window| window == digits)
    }

    #[test]
    fn what_is_kept_is_read_in_another_root() {
        assert!(holds_alone(|| {
            keep();
            let kept = is_ours();
            !enter_root() || kept && is_ours()
        }));
        assert!(holds_alone(|| !enter_root() || open().is_err()));
    }

    #[test]
    fn a_child_does_not_take_its_parents_list_for_its_own() {
        assert!(holds_alone(|| {
            keep();
            if !enter_root() {
                return true;
            }
            holds_alone(|| open().is_err())
        }));
    }

    #[test]
    fn another_file_with_the_descriptors_number_is_not_taken_for_it() {
        assert!(holds_alone(|| {
            keep();
            // SAFETY: integers only; the descriptor is ours.
            let replaced = unsafe { libc::dup2(0, KEPT.load(Relaxed)) };
            replaced >= 0 && (!enter_root() || open().is_err())
        }));
    }
}
