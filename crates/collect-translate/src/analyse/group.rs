//! Which accesses of a block are looked up together: those whose addresses differ by constants, within 64 bytes.

use carom_base::LINE_BYTES;

use super::values::{Unknown, Values, values};
use crate::{
    decode::{
        block::Block,
        operand::{Finder, Operand},
    },
    lane::watches,
};

/// One access of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// From the group's first address, in bytes.
    pub offset: u16,
    /// The bytes of a table entry that it concerns.
    pub mask: u16,
}

/// Accesses that are looked up together.
#[derive(Clone, Debug)]
pub struct Group {
    /// In front of which instruction.
    pub at: usize,
    /// The flags must be preserved.
    pub live: bool,
    /// The lowest address of the group, in terms of the registers at `at`.
    pub first: Operand,
    /// All of them.
    pub members: Vec<Member>,
    /// The instruction and the operand, where the group is this one access and is looked up right in front of it.
    pub alone: Option<usize>,
}

/// A group in the making.
struct Growing {
    unknown: Unknown,
    /// The constants of the first address and of the last.
    range: (i64, i64),
    /// The instruction of the first member.
    index: usize,
    /// That member.
    operand: Operand,
    members: Vec<(i64, u16)>,
}

/// The groups of a block. `operands`: those of each instruction. `live`: whether the flags matter in front of each
/// instruction. `apart`: each access becomes a group of its own, right in front of its instruction.
pub fn groups(
    finder: &mut Finder,
    block: &Block,
    operands: &[Vec<Operand>],
    live: &[bool],
    apart: bool,
) -> Vec<Group> {
    let values = values(finder, block);
    let mut growing: Vec<Growing> = Vec::new();
    for (index, (operands, values)) in operands.iter().zip(&values).enumerate() {
        for operand in operands {
            let (unknown, constant) = values.address(operand);
            let mask = watches::mask(operand.kind);
            let near = |group: &&mut Growing| {
                let (low, high) = group.range;
                group.unknown == unknown
                    && has_room(&group.operand)
                    && high.max(constant).wrapping_sub(low.min(constant)) < LINE_BYTES as i64
            };
            if let Some(group) = growing.iter_mut().find(|group| !apart && near(group)) {
                group.range = (group.range.0.min(constant), group.range.1.max(constant));
                group.members.push((constant, mask));
            } else {
                let range = (constant, constant);
                let members = vec![(constant, mask)];
                growing.push(Growing { unknown, range, index, operand: *operand, members });
            }
        }
    }
    growing.into_iter().filter_map(|group| group.placed(&values, live, apart)).collect()
}

/// Whether the operand's displacement leaves room to name everything less than a line away.
fn has_room(operand: &Operand) -> bool {
    const MOST: u64 = (1 << 31) - LINE_BYTES;
    operand.is_constant() || (operand.displacement as i64).unsigned_abs() < MOST
}

