//! What is found out about a block before code is generated for it.
//!
//! Added code preserves the flags unless the code ahead is known to overwrite them before it reads them
//! ([`liveness`]). Of accesses whose addresses differ by constants ([`values`]), those that are near
//! each other are looked up together ([`group`]), and one address is recorded for all ([`relative`]).

pub mod affine;
pub mod group;
pub mod liveness;
pub mod relative;
pub mod values;

#[cfg(test)]
mod testing {
    use carom_base_insn::Decoder;

    use crate::decode::{
        block::Block,
        operand::{Addressed, Finder, Operand},
    };

    /// The block of this code, and the operands of each of its instructions, of which no access depends on all registers.
    pub fn plain(code: &[u8], finder: &mut Finder) -> (Block, Vec<Vec<Operand>>) {
        let mut accesses = Decoder::new();
        let block = Block::decode(0x1000, code, &mut accesses).unwrap();
        let of = |decoded| match finder.operands(decoded, &mut accesses) {
            Addressed::Plain(operands) => operands,
            Addressed::Otherwise => panic!("not plain"),
        };
        let operands = block.instructions.iter().map(of).collect();
        (block, operands)
    }
}
