//! The interrupted thread as a signal handler sees it: registers and memory.

use std::{cell::RefCell, ops::Range};

use carom_base_insn::{Known, Memory, Registers};
use carom_base_sys::user_memory;

use crate::{modules::Modules, registry};

const TRAP_FLAG: u64 = carom_base_sys::signal::RFLAGS_TF as u64;

/// The machine context that the kernel saved; changes to it take effect when the handler returns.
pub struct Context<'a>(&'a mut libc::ucontext_t);

/// `REG_*` indices of `gregs` in hardware register order.
const HARDWARE_ORDER: [libc::c_int; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

/// Where the kernel describes the XSAVE area inside the legacy area (`struct _fpx_sw_bytes`).
const SW_BYTES: usize = 464;
/// Present where the area goes beyond the legacy 512 bytes.
const FP_XSTATE_MAGIC1: u32 = 0x4650_5853;
/// Bytes of the legacy FXSAVE area.
const FXSAVE_BYTES: usize = 512;
/// No processor's XSAVE area is larger (AMX: about 11 KiB).
const MOST_XSAVE_BYTES: usize = 16384;

impl<'a> Context<'a> {
    /// # Safety
    /// `ucontext` is what the kernel passed to the running handler, and nothing else refers to it.
    pub unsafe fn new(ucontext: *mut libc::c_void) -> Self {
        // SAFETY: the caller vouches for it.
        Self(unsafe { &mut *ucontext.cast::<libc::ucontext_t>() })
    }

    /// The kernel's structure.
    pub fn raw(&mut self) -> &mut libc::ucontext_t {
        self.0
    }

    /// Puts general registers, instruction pointer and flags in.
    pub fn put(&mut self, gpr: &[u64; 16], rip: u64, rflags: u64) {
        for (register, value) in HARDWARE_ORDER.into_iter().zip(gpr) {
            self.set(register, *value);
        }
        self.set(libc::REG_RIP, rip);
        self.set(libc::REG_EFL, rflags);
    }

    fn get(&self, register: libc::c_int) -> u64 {
        self.0.uc_mcontext.gregs[register as usize] as u64
    }

    fn set(&mut self, register: libc::c_int, value: u64) {
        self.0.uc_mcontext.gregs[register as usize] = value as i64;
    }

    /// Where the thread was interrupted.
    pub fn ip(&self) -> u64 {
        self.get(libc::REG_RIP)
    }

    /// The thread's stack pointer.
    pub fn sp(&self) -> u64 {
        self.get(libc::REG_RSP)
    }

    /// The thread's frame pointer, or whatever is in RBP.
    pub fn fp(&self) -> u64 {
        self.get(libc::REG_RBP)
    }

    /// RAX: after a system call, its result.
    pub fn result(&self) -> i64 {
        self.get(libc::REG_RAX) as i64
    }

    /// Makes the thread issue system call `number` again with the `syscall` instruction just behind it.
    pub fn repeat_call(&mut self, number: u32, instruction_bytes: u64) {
        self.set(libc::REG_RIP, self.ip().wrapping_sub(instruction_bytes));
        self.set(libc::REG_RAX, u64::from(number));
    }

    /// Makes the thread trap after every instruction. Not where [`Self::steps_itself`].
    pub fn begin_steps(&mut self) {
        self.set(libc::REG_EFL, self.get(libc::REG_EFL) | TRAP_FLAG);
        if let Some(thread) = registry::current() {
            thread.signals().begin_steps();
        }
    }

    /// Ends what [`Self::begin_steps`] began. Steps of the program's own go on.
    pub fn end_steps(&mut self) {
        if registry::current().is_some_and(|thread| thread.signals().end_steps()) {
            self.set(libc::REG_EFL, self.get(libc::REG_EFL) & !TRAP_FLAG);
        }
    }

    /// Whether the thread traps because of [`Self::begin_steps`].
    pub fn is_stepped(&self) -> bool {
        registry::current().is_some_and(|thread| thread.signals().is_stepped())
    }

    /// Whether the program has set the trap flag itself.
    pub fn steps_itself(&self) -> bool {
        self.get(libc::REG_EFL) & TRAP_FLAG != 0 && !self.is_stepped()
    }

    /// The signals that the thread blocks, as a kernel mask.
    pub fn mask(&self) -> u64 {
        // SAFETY: a `sigset_t` is larger than the kernel's 8 bytes and any bits are valid.
        unsafe { (&raw const self.0.uc_sigmask).cast::<u64>().read() }
    }

    /// Has the thread block the signals in `mask`, too, from when the handler returns.
    pub fn block(&mut self, mask: u64) {
        let place = (&raw mut self.0.uc_sigmask).cast::<u64>();
        // SAFETY: a `sigset_t` is larger than the kernel's 8 bytes and any bits are valid.
        let before = unsafe { place.read() };
        // SAFETY: as above.
        unsafe { place.write(before | mask) };
    }

    /// All registers, for the decoder.
    pub fn registers(&self, fs_base: u64) -> Registers<'_> {
        Registers {
            gpr: HARDWARE_ORDER.map(|register| self.get(register)),
            rip: self.ip(),
            rflags: self.get(libc::REG_EFL),
            fs_base,
            gs_base: None,
            xsave: self.xsave(),
            known: Known::ALL,
        }
    }

    fn xsave(&self) -> &[u8] {
        let area = self.0.uc_mcontext.fpregs.cast::<u8>().cast_const();
        if area.is_null() {
            return &[];
        }
        let word = |offset: usize| {
            // SAFETY: inside the legacy area, which is always there.
            let place = unsafe { area.add(offset) };
            // SAFETY: as above; any bits are an integer.
            unsafe { place.cast::<u32>().read_unaligned() }
        };
        // magic1, extended_size, xfeatures (8 bytes), xstate_size.
        let bytes =
            if word(SW_BYTES) == FP_XSTATE_MAGIC1 { word(SW_BYTES + 16) as usize } else { FXSAVE_BYTES };
        // SAFETY: the kernel saved that many bytes there.
        unsafe { std::slice::from_raw_parts(area, bytes.clamp(FXSAVE_BYTES, MOST_XSAVE_BYTES)) }
    }
}

