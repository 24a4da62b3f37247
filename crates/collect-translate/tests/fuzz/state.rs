//! The state before and after a run: registers, flags, vector and x87 state, memory.

use std::arch::x86_64::__cpuid_count;

use crate::{
    place::{AREA_BYTES, DATA, MXCSR_VALUES, STACK_START, X87_CONTROL_VALUES},
    random::Random,
};

/// x87, SSE, AVX and AVX-512 state (Intel SDM volume 1, 13.1).
pub const COMPONENTS: u32 = 0b1110_0111;
pub const XSAVE_BYTES: usize = 4096;
/// The offsets in the legacy region of an xsave area of the parts that are compared or set (Intel SDM volume 1, table
/// 13-1).
const MXCSR: usize = 24;
const X87_REGISTERS: usize = 32;
const XMM: usize = 160;
const HEADER: usize = 512;
const HEADER_BYTES: usize = 64;
/// The address and the operand of the last x87 instruction, with its opcode; in the cache the address is different.
pub const LAST_X87: std::ops::Range<usize> = 6..24;

/// Arithmetic flags (Intel SDM volume 1, 3.4.3).
const FLAGS_AT_START: u64 = 0x8d5;

#[repr(C, align(64))]
#[derive(Clone)]
pub struct Vectors(pub [u8; XSAVE_BYTES]);

/// The state before or after a run.
#[derive(Clone)]
pub struct State {
    pub gprs: [u64; 16],
    pub flags: u64,
    pub vectors: Box<Vectors>,
    pub memory: Vec<u8>,
}

impl Vectors {
    pub const ZERO: Self = Self([0; XSAVE_BYTES]);

    /// The result of xsave if no component was touched: zeroes, except for the x87 control word.
    pub fn first() -> Self {
        let mut first = Self::ZERO;
        first.0[0..2].copy_from_slice(&0x37fu16.to_le_bytes());
        first
    }

    /// Without the parts that may differ: the address of the last x87 instruction, and which components are in their
    /// initial state, which depends on the processor. (Those are filled in, see [`Self::first`].)
    pub fn comparable(mut self) -> Box<Self> {
        self.0[LAST_X87].fill(0);
        self.0[HEADER..HEADER + HEADER_BYTES].fill(0);
        Box::new(self)
    }
}

impl State {
    /// Random, except for the stack pointer; exceptions are masked, and the trap flag is clear.
    pub fn random(random: &mut Random) -> Self {
        let mut gprs = [0; 16].map(|_: u64| random.number());
        gprs[4] = STACK_START;
        let mut vectors = FILLINGS.with(|fillings| fillings[random.below(FILLINGS_COUNT) as usize].0.clone());
        let memory = FILLINGS.with(|fillings| fillings[random.below(FILLINGS_COUNT) as usize].1.clone());
        let area = &mut vectors.0;
        area[0..2].copy_from_slice(&random.pick(&X87_CONTROL_VALUES).to_le_bytes());
        area[4] = random.word() as u8;
        area[MXCSR..MXCSR + 4].copy_from_slice(&random.pick(&MXCSR_VALUES).to_le_bytes());
        Self { gprs, flags: random.word() & FLAGS_AT_START | 2, vectors, memory }
    }

    /// The same with some exceptions of SSE and of the x87 unmasked.
    pub fn unmask(mut self, random: &mut Random) -> Self {
        const SSE_MASKS: u32 = 0x1f80;
        const X87_MASKS: u8 = 0x3f;
        let area = &mut self.vectors.0;
        let unmasked = if random.chance(70) { random.word() as u32 & SSE_MASKS } else { 0 };
        for (byte, unmasked) in area[MXCSR..].iter_mut().zip(unmasked.to_le_bytes()) {
            *byte &= !unmasked;
        }
        area[0] &= !(if random.chance(50) { random.word() as u8 & X87_MASKS } else { 0 });
        self
    }

    /// The differences, and how they look.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let mut found = Vec::new();
        for (number, (one, two)) in self.gprs.iter().zip(&other.gprs).enumerate() {
            if one != two {
                found.push(format!(
                    "{:?}: {one:#x} natively, {two:#x} translated",
                    crate::sequence::GPRS[number]
                ));
            }
        }
        if self.flags != other.flags {
            found.push(format!("flags: {:#x} natively, {:#x} translated", self.flags, other.flags));
        }
        let first = |one: &[u8], two: &[u8]| {
            (one != two).then(|| one.iter().zip(two).position(|(one, two)| one != two).unwrap_or_default())
        };
        if let Some(at) = first(&self.vectors.0, &other.vectors.0) {
            found.push(format!(
                "xsave area at byte {at}: {:#x} and {:#x}",
                self.vectors.0[at], other.vectors.0[at]
            ));
        }
        if let Some(at) = first(&self.memory, &other.memory) {
            let address = DATA + at as u64;
            found.push(format!("memory at {address:#x}: {:#x} and {:#x}", self.memory[at], other.memory[at]));
        }
        found
    }
}

const FILLINGS_COUNT: u64 = 64;

thread_local! {
    /// Initial vector registers and memory. Made once, because they are many words.
    static FILLINGS: Vec<(Box<Vectors>, Vec<u8>)> = (0..FILLINGS_COUNT).map(filling).collect();
}

fn filling(seed: u64) -> (Box<Vectors>, Vec<u8>) {
    let mut random = Random::of(seed, FILLINGS_COUNT);
    let mut vectors = Box::new(Vectors([0; XSAVE_BYTES]));
    let area = &mut vectors.0;
    for register in 0..8 {
        let number = (random.number() as i64 as f64).to_bits();
        area[X87_REGISTERS + 16 * register..][..8].copy_from_slice(&(number | 1 << 63).to_le_bytes());
        area[X87_REGISTERS + 16 * register + 8..][..2]
            .copy_from_slice(&(0x3fff + random.below(64) as u16).to_le_bytes());
    }
    let mut fill = |bytes: &mut [u8]| {
        for word in bytes.chunks_exact_mut(8) {
            // Half of the lanes are floats of moderate size: most instructions do nothing interesting with others.
            let float = random.chance(50);
            let value =
                if float { (random.below(1 << 20) as f64 / 1024.0).to_bits() } else { random.number() };
            word.copy_from_slice(&value.to_le_bytes());
        }
    };
    fill(&mut area[XMM..XMM + 256]);
    for component in [2, 5, 6, 7] {
        let (start, bytes) = component_place(component);
        fill(&mut area[start..start + bytes]);
    }
    area[HEADER..HEADER + 8].copy_from_slice(&u64::from(present()).to_le_bytes());
    let mut memory = vec![0; AREA_BYTES as usize];
    fill(&mut memory);
    (vectors, memory)
}

/// Offset and size of a component in the standard format.
fn component_place(component: u32) -> (usize, usize) {
    let leaf = __cpuid_count(0xd, component);
    if present() >> component & 1 == 0 { (0, 0) } else { (leaf.ebx as usize, leaf.eax as usize) }
}

fn present() -> u32 {
    __cpuid_count(0xd, 0).eax & COMPONENTS
}
