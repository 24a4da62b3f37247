//! Arenas: where translated code lies. Each is a file in memory that is mapped twice: executable near the program's
//! code, writable elsewhere. So no page is ever both.

use std::{arch::asm, ffi::CStr, ops::Range};

use super::{
    FLOOR, Lanes, MemoryError, PAGE_BYTES, Prefer, REACH, USER_END, Windows,
    diagnosis::explain,
    reservation::{Reservation, Wish},
    sys::{self, File},
};

/// Size of an arena: hot code, then cold (exits, literals).
pub const ARENA_BYTES: u64 = 16 << 20;

/// The part for hot code. In large programs there were 1.4 to 2.1 bytes of cold code for each byte of it.
const HOT_BYTES: usize = 6 << 20;

/// The part for cold code.
const COLD_BYTES: usize = ARENA_BYTES as usize - HOT_BYTES;

/// The largest distance of code from the targets of its operands relative to RIP: less than 2 GiB by two arenas.
const CODE_REACH: u64 = REACH - (32 << 20);

/// The steps in which memory is allocated as code grows.
const STEP_BYTES: usize = 64 << 10;

/// The first step in a forked child, which may end soon; each step is twice as long as the one before.
const FIRST_STEP_IN_CHILD: usize = PAGE_BYTES as usize;

/// The alignment, so that page tables are filled well.
const ALIGN: u64 = 2 << 20;

const WHAT: &str = "translated code";

const FILE_NAME: &CStr = c"carom-code";

/// How the names of files with translated code begin in the kernel's list of mappings (proc(5)).
pub const CODE_NAME: &[u8] = b"/memfd:carom-code";

/// Out of reach of 32-bit addresses of either sign.
const FAR: Range<u64> = 2 * REACH..USER_END;

/// An arena of translated code with the counters of its blocks. Not synchronised: its owner holds a lock.
#[derive(Debug)]
pub struct Arena {
    code: Reservation,
    alias: Reservation,
    windows: Windows,
    hot: Part,
    cold: Part,
}

/// One part's place in the arena, and its growth, in bytes from the start of the part.
#[derive(Clone, Copy, Debug)]
struct Part {
    start: usize,
    size: usize,
    used: usize,
    /// Bytes with memory behind them.
    populated: usize,
    /// The length of the next step.
    step: usize,
}

impl Part {
    const HOT: Self = Self { start: 0, size: HOT_BYTES, used: 0, populated: 0, step: STEP_BYTES };
    const COLD: Self = Self { start: HOT_BYTES, size: COLD_BYTES, ..Self::HOT };

    const fn room(&self) -> usize {
        self.size - self.used
    }

    /// Allocates `bytes` more; nothing where there is no memory.
    fn grow(&mut self, alias: &Reservation, bytes: usize) -> Result<(), MemoryError> {
        let used = self.used + bytes;
        if used > self.populated {
            let populated = used.next_multiple_of(self.step).min(self.size);
            alias.populate((self.start + self.populated) as u64..(self.start + populated) as u64)?;
            (self.populated, self.step) = (populated, (2 * self.step).min(STEP_BYTES));
        }
        self.used = used;
        Ok(())
    }
}

/// The code of an arena at one moment, for a child process.
#[derive(Debug)]
pub struct ArenaCopy(File);

impl Arena {
    /// Makes an arena within reach of 32-bit displacements to and from every byte of `code`: a module with its data,
    /// which RIP-relative operands may name.
    ///
    /// # Errors
    /// No hole near `code`, executable memory denied, limits on memory: [`MemoryError`].
    pub fn new(code: Range<u64>, lanes: &mut Lanes) -> Result<Self, MemoryError> {
        let within = code_within(&code);
        // Rather above the libraries than below, where the kernel places the next mappings.
        let above = lanes.above_libraries().filter(|above| within.contains(above));
        Self::within(within, Prefer::Near(above.unwrap_or(code.start)), lanes)
    }

