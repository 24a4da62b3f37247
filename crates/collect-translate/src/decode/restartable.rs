//! Restartable sequences (rseq(2)): code that the kernel restarts where it was interrupted, so that it is atomic with
//! respect to its processor.
//!
//! The kernel knows a sequence by its original addresses, and would not recognise a thread inside a translation. So
//! sequences run natively, from the instruction on that names their descriptor: after the instruction that publishes
//! it there must be no passage through the dispatcher, where the kernel would consider the sequence left. The naming
//! instruction is found before it runs. A descriptor that is named elsewhere, or by no instruction, is found at the
//! thread's next exit, in the word where the thread has published it. From then on that sequence runs natively from
//! its start.

use std::{arch::asm, ffi::CStr, ops::Range, sync::OnceLock};

use iced_x86::{Code, Instruction};

use carom_base_sys::loader;

use super::source;
use crate::memory::{Regions, program};

/// Where in a thread's area of rseq(2) the address of a descriptor is (Linux, include/uapi/linux/rseq.h).
const PUBLISHED: u64 = 8;

/// The alignment of descriptors.
const ALIGNMENT: u64 = 32;

/// Nothing is mapped below this address (Linux, vm.mmap_min_addr).
const LOWEST: u64 = 1 << 16;

/// Bytes from the instruction that names a descriptor to the sequence. In between is one more instruction, which
/// publishes it, in the same piece of assembly.
const MOST_PREPARATION: u64 = 64;

/// Sequences that are longer would hardly ever end.
const MOST_BYTES: u64 = 1 << 16;

/// The word in front of the abort handler: the one that the C library, which registers the program's threads, uses.
const SIGNATURE: u32 = 0x5305_3053;

/// `struct rseq_cs`: version and flags, start, length, abort handler.
pub type Descriptor = [u64; 4];

/// The sequences that are known.
#[derive(Debug, Default)]
pub struct Sequences {
    /// Sorted by start.
    known: Vec<Range<u64>>,
    /// Those that may have been translated before they were known.
    fresh: Vec<Range<u64>>,
    /// The descriptor that was published last.
    published: u64,
    /// Places that held no descriptor when they were looked at, which asks the kernel: instructions name a few of them again
    /// and again. One that is made later is found when it is published.
    others: Others,
}

/// Places by their lowest bits.
#[derive(Debug)]
struct Others([u64; 256]);

impl Default for Others {
    fn default() -> Self {
        Self([0; 256])
    }
}

impl Others {
    fn entry(&mut self, place: u64) -> &mut u64 {
        let Self(places) = self;
        let index = (place / ALIGNMENT) as usize % places.len();
        &mut places[index]
    }
}

impl Sequences {
    /// Whether the instruction at `pc` is part of a sequence.
    pub fn contains(&self, pc: u64) -> bool {
        self.known.iter().any(|range| range.contains(&pc))
    }

    /// The start of the first sequence behind `pc`.
    pub fn next_behind(&self, pc: u64) -> u64 {
        let behind = self.known.partition_point(|range| range.start <= pc);
        self.known.get(behind).map_or(u64::MAX, |range| range.start)
    }

    /// The code at these addresses may have changed.
    pub fn forget(&mut self, changed: &Range<u64>) {
        self.known.retain(|range| range.end <= changed.start || changed.end <= range.start);
        self.published = 0;
        self.others = Others::default();
    }

    /// Notes the sequences whose descriptors these instructions name.
    pub fn find<'i>(&mut self, regions: &Regions, instructions: impl Iterator<Item = &'i Instruction>) {
        for instruction in instructions {
            if let Some(place) = named(instruction)
                && *self.others.entry(place) != place
                && !self.note(regions, place, instruction.ip())
            {
                *self.others.entry(place) = place;
            }
        }
    }

    /// Notes the sequence that the calling thread has published in its area. Returns whether it differs from the last
    /// one.
    pub fn find_published(&mut self, regions: &Regions, area: u64) -> bool {
        let published = std::ptr::with_exposed_provenance::<u64>((area + PUBLISHED) as usize);
        // SAFETY: the C library keeps the area with the thread's own variables, which are still there (`system::mapping`).
        // The kernel may clear the word.
        let place = unsafe { published.read_volatile() };
        let is_another = place != 0 && place != self.published;
        if is_another {
            self.published = place;
            self.note(regions, place, 0);
        }
        is_another
    }

    /// Takes the sequences that may have been translated before they were known.
    pub fn take_fresh(&mut self) -> Vec<Range<u64>> {
        std::mem::take(&mut self.fresh)
    }

    /// Notes the sequence whose descriptor lies at `place`, if there is one, and the code in front of it from `from`
    /// on, if it is prepared there. Returns whether there is one.
    fn note(&mut self, regions: &Regions, place: u64, from: u64) -> bool {
        if place.is_multiple_of(ALIGNMENT)
            && let Some(descriptor) = program::read::<Descriptor>(place)
            && let Some(Range { start, end }) = sequence(regions, descriptor)
        {
            let prepares = (start.saturating_sub(MOST_PREPARATION)..start).contains(&from);
            self.add(if prepares { from } else { start }..end);
            return true;
        }
        false
    }

    fn add(&mut self, range: Range<u64>) {
        if !self.known.contains(&range) {
            let at = self.known.partition_point(|other| other.start < range.start);
            self.known.insert(at, range.clone());
            self.fresh.push(range);
        }
    }
}