impl Growing {
    /// Where the group is looked up: in front of its first member, or earlier, where the flags are dead and the
    /// registers already hold the parts of its address.
    fn placed(self, values: &[Values], live: &[bool], apart: bool) -> Option<Group> {
        let Self { unknown, range: (low, _), index, operand, members } = self;
        let is_live = |at: usize| live.get(at) != Some(&false);
        let first = |at: usize| {
            let (unknown_there, constant) = values.get(at)?.address(&operand);
            let displacement = operand.displacement.wrapping_add(low.wrapping_sub(constant) as u64);
            let is_near = operand.is_constant() || i32::try_from(displacement as i64).is_ok();
            (unknown_there == unknown && is_near).then_some(Operand { displacement, ..operand })
        };
        let reached = (0..=index).rev().map_while(|at| Some((at, first(at)?)));
        let dead = reached.take(if apart { 1 } else { usize::MAX }).find(|(at, _)| !is_live(*at));
        let (at, first) = dead.or_else(|| Some((index, first(index)?)))?;
        let alone = (members.len() == 1 && at == index).then_some(index);
        let member =
            |(constant, mask): (i64, u16)| Member { offset: constant.wrapping_sub(low) as u16, mask };
        Some(Group {
            at,
            live: is_live(at),
            first,
            members: members.into_iter().map(member).collect(),
            alone,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::plain, *};

    const LOAD: u16 = 0x00ff;
    const STORE: u16 = 0xff00;

    /// Where each group is looked up, its base and first displacement, and its members.
    type Found = Vec<(usize, Option<u8>, i64, Vec<(u16, u16)>)>;

    fn found(code: &[u8], live: &[bool], apart: bool) -> Found {
        let mut finder = Finder::new();
        let (block, operands) = plain(code, &mut finder);
        let all = groups(&mut finder, &block, &operands, live, apart);
        let shown = |group: Group| {
            let members = group.members.iter().map(|member| (member.offset, member.mask)).collect();
            (group.at, group.first.base.map(|base| base.0), group.first.displacement as i64, members)
        };
        all.into_iter().map(shown).collect()
    }

    /// push rbp; push rbx; push r12; mov rax, [rdi+8]; mov rcx, [rdi+0x50]; add rdi, 16; mov [rdi+0x10], rax; ret
    const CODE: &[u8] = &[
        0x55, 0x53, 0x41, 0x54, 0x48, 0x8b, 0x47, 0x08, 0x48, 0x8b, 0x4f, 0x50, 0x48, 0x83, 0xc7, 0x10, 0x48,
        0x89, 0x47, 0x10, 0xc3,
    ];

    /// The stack: stores at -8, -16 and -24 from where RSP was, and a load at -24. RDI: a load at 8 and, after the
    /// addition, a store at 32; 80 is too far from 8.
    #[test]
    fn what_is_within_a_line_s_length_is_one_group() {
        assert_eq!(
            found(CODE, &[false; 8], false),
            [
                (0, Some(4), -24, vec![(16, STORE), (8, STORE), (0, STORE), (0, LOAD)]),
                (3, Some(7), 8, vec![(0, LOAD), (24, STORE)]),
                (4, Some(7), 0x50, vec![(0, LOAD)]),
            ]
        );
    }

    #[test]
    fn apart_each_access_is_looked_up_in_front_of_its_instruction() {
        let all = found(CODE, &[true; 8], true);
        let at: Vec<_> = all.iter().map(|(at, ..)| *at).collect();
        assert_eq!(at, [0, 1, 2, 3, 4, 6, 7]);
        assert_eq!(all[5], (6, Some(7), 0x10, vec![(0, STORE)]));
    }

    /// cmp rax, rcx; lea rdi, [rdi+16]; mov rdx, [rdi+4]; mov rdi, [rdx]; jne: the flags are live after the
    /// comparison. Before it, RDI is 16 less and RDX is not known yet.
    #[test]
    fn the_look_moves_to_where_the_flags_are_dead() {
        let code =
            [0x48, 0x39, 0xc8, 0x48, 0x8d, 0x7f, 0x10, 0x48, 0x8b, 0x57, 0x04, 0x48, 0x8b, 0x3a, 0x75, 0x00];
        let live = [false, true, true, true, true];
        let all = found(&code, &live, false);
        assert_eq!(all, [(0, Some(7), 20, vec![(0, LOAD)]), (3, Some(2), 0, vec![(0, LOAD)])]);
    }

    /// pop rsp; pop rax; mov rbx, [0x2000+rip] twice, 8 bytes apart: the value popped into RSP is unknown, addresses
    /// in the program are known.
    #[test]
    fn what_is_unknown_is_apart_and_constants_are_together() {
        let code = [
            0x5c, 0x58, 0x48, 0x8b, 0x1d, 0x00, 0x20, 0x00, 0x00, 0x48, 0x8b, 0x1d, 0x01, 0x20, 0x00, 0x00,
            0xc3,
        ];
        let constant = 0x1000 + 2 + 7 + 0x2000;
        let all = found(&code, &[false; 5], false);
        assert_eq!(
            all,
            [
                (0, Some(4), 0, vec![(0, LOAD)]),
                (1, Some(4), 0, vec![(0, LOAD), (8, LOAD)]),
                (2, None, constant, vec![(0, LOAD), (8, LOAD)]),
            ]
        );
    }
}
