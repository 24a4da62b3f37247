//! Where the interrupted vector and mask registers lie in an XSAVE area (Intel SDM volume 1, chapter 13).

use std::arch::x86_64::__cpuid_count;

/// The CPUID leaf that describes XSAVE.
const LEAF: u32 = 0xd;
/// Bytes of the legacy region plus the header.
const HEADER_END: u32 = 576;
/// XSTATE_BV: which components the area holds; the others are in their initial state, all zero.
const XSTATE_BV: usize = 512;
/// XMM registers of the legacy region.
const LEGACY_XMM: usize = 160;
/// State components by number.
const SSE: usize = 1;
const AVX: usize = 2;
const OPMASK: usize = 5;
const ZMM_HIGH_256: usize = 6;
const HIGH_16_ZMM: usize = 7;
/// How many components are looked at. Those above 31 do not exist yet.
const COMPONENTS: usize = 32;

#[derive(Clone, Copy, Default)]
struct Component {
    offset: u32,
    bytes: u32,
    /// In compacted areas: starts at a multiple of 64.
    aligned: bool,
}

/// The layout of this processor's XSAVE areas.
pub(crate) struct Layout {
    components: [Component; COMPONENTS],
    /// Bytes of an area with everything that the kernel has enabled.
    enabled_bytes: u32,
}

impl Layout {
    pub fn of_this_processor() -> Self {
        let mut components = [Component::default(); COMPONENTS];
        let main = cpuid(LEAF, 0);
        for (number, component) in components.iter_mut().enumerate().skip(AVX) {
            if main.eax >> number & 1 == 1 {
                let leaf = cpuid(LEAF, number as u32);
                *component = Component { offset: leaf.ebx, bytes: leaf.eax, aligned: leaf.ecx & 2 != 0 };
            }
        }
        Self { components, enabled_bytes: main.ebx }
    }

    /// Bytes that XSAVE and its kin store for the components in `requested` (EDX:EAX).
    pub fn bytes(&self, requested: u64, compacted: bool) -> u32 {
        let mut end = HEADER_END;
        for (number, component) in self.components.iter().enumerate().skip(AVX) {
            let enabled = component.bytes != 0 && component.offset + component.bytes <= self.enabled_bytes;
            if !enabled || requested >> number & 1 == 0 {
                continue;
            }
            if compacted {
                let start = if component.aligned { end.next_multiple_of(64) } else { end };
                end = start + component.bytes;
            } else {
                end = end.max(component.offset + component.bytes);
            }
        }
        end
    }

    /// Mask register `number`.
    pub fn opmask(&self, area: &[u8], number: usize) -> Option<u64> {
        self.component(area, OPMASK, number * 8, 8)
    }

    /// `bytes` (1 to 8) of vector register `number` from byte `offset` on, zero-extended. They must not
    /// cross byte 16 or 32 of the register.
    pub fn vector(&self, area: &[u8], number: usize, offset: usize, bytes: usize) -> Option<u64> {
        match (number, offset) {
            (16..32, 0..64) => self.component(area, HIGH_16_ZMM, (number - 16) * 64 + offset, bytes),
            (0..16, 0..16) => legacy(area, LEGACY_XMM + number * 16 + offset, bytes),
            (0..16, 16..32) => self.component(area, AVX, number * 16 + offset - 16, bytes),
            (0..16, 32..64) => self.component(area, ZMM_HIGH_256, number * 32 + offset - 32, bytes),
            _ => None,
        }
    }

    fn component(&self, area: &[u8], number: usize, offset: usize, bytes: usize) -> Option<u64> {
        let component = self.components.get(number).filter(|component| component.bytes != 0)?;
        if !holds(area, number)? {
            return Some(0);
        }
        little_endian(area, component.offset as usize + offset, bytes)
    }
}

fn legacy(area: &[u8], offset: usize, bytes: usize) -> Option<u64> {
    // Frames without an extended area have no XSTATE_BV: the registers are then always there.
    if holds(area, SSE) == Some(false) {
        return Some(0);
    }
    little_endian(area, offset, bytes)
}

fn holds(area: &[u8], component: usize) -> Option<bool> {
    Some(little_endian(area, XSTATE_BV, 8)? >> component & 1 == 1)
}

fn little_endian(area: &[u8], offset: usize, bytes: usize) -> Option<u64> {
    let source = area.get(offset..offset.checked_add(bytes)?)?;
    let mut value = [0; 8];
    value.get_mut(..bytes)?.copy_from_slice(source);
    Some(u64::from_le_bytes(value))
}

#[allow(
    unsafe_code,
    reason = "the one instruction that this crate needs and the standard library does not wrap"
)]
fn cpuid(leaf: u32, subleaf: u32) -> std::arch::x86_64::CpuidResult {
    #[allow(unused_unsafe, reason = "an unsafe function up to Rust 1.93")]
    // SAFETY: every x86-64 processor has CPUID; a leaf that it does not know reads as zero or as another leaf.
    unsafe {
        __cpuid_count(leaf, subleaf)
    }
}
