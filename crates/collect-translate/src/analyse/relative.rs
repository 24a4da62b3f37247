//! Which addresses of a block are recorded: the others differ from those by constants.

use super::values::{Unknown, Values, values};
use crate::decode::{
    block::Block,
    operand::{Finder, Operand},
};

/// Where an access is, from the addresses that are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relative {
    /// The number of the recorded address among those of the block. They are numbered in the order of the accesses to them.
    pub of: u16,
    /// The distance from there, in bytes; 0 for the access to it.
    pub offset: i32,
}

/// The accesses of each instruction, from the addresses that are recorded, and how many those are. `operands`: of each instruction.
pub fn relatives(finder: &mut Finder, block: &Block, operands: &[Vec<Operand>]) -> (Vec<Vec<Relative>>, u16) {
    let mut recorded: Vec<(Unknown, i64)> = Vec::new();
    let values = values(finder, block);
    let of_instruction = |(operands, values): (&Vec<Operand>, _)| {
        operands.iter().map(|operand| relative(&mut recorded, values, operand)).collect()
    };
    let all = operands.iter().zip(&values).map(of_instruction).collect();
    (all, recorded.len() as u16)
}

fn relative(recorded: &mut Vec<(Unknown, i64)>, values: &Values, operand: &Operand) -> Relative {
    let (unknown, constant) = values.address(operand);
    // The base of FS may be changed within the block.
    let near = |(of, (other, from)): (u16, &(Unknown, i64))| {
        let offset = i32::try_from(constant.wrapping_sub(*from)).ok()?;
        (*other == unknown && !operand.fs).then_some(Relative { of, offset })
    };
    (0..).zip(recorded.iter()).find_map(near).unwrap_or_else(|| {
        recorded.push((unknown, constant));
        Relative { of: recorded.len() as u16 - 1, offset: 0 }
    })
}

#[cfg(test)]
mod tests {
    use super::{super::testing::plain, *};

    /// Of each access, by instruction: which recorded address it follows from, and how far from it.
    fn found(code: &[u8]) -> Vec<Vec<(u16, i32)>> {
        let mut finder = Finder::new();
        let (block, operands) = plain(code, &mut finder);
        let (all, recorded) = relatives(&mut finder, &block, &operands);
        let shown: Vec<Vec<_>> =
            all.iter().map(|all| all.iter().map(|it| (it.of, it.offset)).collect()).collect();
        let begun = shown.iter().flatten().filter(|(_, offset)| *offset == 0).map(|(of, _)| of);
        assert_eq!(begun.max().map_or(0, |of| of + 1), recorded);
        shown
    }

    /// push rbp; mov rax, [rdi+8]; mov rcx, [rdi+0x5000]; add rdi, 16; mov [rdi+rdx*8], rax; mov [rdi-8], rax;
    /// mov rdi, [rdi]; mov rax, [rdi]; ret: the stack; RDI up to the load of a new one; with an index; the new one.
    #[test]
    fn what_is_known_of_registers_tells_addresses() {
        let code = [
            0x55, 0x48, 0x8b, 0x47, 0x08, 0x48, 0x8b, 0x8f, 0x00, 0x50, 0x00, 0x00, 0x48, 0x83, 0xc7, 0x10,
            0x48, 0x89, 0x04, 0xd7, 0x48, 0x89, 0x47, 0xf8, 0x48, 0x8b, 0x3f, 0x48, 0x8b, 0x07, 0xc3,
        ];
        let expected = [
            vec![(0, 0)],
            vec![(1, 0)],
            vec![(1, 0x5000 - 8)],
            vec![],
            vec![(2, 0)],
            vec![(1, 0)],
            vec![(1, 8)],
            vec![(3, 0)],
            vec![(0, 0)],
        ];
        assert_eq!(found(&code), expected);
    }

    /// mov rax, [rip+16]; mov rcx, [rip+17]; mov rdx, fs:[0x28] twice; push [rsp+8]: constants are together, each access by FS is apart,
    /// and what is pushed was loaded 16 bytes above.
    #[test]
    fn constants_are_together_and_thread_locals_apart() {
        let code = [
            0x48, 0x8b, 0x05, 16, 0, 0, 0, 0x48, 0x8b, 0x0d, 17, 0, 0, 0, 0x64, 0x48, 0x8b, 0x14, 0x25, 0x28,
            0, 0, 0, 0x64, 0x48, 0x8b, 0x14, 0x25, 0x28, 0, 0, 0, 0xff, 0x74, 0x24, 0x08, 0xc3,
        ];
        let expected =
            [vec![(0, 0)], vec![(0, 8)], vec![(1, 0)], vec![(2, 0)], vec![(3, 0), (3, -16)], vec![(3, -16)]];
        assert_eq!(found(&code), expected);
    }
}