/// The process's own memory, read without a fault: known mappings directly, everything else through the kernel, in
/// blocks that are kept as long as this value lives (microseconds, in a handler).
pub struct OwnMemory<'a> {
    modules: Option<&'a Modules>,
    /// The part of the thread's stack that is in use.
    stack: Range<u64>,
    /// Most need none.
    blocks: RefCell<Option<Blocks>>,
}

/// Bytes of a block. A read through the kernel costs about a microsecond whether it is 8 bytes or this many.
const BLOCK_BYTES: usize = 256;
/// Blocks kept.
const BLOCKS: usize = 8;

/// Blocks read lately, the oldest replaced first.
struct Blocks {
    addresses: [u64; BLOCKS],
    bytes: [[u8; BLOCK_BYTES]; BLOCKS],
    next: usize,
}

impl Blocks {
    /// No block begins here: its address is not a multiple of the block size.
    const NONE: u64 = 1;

    const fn new() -> Self {
        Self { addresses: [Self::NONE; BLOCKS], bytes: [[0; BLOCK_BYTES]; BLOCKS], next: 0 }
    }

    /// The block at `address`, a multiple of [`BLOCK_BYTES`], or `None` where it cannot be read.
    fn at(&mut self, address: u64) -> Option<&[u8; BLOCK_BYTES]> {
        if let Some(index) = self.addresses.iter().position(|&known| known == address) {
            return self.bytes.get(index);
        }
        let index = self.next % BLOCKS;
        self.next = self.next.wrapping_add(1);
        let bytes = self.bytes.get_mut(index)?;
        let whole = user_memory::copy(address, bytes) == BLOCK_BYTES;
        *self.addresses.get_mut(index)? = if whole { address } else { Self::NONE };
        whole.then_some(bytes)
    }
}

impl<'a> OwnMemory<'a> {
    /// `stack` runs from the stack pointer to the end of the thread's stack; empty where that is unknown.
    pub fn new(modules: Option<&'a Modules>, stack: Range<u64>) -> Self {
        Self { modules, stack, blocks: RefCell::new(None) }
    }

    /// An aligned or unaligned word.
    pub fn word(&self, address: u64) -> Option<u64> {
        if address >= self.stack.start && address.checked_add(8)? <= self.stack.end {
            // SAFETY: between the stack pointer and the end of the stack everything is mapped.
            return Some(unsafe { (address as *const u64).read_unaligned() });
        }
        let mut bytes = [0; 8];
        (Memory::read(self, address, &mut bytes) == 8).then(|| u64::from_le_bytes(bytes))
    }

    /// Through the blocks where one holds it all.
    fn read_block(&self, address: u64, buffer: &mut [u8]) -> Option<usize> {
        let offset = (address % BLOCK_BYTES as u64) as usize;
        let mut blocks = self.blocks.try_borrow_mut().ok()?;
        let block = blocks.get_or_insert_with(Blocks::new).at(address - offset as u64)?;
        buffer.copy_from_slice(block.get(offset..offset.checked_add(buffer.len())?)?);
        Some(buffer.len())
    }
}

impl Memory for OwnMemory<'_> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        let end = address.wrapping_add(buffer.len() as u64);
        if address >= self.stack.start && end <= self.stack.end && end > address {
            // SAFETY: between the stack pointer and the end of the stack everything is mapped.
            unsafe { std::ptr::copy_nonoverlapping(address as *const u8, buffer.as_mut_ptr(), buffer.len()) };
            return buffer.len();
        }
        if let Some(code) = self.modules.and_then(|modules| modules.code(address)) {
            let length = code.len().min(buffer.len());
            buffer[..length].copy_from_slice(&code[..length]);
            return length;
        }
        self.read_block(address, buffer).unwrap_or_else(|| user_memory::copy(address, buffer))
    }
}
