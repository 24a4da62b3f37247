//! The loop around an instruction.

use carom_base::Ip;
use carom_base_insn::innermost;
use serde::{Deserialize, Serialize};

use super::{Frame, Symbols, function_code::FunctionCode};

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
        let FunctionCode { start, code, at, bias } = self.function_code(ip)?;
        let found = innermost(&code, start, at)?;
        let branch = Ip(found.branch.wrapping_add(bias));
        Some(Loop { at: self.frames(branch, false).into_iter().next()?, step: found.step })
    }
}
