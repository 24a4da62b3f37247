//! The code of the function around an instruction.

use carom_base::Ip;
use carom_base_insn::MOST_FUNCTION_BYTES;

use super::process::Place;
use super::{Symbols, elf};

/// A function as its module has it; addresses are stated ones.
pub(super) struct FunctionCode {
    /// Where it begins.
    pub start: u64,
    /// Its instructions.
    pub code: Vec<u8>,
    /// The instruction that was asked for.
    pub at: u64,
    /// From stated addresses to those of the process.
    pub bias: u64,
}

impl Symbols {
    /// `None` where the function at `ip` is not known, cannot be read, or is too large to be looked into.
    pub(super) fn function_code(&self, ip: Ip) -> Option<FunctionCode> {
        let place = self.place(ip.0)?;
        let image = place.image;
        let named = image.functions.smallest(place.stated).map(|(range, _)| range);
        let function = named.or_else(|| image.unwind.smallest(place.stated).map(|(range, ())| range))?;
        let code = code_of(&place, function.start, function.end)?;
        Some(FunctionCode { start: function.start, code, at: place.stated, bias: place.module.bias })
    }
}

/// The instructions between two stated addresses, from the file that ran.
fn code_of(place: &Place<'_>, low: u64, high: u64) -> Option<Vec<u8>> {
    let bytes = high.checked_sub(low).filter(|bytes| *bytes <= MOST_FUNCTION_BYTES)?;
    let section = elf::section_at(&place.image.sections, low)?;
    // Where the module's own file is not the one that ran, sections may be those of its debug file, which has no code.
    if place.image.problem.is_some() || high > section.range.end {
        return None;
    }
    elf::read_part(&place.module.path, section.offset? + (low - section.range.start), bytes as usize).ok()
}
