//! Memory that nothing has touched yet, and that shares its pages with nothing else.

use std::io;
use std::sync::atomic::AtomicU8;

use crate::error::Error;

/// Maps this many zeroed bytes, from the start of a page. They stay mapped until the process ends. They are atomic
/// because assembly may write them in several threads.
///
/// # Errors
/// The kernel has no room for them.
pub fn bytes(bytes: usize) -> Result<&'static [AtomicU8], Error> {
    if bytes == 0 {
        return Ok(&[]);
    }
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping, of no file, wherever the kernel likes.
    let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0) };
    if address == libc::MAP_FAILED {
        return Err(Error::Map { bytes, source: io::Error::last_os_error() });
    }
    // SAFETY: readable, writable, zeroed, `bytes` long, known to nobody else and never unmapped.
    Ok(unsafe { std::slice::from_raw_parts(address.cast(), bytes) })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    #[test]
    fn pages_are_zero_and_whole() {
        const PAGE_BYTES: usize = 4096;
        let (first, second) = (bytes(100).unwrap(), bytes(PAGE_BYTES + 1).unwrap());
        for (memory, length) in [(first, 100), (second, PAGE_BYTES + 1)] {
            assert_eq!((memory.len(), memory.as_ptr() as usize % PAGE_BYTES), (length, 0));
            assert!(memory.iter().all(|byte| byte.load(Relaxed) == 0));
        }
        assert!(bytes(0).unwrap().is_empty());
    }

    #[test]
    fn too_much_is_refused() {
        // More than the 2^47 bytes of a process.
        assert!(matches!(bytes(1 << 48), Err(Error::Map { bytes, .. }) if bytes == 1 << 48));
    }
}
