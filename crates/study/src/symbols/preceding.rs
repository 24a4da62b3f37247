//! What a basic block accessed before one of its instructions.

use carom_base::{Access, AccessKind, Addr, Ip};
use carom_base_insn::preceding;
use serde::{Deserialize, Serialize};

use super::{Symbols, function_code::FunctionCode};

/// An access that every execution of a later one follows, at a constant distance from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preceding {
    /// Its instruction.
    pub at: u64,
    /// Bytes from the address of the later access to that of this one.
    pub offset: i64,
    /// Bytes.
    pub width: u32,
    /// The code of its [`AccessKind`].
    pub kind: u8,
}

impl Preceding {
    /// The access, where the later one was made to `addr`.
    pub fn access(self, addr: Addr) -> Option<Access> {
        let addr = Addr(addr.0.checked_add_signed(self.offset)?);
        Some(Access { ip: Ip(self.at), addr, width: self.width, kind: AccessKind::from_u8(self.kind)? })
    }
}

impl Symbols {
    /// The accesses before that of the instruction at `ip` in its basic block that lie less than a line from it, in program
    /// order: none where its function cannot be read, or is too large to be looked into.
    pub fn preceding(&self, ip: Ip) -> Vec<Preceding> {
        let Some(FunctionCode { start, code, at, bias }) = self.function_code(ip) else { return Vec::new() };
        let found = preceding(&code, start, at).into_iter();
        let run = |stated: u64| stated.wrapping_add(bias);
        found
            .map(|each| Preceding {
                at: run(each.ip),
                offset: each.offset,
                width: each.width,
                kind: each.kind as u8,
            })
            .collect()
    }
}
