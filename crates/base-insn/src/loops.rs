//! The innermost loop around an instruction, and how far the instruction's address goes on in each round.

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register,
};

/// Larger functions are not looked into.
pub const MOST_FUNCTION_BYTES: u64 = 64 << 10;

/// A loop without another loop around the same instruction inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InnerLoop {
    /// Where a round begins.
    pub head: u64,
    /// The branch back to it.
    pub branch: u64,
    /// Bytes by which the instruction's operand in memory moves from round to round; `None` where that is not the same
    /// in every round, or not told by this loop.
    pub step: Option<i64>,
}

/// The innermost loop around the instruction at `at`, in a function whose code begins at `start`.
///
/// Looks at jumps whose targets are stated only. Registers are added up where one instruction of each round changes them by a
/// constant.
pub fn innermost(code: &[u8], start: u64, at: u64) -> Option<InnerLoop> {
    let code = code.get(..code.len().min(MOST_FUNCTION_BYTES as usize)).unwrap_or_default();
    let all: Vec<Instruction> = Decoder::with_ip(64, code, start, DecoderOptions::NONE).into_iter().collect();
    let back = |each: &&Instruction| each.ip() >= at && is_jump(each) && each.near_branch_target() <= at;
    let branch = all.iter().filter(back).min_by_key(|each| each.ip() - each.near_branch_target())?;
    let head = branch.near_branch_target();
    let body: Vec<&Instruction> =
        all.iter().filter(|each| (head..=branch.ip()).contains(&each.ip())).collect();
    let instruction = body.iter().find(|each| each.ip() == at)?;
    Some(InnerLoop { head, branch: branch.ip(), step: step(&body, instruction) })
}

fn is_jump(instruction: &Instruction) -> bool {
    let kind = instruction.flow_control();
    matches!(kind, FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch)
        && instruction.op0_kind() == OpKind::NearBranch64
}

/// By how much the address of the instruction's operand grows.
fn step(body: &[&Instruction], instruction: &Instruction) -> Option<i64> {
    if !(0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory) {
        return None;
    }
    let base = growth(body, instruction.memory_base())?;
    let index = growth(body, instruction.memory_index())?;
    base.checked_add(index.checked_mul(i64::from(instruction.memory_index_scale()))?)
}

/// By how much a register grows from round to round.
fn growth(body: &[&Instruction], register: Register) -> Option<i64> {
    if matches!(register, Register::None | Register::RIP | Register::EIP) {
        return Some(0);
    }
    let mut factory = InstructionInfoFactory::new();
    let mut writes = body.iter().filter(|each| writes(&mut factory, each, register));
    let Some(change) = writes.next() else { return Some(0) };
    if writes.next().is_some() || !is_in_each_round(body, change.ip()) {
        return None;
    }
    let by = |operand: u32| change.try_immediate(operand).ok().map(|value| value as i64);
    let whole = change.op0_kind() == OpKind::Register && change.op0_register() == register;
    match change.mnemonic() {
        Mnemonic::Inc if whole => Some(1),
        Mnemonic::Dec if whole => Some(-1),
        Mnemonic::Add if whole => by(1),
        Mnemonic::Sub if whole => by(1)?.checked_neg(),
        Mnemonic::Lea
            if whole && change.memory_base() == register && change.memory_index() == Register::None =>
        {
            Some(change.memory_displacement64() as i64)
        }
        _ => None,
    }
}

fn writes(factory: &mut InstructionInfoFactory, instruction: &Instruction, register: Register) -> bool {
    // System V ABI: a function keeps these.
    let kept = [
        Register::RBX,
        Register::RBP,
        Register::RSP,
        Register::R12,
        Register::R13,
        Register::R14,
        Register::R15,
    ];
    if matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall) {
        return !kept.contains(&register);
    }
    let written = |access: OpAccess| {
        matches!(
            access,
            OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        )
    };
    let used = factory.info(instruction).used_registers();
    used.iter()
        .any(|used| used.register().full_register() == register.full_register() && written(used.access()))
}

