//! Nothing is allocated after construction, nothing panics and nothing loops: over real libraries, over
//! every opcode there is room for, and over random bytes.
//!
//! One test function only: the counter is the process's.

#[path = "support/bench.rs"]
mod bench;
#[path = "support/encodings.rs"]
mod encodings;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use bench::registers;
use carom_base_insn::{Decoder, MAX_INSTRUCTION_BYTES, Memory, Registers};
use object::{Object, ObjectSection, SectionKind};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) };
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Bytes of each library that are looked at.
const LIBRARY_BYTES: usize = 300_000;

#[test]
fn nothing_allocates_after_construction() {
    let mut libraries: Vec<Vec<u8>> = LIBRARIES.iter().filter_map(|path| text_of(path)).collect();
    libraries.dedup();
    assert!(!libraries.is_empty(), "no library to decode");
    let mut decoder = Decoder::new();
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let mut instructions = 0u64;
    for text in &libraries {
        instructions += decode_all(&mut decoder, text);
    }
    let encodings = every_encoding(&mut decoder);
    let random = random_bytes(&mut decoder);
    let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
    assert_eq!(allocations, 0);
    println!("{instructions} instructions, {encodings} encodings, {random} random starts: none allocates");
    assert!(instructions > 20_000);
}

const LIBRARIES: [&str; 6] = [
    "/usr/lib/x86_64-linux-gnu/libc.so.6",
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/lib64/libc.so.6",
    "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
    "/usr/lib/x86_64-linux-gnu/libavcodec.so.59",
    "/usr/lib/x86_64-linux-gnu/libavcodec.so.60",
];

fn text_of(path: &str) -> Option<Vec<u8>> {
    let data = std::fs::read(path).ok()?;
    let file = object::File::parse(&*data).ok()?;
    let text = file.sections().filter(|section| section.kind() == SectionKind::Text);
    let text = text.max_by_key(ObjectSection::size)?.data().ok()?;
    // From the middle: generated and vector code rather than start-up.
    let start = text.len().saturating_sub(LIBRARY_BYTES) / 2;
    Some(text.iter().skip(start).take(LIBRARY_BYTES).copied().collect())
}

const BASE: u64 = 0x40_0000;

/// Code at [`BASE`]; all other memory reads as 0x41s.
struct Text<'a>(&'a [u8]);

impl Memory for Text<'_> {
    fn read(&self, addr: u64, buf: &mut [u8]) -> usize {
        let offset = addr.wrapping_sub(BASE) as usize;
        match self.0.get(offset..) {
            Some(rest) if !rest.is_empty() => {
                let length = rest.len().min(buf.len());
                buf[..length].copy_from_slice(&rest[..length]);
                length
            }
            _ => {
                buf.fill(0x41);
                buf.len()
            }
        }
    }
}

/// Everything there is to ask about the instruction at `ip`.
fn ask(decoder: &mut Decoder, ip: u64, mem: &Text) {
    let regs = Registers { rip: ip, ..registers() };
    let operands = decoder.operands_before(&regs, mem);
    assert!(operands.skip().is_some() || !operands.accesses().is_empty());
    decoder.operands_after(&regs, ip, mem);
    decoder.walk(&regs, 3, mem);
    let mut bytes = [0; MAX_INSTRUCTION_BYTES];
    let length = mem.read(ip, &mut bytes);
    let mut reader = iced_x86::Decoder::with_ip(64, &bytes[..length], ip, iced_x86::DecoderOptions::NONE);
    decoder.statics(&reader.decode());
}

fn decode_all(decoder: &mut Decoder, text: &[u8]) -> u64 {
    let mem = Text(text);
    let mut count = 0;
    let mut at = BASE;
    let reader = iced_x86::Decoder::with_ip(64, text, BASE, iced_x86::DecoderOptions::NONE);
    for instruction in reader {
        ask(decoder, instruction.ip(), &mem);
        let function = BASE + (instruction.ip() - BASE) / 4096 * 4096;
        let _ = decoder.predecessor(instruction.ip(), Some(function), &mem);
        count += 1;
        at = instruction.next_ip();
    }
    assert!(at >= BASE + text.len() as u64 - 15);
    count
}

fn every_encoding(decoder: &mut Decoder) -> u64 {
    let mut count = 0;
    encodings::each(BASE, |_, code| {
        ask(decoder, BASE, &Text(code));
        count += 1;
    });
    count
}

fn random_bytes(decoder: &mut Decoder) -> u64 {
    let mut state = 0x853c_49e6_748f_ea9bu64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    for round in 0..2000u64 {
        let mut code = [0u8; 64];
        code.fill_with(&mut next);
        let mem = Text(&code);
        let ip = BASE + round % 64;
        ask(decoder, ip, &mem);
        let mut regs = registers();
        regs.gpr.fill_with(|| u64::from_le_bytes(std::array::from_fn(|_| next())));
        regs.rip = ip;
        regs.rflags = u64::from(next()) << 4 | u64::from(next());
        decoder.walk(&regs, 1000, &mem);
        decoder.forget_code();
        let _ = decoder.predecessor(ip, Some(BASE), &mem);
        let _ = decoder.predecessor(ip, None, &mem);
        let _ = decoder.predecessor(u64::MAX, Some(u64::MAX - 100), &mem);
        let _ = decoder.predecessor(1, Some(0), &mem);
    }
    2000
}
