//! Asks the kernel for the mapping at an address.

use super::raw::{Errno, File, call};

/// A question about one mapping (`PROCMAP_QUERY` of Linux 6.11), and its answer: `struct procmap_query` of the kernel.
#[repr(C)]
#[derive(Default)]
pub struct MapQuery {
    size: u64,
    asks_for: u64,
    at: u64,
    /// First byte.
    pub start: u64,
    /// One past the last.
    pub end: u64,
    /// Rights, and whether it is shared.
    pub flags: u64,
    page_bytes: u64,
    /// Where the first byte lies in the file.
    pub offset: u64,
    /// The file.
    pub inode: u64,
    /// Its device.
    pub major: u32,
    /// Its device.
    pub minor: u32,
    name_size: u32,
    build_id_size: u32,
    name_at: u64,
    build_id_at: u64,
}

impl MapQuery {
    /// A question about the mapping at this address.
    pub fn at(addr: u64) -> Self {
        Self { size: size_of::<Self>() as u64, at: addr, ..Self::default() }
    }

    /// Asks `/proc/self/maps`.
    ///
    /// # Errors
    /// ENOENT where nothing is mapped, ENOTTY where the kernel does not know the question.
    pub fn ask(&mut self, maps: &File) -> Result<(), Errno> {
        /// `_IOWR('f', 17, struct procmap_query)`.
        const PROCMAP_QUERY: u64 = 0xc068_6611;
        let arguments = [maps.number() as u64, PROCMAP_QUERY, (&raw mut *self) as u64, 0, 0, 0];
        // SAFETY: an open file, and a structure of the size that it states itself.
        unsafe { call(libc::SYS_ioctl, arguments) }.map(drop)
    }
}

// The size that the request's number contains.
const _: () = assert!(size_of::<MapQuery>() == 104);