/// Whether no jump of a round leads past the instruction at `at`, and no loop inside repeats it.
fn is_in_each_round(body: &[&Instruction], at: u64) -> bool {
    let (Some(first), Some(last)) = (body.first(), body.last()) else { return false };
    let round = first.ip()..=last.ip();
    body.iter().filter(|each| is_jump(each) && each.ip() != last.ip()).all(|jump| {
        let (from, to) = (jump.ip(), jump.near_branch_target());
        if !round.contains(&to) {
            return true;
        }
        let past = from < at && (to > at || to == first.ip());
        let again = to <= at && at <= from;
        !past && !again
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ```text
    /// 1000  xor eax, eax
    /// 1002  mov rcx, [rsi+rax*8]      ; 8 each round of the inner loop
    /// 1006  add rdi, 0x1000
    /// 100d  mov rbx, [rdi]            ; 4096
    /// 1010  mov r8, [rbp]             ; 0
    /// 1014  inc rax
    /// 1017  cmp rax, rdx
    /// 101a  jne 1002
    /// 101c  mov r9, [rbx]             ; outer loop only
    /// 101f  dec r10
    /// 1022  jne 1000
    /// 1024  ret
    /// ```
    const LOOPS: &[u8] = &[
        0x31, 0xc0, 0x48, 0x8b, 0x0c, 0xc6, 0x48, 0x81, 0xc7, 0x00, 0x10, 0x00, 0x00, 0x48, 0x8b, 0x1f, 0x4c,
        0x8b, 0x45, 0x00, 0x48, 0xff, 0xc0, 0x48, 0x39, 0xd0, 0x75, 0xe6, 0x4c, 0x8b, 0x0b, 0x49, 0xff, 0xca,
        0x75, 0xdc, 0xc3,
    ];

    #[test]
    fn the_innermost_loop_and_its_step() {
        let at = |at| innermost(LOOPS, 0x1000, at);
        let inner = |step| Some(InnerLoop { head: 0x1002, branch: 0x101a, step });
        assert_eq!(at(0x1002), inner(Some(8)));
        assert_eq!(at(0x100d), inner(Some(4096)));
        assert_eq!(at(0x1010), inner(Some(0)));
        assert_eq!(at(0x1014), inner(None), "no memory");
        // The inner loop loads rbx anew.
        assert_eq!(at(0x101c), Some(InnerLoop { head: 0x1000, branch: 0x1022, step: None }));
        assert_eq!(at(0x1024), None);
    }

    #[test]
    fn a_step_that_a_jump_may_leave_out_is_none() {
        // 1000 mov rcx,[rsi]; 1003 test rcx,rcx; 1006 je 100c; 1008 add rsi,8; 100c dec rdx; 100f jne 1000
        let code = [
            0x48, 0x8b, 0x0e, 0x48, 0x85, 0xc9, 0x74, 0x04, 0x48, 0x83, 0xc6, 0x08, 0x48, 0xff, 0xca, 0x75,
            0xef,
        ];
        assert_eq!(
            innermost(&code, 0x1000, 0x1000),
            Some(InnerLoop { head: 0x1000, branch: 0x100f, step: None })
        );
        // Without the jump (two bytes of nop), it is told.
        let mut always = code;
        always[6..8].fill(0x90);
        assert_eq!(innermost(&always, 0x1000, 0x1000).and_then(|found| found.step), Some(8));
    }

    #[test]
    fn any_bytes_are_looked_at() {
        let mut seed = 1_u64;
        let mut byte = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 56) as u8
        };
        for _ in 0..2_000 {
            let code: Vec<u8> = (0..64).map(|_| byte()).collect();
            for at in 0..64 {
                let found = innermost(&code, u64::MAX - 32, u64::MAX.wrapping_sub(32).wrapping_add(at));
                assert!(found.is_none_or(|found| found.head <= found.branch));
            }
        }
    }
}
