//! The loop around an instruction.

use carom_base::Ip;
use carom_base_insn::{MOST_FUNCTION_BYTES, innermost};
use serde::{Deserialize, Serialize};

use super::process::Place;
use super::{Frame, Symbols, elf};

/// The innermost loop around an instruction that accesses memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loop {
    /// Where compilers state a loop: at the branch back to its head.
    pub at: Frame,
    /// Bytes by which the instruction's operand moves from round to round, where that is always the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<i64>,
}

impl Symbols {
    /// The innermost loop around the instruction at `ip`; `None` where its function has none there, cannot be read, or is too
    /// large to be looked into.
    pub fn loop_around(&self, ip: Ip) -> Option<Loop> {
        let place = self.place(ip.0)?;
        let image = place.image;
        let named = image.functions.smallest(place.stated).map(|(range, _)| range);
        let function = named.or_else(|| image.unwind.smallest(place.stated).map(|(range, ())| range))?;
        let code = code_of(&place, function.start, function.end)?;
        let found = innermost(&code, function.start, place.stated)?;
        let branch = Ip(found.branch.wrapping_add(place.module.bias));
        Some(Loop { at: self.frames(branch, false).into_iter().next()?, step: found.step })
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