/// The area that the C library (2.35 and newer) has registered for the calling thread; 0 without one.
pub fn area() -> u64 {
    static OFFSET: OnceLock<Option<i64>> = OnceLock::new();
    let offset = OFFSET.get_or_init(|| {
        let size = symbol::<u32>(c"__rseq_size")?;
        symbol::<isize>(c"__rseq_offset").filter(|_| size != 0).map(|offset| offset as i64)
    });
    let fs_base: u64;
    // SAFETY: reads a register; that the instruction is there was checked at the start.
    unsafe { asm!("rdfsbase {}", out(reg) fs_base, options(nostack, nomem, preserves_flags)) };
    offset.map_or(0, |offset| fs_base.wrapping_add_signed(offset))
}

/// The value of a variable of the C library, where it has one of that name.
fn symbol<T: Copy>(name: &CStr) -> Option<T> {
    // SAFETY: a variable of that type (sys/rseq.h).
    loader::function(name).map(|place| unsafe { place.cast::<T>().read() })
}

/// The address that an instruction names, if it may be a descriptor's.
fn named(instruction: &Instruction) -> Option<u64> {
    let place = match instruction.code() {
        Code::Lea_r64_m | Code::Lea_r32_m if instruction.is_ip_rel_memory_operand() => {
            instruction.ip_rel_memory_address()
        }
        Code::Mov_r64_imm64 | Code::Mov_r32_imm32 | Code::Mov_rm64_imm32 | Code::Mov_rm32_imm32 => {
            instruction.immediate(1)
        }
        _ => return None,
    };
    (place >= LOWEST && place.is_multiple_of(ALIGNMENT)).then_some(place)
}

/// The code that a descriptor describes; `None` where it is not a descriptor.
fn sequence(regions: &Regions, [version_and_flags, start, bytes, abort]: Descriptor) -> Option<Range<u64>> {
    let is_sound = version_and_flags as u32 == 0 && (1..MOST_BYTES).contains(&bytes);
    let range = start..start.checked_add(bytes)?;
    if !is_sound || range.contains(&abort) {
        return None;
    }
    regions.contains(start).filter(|code| range.end <= code.end)?;
    let signature = source::original(regions, abort.checked_sub(size_of::<u32>() as u64)?)?;
    signature.starts_with(&SIGNATURE.to_le_bytes()).then_some(range)
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions};

    use super::*;

    #[test]
    fn what_instructions_may_name() {
        let named =
            |bytes: &[u8]| named(&Decoder::with_ip(64, bytes, 0x10_1000, DecoderOptions::NONE).decode());
        // lea rax, [rip+0x19]: behind it 0x101007; lea rax, [rip+0x18]
        assert_eq!(named(&[0x48, 0x8d, 0x05, 0x19, 0, 0, 0]), Some(0x10_1020));
        assert_eq!(named(&[0x48, 0x8d, 0x05, 0x18, 0, 0, 0]), None);
        // mov qword ptr [rdi+8], 0x404040; mov eax, 0x404040; movabs rax, 0x555500004040
        assert_eq!(named(&[0x48, 0xc7, 0x47, 0x08, 0x40, 0x40, 0x40, 0]), Some(0x40_4040));
        assert_eq!(named(&[0xb8, 0x40, 0x40, 0x40, 0]), Some(0x40_4040));
        assert_eq!(named(&[0x48, 0xb8, 0x40, 0x40, 0, 0, 0x55, 0x55, 0, 0]), Some(0x5555_0000_4040));
        // mov [rdi+8], rax; ret; xor eax, eax
        assert_eq!(named(&[0x48, 0x89, 0x47, 0x08]), None);
        assert_eq!(named(&[0xc3]), None);
        assert_eq!(named(&[0x31, 0xc0]), None);
    }

    #[test]
    fn sequences_are_told_from_what_is_around_them() {
        let mut sequences = Sequences::default();
        for range in [0x300..0x310, 0x100..0x108, 0x300..0x310] {
            sequences.add(range);
        }
        assert_eq!(sequences.fresh, [0x300..0x310, 0x100..0x108]);
        let inside = |pc| sequences.contains(pc);
        assert_eq!([0xff, 0x100, 0x107, 0x108, 0x30f].map(inside), [false, true, true, false, true]);
        let next = |pc| sequences.next_behind(pc);
        assert_eq!([0, 0xff, 0x100, 0x2ff, 0x300].map(next), [0x100, 0x100, 0x300, 0x300, u64::MAX]);
    }
}