    /// Makes an arena far from its original code, whose operands relative to RIP must all name something below 2 GiB,
    /// which can be named by its address from anywhere. `near`: an arena within whose reach the new one should be,
    /// for jumps between the two.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn far(near: Option<u64>, lanes: &mut Lanes) -> Result<Self, MemoryError> {
        Self::within(FAR, near.map_or(Prefer::Low, Prefer::Near), lanes)
    }

    fn within(within: Range<u64>, prefer: Prefer, lanes: &mut Lanes) -> Result<Self, MemoryError> {
        let file = memory_file(FILE_NAME, ARENA_BYTES)?;
        let mut alias = Reservation::anywhere(WHAT, ARENA_BYTES)?;
        map_alias(&mut alias, &file)?;
        let wish = Wish { what: WHAT, bytes: ARENA_BYTES, align: ALIGN, within, prefer };
        let mut code = Reservation::find(&wish)?;
        map_code(&mut code, &file)?;
        let windows = lanes.open_windows(&code.range())?;
        Ok(Self { code, alias, windows, hot: Part::HOT, cold: Part::COLD })
    }

    /// Whether it lies outside of the range that position-dependent code and its heap usually need.
    pub fn is_far(&self) -> bool {
        FAR.contains(&self.range().start)
    }

    /// Unmaps the pages of the writable alias, which come back when they are written.
    pub fn rest(&self) {
        self.alias.unmap_pages();
    }

    /// Forgets all code and returns its memory to the kernel. No thread may run it any more.
    pub fn clear(&mut self) {
        let gone = self.alias.punch(0..ARENA_BYTES);
        for part in [&mut self.hot, &mut self.cold] {
            *part = Part { used: 0, populated: if gone { 0 } else { part.populated }, ..*part };
        }
    }

    /// Its execution addresses.
    pub fn range(&self) -> Range<u64> {
        self.code.range()
    }

    /// Whether this is one of its execution addresses.
    pub fn contains(&self, pc: u64) -> bool {
        self.code.range().contains(&pc)
    }

    /// Whether every byte of `code` is in reach from here.
    pub fn reaches(&self, code: &Range<u64>) -> bool {
        let within = code_within(code);
        within.start <= self.range().start && self.range().end <= within.end
    }

    /// Whether this is an execution address of cold code.
    pub fn is_cold(&self, pc: u64) -> bool {
        self.contains(pc) && pc >= self.code.range().start + HOT_BYTES as u64
    }

    /// The counters of its blocks.
    pub fn windows(&self) -> Windows {
        self.windows
    }

    /// The execution address of the next hot code.
    pub fn hot(&self) -> u64 {
        self.code.range().start + self.hot.used as u64
    }

    /// The execution address of the next cold code.
    pub fn cold(&self) -> u64 {
        self.code.range().start + (HOT_BYTES + self.cold.used) as u64
    }

    /// Whether there is room for this many more bytes of each part.
    pub fn room(&self, hot: usize, cold: usize) -> bool {
        hot <= self.hot.room() && cold <= self.cold.room()
    }

    /// Ensures that this many more bytes of each part can be allocated without asking the system for memory.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate).
    pub fn make_ready(&mut self, hot: usize, cold: usize) -> Result<(), MemoryError> {
        let used = (self.hot.used, self.cold.used);
        self.allocate(hot, cold)?;
        (self.hot.used, self.cold.used) = used;
        Ok(())
    }

    /// Allocates bytes from [`hot`](Self::hot) and from [`cold`](Self::cold) on, to be written next.
    ///
    /// # Errors
    /// [`MemoryError::ArenaFull`], or no memory; nothing is allocated then.
    pub fn allocate(&mut self, hot: usize, cold: usize) -> Result<(), MemoryError> {
        if !self.room(hot, cold) {
            return Err(MemoryError::ArenaFull { hot, cold });
        }
        self.cold.grow(&self.alias, cold)?;
        self.hot.grow(&self.alias, hot).inspect_err(|_| self.cold.used -= cold)
    }

    /// Writes allocated code that nothing executes yet, at an execution address.
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`].
    pub fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        let place = self.alias_of(at, bytes.len())?;
        // SAFETY: allocated bytes of the writable alias; `&mut self` excludes other writers and `read`'s slices.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len()) };
        Ok(())
    }

    /// The allocated code at an execution address.
    pub fn read(&self, at: u64, bytes: usize) -> Result<&[u8], MemoryError> {
        self.alias_of(at, bytes)?;
        // At the execution address: the pages of the alias need not be there.
        let place = std::ptr::with_exposed_provenance(at as usize);
        // SAFETY: allocated bytes, changed through `&mut self` only.
        Ok(unsafe { std::slice::from_raw_parts(place, bytes) })
    }

    /// Replaces four bytes of code that other threads may be executing.
    ///
    /// They see the old or the new bytes, never a mixture: a store within an aligned quadword is atomic on every
    /// x86-64 (AMD64 Architecture Programmer's Manual, volume 2, section 7.3.2; Intel promises a whole cache line).
    ///
    /// # Errors
    /// [`MemoryError::Torn`] where the bytes cross a boundary of 8, [`MemoryError::NotAllocated`].
    pub fn patch_u32(&mut self, at: u64, value: u32) -> Result<(), MemoryError> {
        let place = self.patch_place(at, 4)?;
        // SAFETY: allocated bytes. The compiler has no unaligned atomic store; this is one, and orders as x86 does:
        // code written before is visible before.
        unsafe {
            asm!("mov dword ptr [{}], {:e}", in(reg) place, in(reg) value, options(nostack, preserves_flags));
        };
        Ok(())
    }

    /// Replaces whole instructions, which other threads may be executing, by others of the same lengths. They see the old or the
    /// new bytes, as in [`patch_u32`](Self::patch_u32).
    ///
    /// # Errors
    /// As there.
    pub fn patch_within_word(&mut self, at: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        self.patch_place(at, bytes.len())?;
        let start = at - at % 8;
        let mut word = [0; 8];
        word.copy_from_slice(self.read(start, 8)?);
        word.iter_mut().skip((at - start) as usize).zip(bytes).for_each(|(old, new)| *old = *new);
        let (place, word) = (self.patch_place(start, 8)?, u64::from_le_bytes(word));
        // SAFETY: as in `patch_u32`; an aligned quadword, the rest of which is written as it was read. `&mut self` excludes other
        // writers.
        unsafe {
            asm!("mov qword ptr [{}], {}", in(reg) place, in(reg) word, options(nostack, preserves_flags));
        };
        Ok(())
    }

    /// Replaces one byte of code that other threads may be executing.
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`].
    #[cfg(test)]
    pub fn patch_u8(&mut self, at: u64, value: u8) -> Result<(), MemoryError> {
        let place = self.patch_place(at, 1)?;
        // SAFETY: as in `patch_u32`.
        unsafe {
            asm!("mov byte ptr [{}], {}", in(reg) place, in(reg_byte) value, options(nostack, preserves_flags));
        };
        Ok(())
    }

    /// Copies the code, in the parent, before it forks.
    /// Copies the code, in the parent, before a fork.
    ///
    /// The mappings of an arena are shared, so a child would share its code with the parent, and each would run what
    /// the other writes. The copy is made before the fork, under the lock that serialises translation, which is held
    /// until the fork returns. A copy made in the child could have a jump that the parent has linked meanwhile to
    /// code that the copy lacks. The parent drops the copy afterwards.
    ///
    /// # Errors
    /// As [`new`](Self::new). The child must not translate then.
    pub fn copy(&self) -> Result<ArenaCopy, MemoryError> {
        let file = memory_file(FILE_NAME, ARENA_BYTES)?;
        for part in [self.hot, self.cold] {
            let at = part.start as u64;
            let code = self.read(self.range().start + at, part.used)?;
            file.write_at(code, at).map_err(|errno| explain(WHAT, "pwrite", part.used as u64, errno))?;
        }
        Ok(ArenaCopy(file))
    }

    /// Replaces the shared code by a copy, in the child of a fork, before the child runs any of it.
    ///
    /// # Errors
    /// The kernel refuses the mappings. The code must not be run then, because it may still be the parent's.
    pub fn after_fork(&mut self, copy: ArenaCopy) -> Result<(), MemoryError> {
        map_code(&mut self.code, &copy.0)?;
        map_alias(&mut self.alias, &copy.0)?;
        for part in [&mut self.hot, &mut self.cold] {
            part.populated = part.used.next_multiple_of(PAGE_BYTES as usize);
            part.step = FIRST_STEP_IN_CHILD;
        }
        Ok(())
    }

    fn patch_place(&mut self, at: u64, bytes: usize) -> Result<*mut u8, MemoryError> {
        if at % 8 + bytes as u64 > 8 {
            return Err(MemoryError::Torn { at, bytes });
        }
        self.alias_of(at, bytes)
    }

    /// The writable address of allocated code.
    fn alias_of(&self, at: u64, bytes: usize) -> Result<*mut u8, MemoryError> {
        let outside = MemoryError::NotAllocated { at, bytes };
        let Some(offset) = at.checked_sub(self.code.range().start) else { return Err(outside) };
        let end = offset.saturating_add(bytes as u64);
        let within = |part: Part| part.start as u64 <= offset && end <= (part.start + part.used) as u64;
        if !within(self.hot) && !within(self.cold) {
            return Err(outside);
        }
        let address = self.alias.range().start + offset;
        Ok(std::ptr::with_exposed_provenance_mut(address as usize))
    }
}

