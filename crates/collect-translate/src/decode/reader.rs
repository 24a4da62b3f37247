//! Decoders that are kept: making one takes as long as decoding two instructions, and straight runs of code are short.

use std::ops::Range;

use iced_x86::{Decoder, DecoderOptions};

use super::source;
use crate::memory::Regions;

/// Regions of code that are read in turns: the program, the C library and a few more.
const MOST: usize = 16;

/// Reads the program's code here and there.
#[derive(Default)]
pub struct Reader {
    /// Each for all code of a region.
    decoders: Vec<(Range<u64>, Decoder<'static>)>,
}

impl Reader {
    /// A decoder in front of the code at `pc`, which ends where its region ends; `None` where there is no code. It is for use
    /// until the mappings change.
    pub fn at(&mut self, regions: &Regions, pc: u64) -> Option<&mut Decoder<'static>> {
        let region = regions.contains(pc)?;
        let known = self.decoders.iter().position(|(range, _)| *range == region);
        let index = match known {
            Some(index) => index,
            None => {
                let code = source::original(regions, region.start)?;
                if self.decoders.len() == MOST {
                    self.decoders.clear();
                }
                let decoder = Decoder::with_ip(64, code, region.start, DecoderOptions::NONE);
                self.decoders.push((region.clone(), decoder));
                self.decoders.len() - 1
            }
        };
        let (_, decoder) = self.decoders.get_mut(index)?;
        decoder.set_position((pc - region.start) as usize).ok()?;
        decoder.set_ip(pc);
        Some(decoder)
    }

    /// Regions have changed.
    pub fn forget(&mut self) {
        self.decoders.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_decoder_reads_what_a_new_one_reads() {
        let here = a_kept_decoder_reads_what_a_new_one_reads as fn() as usize as u64;
        let library = libc::getpid as *const () as usize as u64;
        let regions = Regions::new(Vec::new()).expect("maps");
        let mut reader = Reader::default();
        for pc in [here, here + 1, library, here, library + 3] {
            let code = source::original(&regions, pc).expect("code");
            let mut new = Decoder::with_ip(64, code, pc, DecoderOptions::NONE);
            let kept = reader.at(&regions, pc).expect("code");
            for _ in 0..20 {
                assert_eq!(kept.decode(), new.decode());
                assert_eq!((kept.ip(), kept.last_error()), (new.ip(), new.last_error()));
            }
        }
        assert_eq!(reader.decoders.len(), 2);
        assert!(reader.at(&regions, 0).is_none());
        // The last byte of a region: no instruction may reach beyond it.
        let end = regions.contains(here).expect("code").end;
        assert!(reader.at(&regions, end - 1).expect("code").decode().next_ip() <= end);
    }
}
