//! Mappings of ours that may lie anywhere, in a part of the address space that is natively unused.
//!
//! By default the kernel puts a mapping right below the last one, or into a hole. The program may rely on free room
//! there: where it has just unmapped memory that it will map again, below a stack that grows, and for its next
//! mappings.
//!
//! Signal-safe.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::raw;

const PAGE_BYTES: u64 = 4096;
const GIB: u64 = 1 << 30;

/// The size of this part. Nothing is reserved.
const ROOM_BYTES: u64 = 24 * GIB;

/// The distance from the libraries up to it. The kernel maps downwards from below the program's first libraries.
/// Between them and the stack randomisation leaves half a TiB in the mean.
const ABOVE_LIBRARIES: u64 = 8 * GIB;

/// The distance of libraries below the stack for which this holds. At a larger distance they lie elsewhere: in a
/// statically linked program, or where the kernel maps upwards because the stack is unlimited.
const USUAL: std::ops::Range<u64> = 64 * GIB..20 << 40;

/// The distance from the stack down to it in all other programs: farther than any native mapping below a stack.
const BELOW_STACK: u64 = 1 << 40;

/// The most mappings in the way before the kernel chooses the address.
const MOST_TRIALS: usize = 64;

/// The step to the next attempt where a mapping is in the way: mappings here lie close together.
const STRIDE: u64 = 64 << 20;

/// Its first address; 0 before it is known.
static START: AtomicU64 = AtomicU64::new(0);

/// The offset of the next mapping.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Maps memory: a file, or with `fd` -1 anonymous memory. Where there is no place here, the kernel chooses one.
///
/// # Errors
/// The kernel's error number, as of mmap(2).
pub fn map(bytes: u64, protection: i32, flags: i32, fd: i32) -> Result<u64, i32> {
    let flags = flags & !libc::MAP_FIXED;
    for _trial in 0..MOST_TRIALS {
        let Some(place) = next(bytes) else { break };
        // Kernels before 4.17 treat the address as a hint, which serves as well. SAFETY: with this flag it takes
        // nothing away.
        match unsafe { raw::mmap(place, bytes, protection, flags | libc::MAP_FIXED_NOREPLACE, fd) } {
            Err(libc::EEXIST) => {
                NEXT.fetch_add(STRIDE, Relaxed);
            }
            result => return result,
        }
    }
    // SAFETY: without MAP_FIXED a new mapping takes nothing away.
    unsafe { raw::mmap(0, bytes, protection, flags, fd) }
}

/// The place behind the last one, or the first one after the last of all.
fn next(bytes: u64) -> Option<u64> {
    let bytes = bytes.checked_next_multiple_of(PAGE_BYTES).filter(|&bytes| bytes <= ROOM_BYTES)?;
    let begin = |next: u64| if next.saturating_add(bytes) <= ROOM_BYTES { next } else { 0 };
    let taken = NEXT.fetch_update(Relaxed, Relaxed, |next| Some(begin(next) + bytes)).map_or(0, begin);
    Some(start() + taken)
}

fn start() -> u64 {
    match START.load(Relaxed) {
        0 => {
            // SAFETY: reads the auxiliary vector. The bytes that it tells of lie at the top of the stack.
            let stack = unsafe { libc::getauxval(libc::AT_RANDOM) };
            let start = start_for(start as *const () as u64, stack);
            START.store(start, Relaxed);
            start
        }
        start => start,
    }
}

/// Where the room begins in a process with its libraries, or us, at `library` and its stack at `stack`.
fn start_for(library: u64, stack: u64) -> u64 {
    let start = if USUAL.contains(&stack.saturating_sub(library)) {
        library + ABOVE_LIBRARIES
    } else {
        stack.saturating_sub(BELOW_STACK)
    };
    start.next_multiple_of(GIB)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAGS: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

    #[test]
    fn mappings_follow_each_other_there() {
        let places: Vec<u64> =
            (0..3).map(|_| map(5000, libc::PROT_NONE, FLAGS, -1).expect("mapped")).collect();
        for place in &places {
            assert!((start()..start() + ROOM_BYTES).contains(place), "{place:x}");
        }
        assert!(places.is_sorted());
        // The kernel's choice for what is larger than the room: anywhere.
        assert_eq!(next(ROOM_BYTES + 1), None);
        map(ROOM_BYTES + 1, libc::PROT_NONE, FLAGS, -1).expect("mapped");
        assert_eq!(map(0, libc::PROT_NONE, FLAGS, -1), Err(libc::EINVAL));
        // Past what is there, and from the end back to the start.
        let first = places.first().expect("three");
        NEXT.store(first - start(), Relaxed);
        let place = map(5000, libc::PROT_NONE, FLAGS, -1).expect("mapped");
        assert!(place >= first + STRIDE && place < start() + ROOM_BYTES);
        NEXT.store(ROOM_BYTES - PAGE_BYTES, Relaxed);
        let place = map(5000, libc::PROT_NONE, FLAGS, -1).expect("mapped");
        assert!((start()..start() + ROOM_BYTES / 2).contains(&place), "{place:x}");
    }

    #[test]
    fn it_lies_above_the_libraries_or_far_below_the_stack() {
        let stack = 0x7fff_ffff_e000;
        // With addresses randomised: above, and well below the stack.
        let start = start_for(0x7f80_0000_0000, stack);
        assert!((0x7f80_0000_0000 + 8 * GIB..=stack - 64 * GIB).contains(&start));
        // Not randomised; mapped upwards; statically linked.
        for library in [0x7fff_f7c0_0000, 0x2aaa_aaaa_0000, 0x40_0000] {
            let start = start_for(library, stack);
            assert!(start.abs_diff(library) > 512 * GIB && stack - start >= 1023 * GIB, "{start:x}");
        }
    }
}