/// Where an arena may lie so that every byte of `code` is in reach of every byte of the arena.
fn code_within(code: &Range<u64>) -> Range<u64> {
    let low = code.end.saturating_sub(CODE_REACH).max(FLOOR);
    low..code.start.saturating_add(CODE_REACH).min(USER_END)
}

fn map_code(place: &mut Reservation, file: &File) -> Result<(), MemoryError> {
    place.map_shared(file, libc::PROT_READ | libc::PROT_EXEC).map_err(|errno| match errno {
        libc::EACCES | libc::EPERM => MemoryError::ExecutionDenied { errno },
        errno => explain(WHAT, "mmap", ARENA_BYTES, errno),
    })
}

fn map_alias(place: &mut Reservation, file: &File) -> Result<(), MemoryError> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    place.map_shared(file, protection).map_err(|errno| explain(WHAT, "mmap", ARENA_BYTES, errno))
}

/// A file in memory.
pub(super) fn memory_file(name: &CStr, bytes: u64) -> Result<File, MemoryError> {
    if let Some(limit) = sys::limit(libc::RLIMIT_FSIZE).filter(|&limit| limit < bytes) {
        return Err(MemoryError::FileSizeLimit { limit });
    }
    let make = |flags| File::in_memory(name, flags, bytes);
    // "Not executable" concerns execve, not mmap; so this passes where vm.memfd_noexec is 2. Linux before 6.3 does
    // not know it.
    let flags = libc::MFD_CLOEXEC | libc::MFD_NOEXEC_SEAL;
    let file = make(flags).or_else(|errno| match errno {
        libc::EINVAL => make(libc::MFD_CLOEXEC),
        errno => Err(errno),
    });
    file.map_err(|errno| match errno {
        libc::EACCES | libc::EPERM | libc::ENOSYS => MemoryError::NoMemoryFile { errno },
        errno => explain(WHAT, "memfd_create", bytes, errno),
    })
}

#[cfg(test)]
mod tests;
