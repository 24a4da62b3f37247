//! The binary search table of `.eh_frame_hdr` (Linux Standard Base, "Exception Frames"): every function's start.

/// A parsed table in memory.
#[derive(Clone, Copy, Debug)]
pub struct EhFrameHdr {
    bytes: &'static [u8],
    /// Address of `bytes`.
    base: u64,
    eh_frame: u64,
    entries: usize,
}

/// Relative to the field, signed 32 bits.
const PC_RELATIVE_SDATA4: u8 = 0x1b;
/// Absolute, unsigned 32 bits.
const UDATA4: u8 = 0x03;
/// Relative to the section, signed 32 bits.
const DATA_RELATIVE_SDATA4: u8 = 0x3b;
/// Version, three encodings, pointer, count.
pub const HEADER_BYTES: usize = 12;
/// Function start and its unwind entry.
const ENTRY_BYTES: usize = 8;

impl EhFrameHdr {
    /// Reads `header`, the first bytes of the section `bytes`, which is at address `base` and not touched here.
    /// `None` for encodings that no common linker writes.
    pub fn parse(header: &[u8; HEADER_BYTES], bytes: &'static [u8], base: u64) -> Option<Self> {
        let &[version, pointer, count, table, ..] = header;
        if version != 1 || pointer != PC_RELATIVE_SDATA4 {
            return None;
        }
        let eh_frame = base.wrapping_add(4).wrapping_add_signed(i64::from(signed(header, 4)?));
        let entries = if count == UDATA4 && table == DATA_RELATIVE_SDATA4 {
            let stated = signed(header, 8)? as u32 as usize;
            stated.min((bytes.len() - HEADER_BYTES.min(bytes.len())) / ENTRY_BYTES)
        } else {
            0
        };
        Some(Self { bytes, base, eh_frame, entries })
    }

    /// Address of `.eh_frame`.
    pub fn eh_frame(&self) -> u64 {
        self.eh_frame
    }

    /// The section itself.
    pub fn bytes(&self) -> &'static [u8] {
        self.bytes
    }

    /// The last function start at or before `ip`.
    pub fn function_start(&self, ip: u64) -> Option<u64> {
        let (mut low, mut high) = (0, self.entries);
        while low < high {
            let middle = low.midpoint(high);
            if self.start(middle)? <= ip {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.start(low.checked_sub(1)?)
    }

    fn start(&self, index: usize) -> Option<u64> {
        let offset = signed(self.bytes, HEADER_BYTES + index * ENTRY_BYTES)?;
        Some(self.base.wrapping_add_signed(i64::from(offset)))
    }
}

fn signed(bytes: &[u8], at: usize) -> Option<i32> {
    let field = bytes.get(at..at.checked_add(4)?)?;
    Some(i32::from_le_bytes(field.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table at address 0x1000 with functions at 0x1100, 0x1200 and 0x1400.
    fn table() -> EhFrameHdr {
        let mut bytes = vec![1, PC_RELATIVE_SDATA4, UDATA4, DATA_RELATIVE_SDATA4];
        for word in [0x80i32 - 4, 3, 0x100, 0, 0x200, 0, 0x400, 0] {
            bytes.extend(word.to_le_bytes());
        }
        parse(bytes.leak(), 0x1000)
    }

    fn parse(bytes: &'static [u8], base: u64) -> EhFrameHdr {
        EhFrameHdr::parse(bytes.first_chunk().unwrap(), bytes, base).unwrap()
    }

    #[test]
    fn finds_the_function_around_an_address() {
        let hdr = table();
        assert_eq!(hdr.eh_frame(), 0x1080);
        for (ip, start) in
            [(0x10ff, None), (0x1100, Some(0x1100)), (0x13ff, Some(0x1200)), (0x9000, Some(0x1400))]
        {
            assert_eq!(hdr.function_start(ip), start, "{ip:#x}");
        }
    }

    #[test]
    fn a_count_beyond_the_section_is_cut() {
        let bytes = [1, PC_RELATIVE_SDATA4, UDATA4, DATA_RELATIVE_SDATA4, 0, 0, 0, 0, 255, 255, 255, 255];
        let hdr = parse(bytes.to_vec().leak(), 0);
        assert_eq!(hdr.function_start(u64::MAX), None);
    }
}
