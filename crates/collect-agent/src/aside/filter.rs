//! Runs the classic BPF program of a seccomp filter on a system call's data, to learn its verdict.

use super::calls::Call;

/// `struct sock_filter` (Linux, include/uapi/linux/filter.h).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Instruction {
    pub code: u16,
    pub if_true: u8,
    pub if_false: u8,
    pub k: u32,
}

/// The most instructions of a filter (`BPF_MAXINSNS`).
pub const MOST_INSTRUCTIONS: usize = 4096;

/// Scratch words of the machine (`BPF_MEMWORDS`).
const WORDS: usize = 16;

/// `struct seccomp_data`: number, architecture, where the call was made, arguments.
const DATA_BYTES: usize = 64;

/// `AUDIT_ARCH_X86_64`.
const X86_64: u32 = 0xc000_003e;

const RET_ACTION: u32 = 0xffff_0000;
const RET_ALLOW: u32 = 0x7fff_0000;
const RET_LOG: u32 = 0x7ffc_0000;

/// The first of these calls that the filter does not simply allow.
pub fn refused<'a>(filter: &[Instruction], calls: &'a [Call]) -> Option<&'a Call> {
    calls.iter().find(|call| {
        let action = run(filter, &data(call)).map(|result| result & RET_ACTION);
        !matches!(action, Some(RET_ALLOW | RET_LOG))
    })
}

fn data(call: &Call) -> [u8; DATA_BYTES] {
    let mut data = [0; DATA_BYTES];
    // The instruction pointer is in code of ours.
    let place = run as *const () as u64;
    let head = [(call.number as u32).to_le_bytes(), X86_64.to_le_bytes()];
    let words = std::iter::once(place).chain(call.arguments).map(u64::to_le_bytes);
    let bytes = head.into_iter().flatten().chain(words.flatten());
    data.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
    data
}

/// Operands and operations (Linux, include/uapi/linux/bpf_common.h).
mod code {
    pub const CLASS: u16 = 0x07;
    pub const LD: u16 = 0x00;
    pub const LDX: u16 = 0x01;
    pub const ST: u16 = 0x02;
    pub const STX: u16 = 0x03;
    pub const ALU: u16 = 0x04;
    pub const JMP: u16 = 0x05;
    pub const RET: u16 = 0x06;
    pub const MODE: u16 = 0xe0;
    pub const IMM: u16 = 0x00;
    pub const ABS: u16 = 0x20;
    pub const MEM: u16 = 0x60;
    pub const LEN: u16 = 0x80;
    pub const OP: u16 = 0xf0;
    pub const X: u16 = 0x08;
    pub const A: u16 = 0x10;
    pub const TXA: u16 = 0x80;
}

/// The program's return value; `None` for a program that the kernel would refuse.
fn run(filter: &[Instruction], data: &[u8; DATA_BYTES]) -> Option<u32> {
    let (mut a, mut x, mut words) = (0u32, 0u32, [0u32; WORDS]);
    let mut next = 0;
    // Every jump goes forward.
    loop {
        let Instruction { code, if_true, if_false, k } = *filter.get(next)?;
        next += 1;
        let word = |at: u32| Some(u32::from_le_bytes(*data.get(at as usize..)?.first_chunk()?));
        let source = if code & code::X == 0 { k } else { x };
        match code & code::CLASS {
            class @ (code::LD | code::LDX) => {
                let value = match code & code::MODE {
                    code::IMM => k,
                    code::ABS => word(k)?,
                    code::MEM => *words.get(k as usize)?,
                    code::LEN => DATA_BYTES as u32,
                    _ => return None,
                };
                *if class == code::LD { &mut a } else { &mut x } = value;
            }
            code::ST => *words.get_mut(k as usize)? = a,
            code::STX => *words.get_mut(k as usize)? = x,
            code::ALU => a = operate(code & code::OP, a, source)?,
            code::JMP => next += jump(code & code::OP, a, source, k, (if_true, if_false))?,
            code::RET => return Some(if code & code::A == 0 { k } else { a }),
            _ if code & code::TXA == 0 => x = a,
            _ => a = x,
        }
    }
}

fn operate(operation: u16, a: u32, source: u32) -> Option<u32> {
    Some(match operation {
        0x00 => a.wrapping_add(source),
        0x10 => a.wrapping_sub(source),
        0x20 => a.wrapping_mul(source),
        // By 0 the kernel ends the program with 0, which kills.
        0x30 => a.checked_div(source)?,
        0x40 => a | source,
        0x50 => a & source,
        0x60 => a.checked_shl(source).unwrap_or(0),
        0x70 => a.checked_shr(source).unwrap_or(0),
        0x80 => a.wrapping_neg(),
        0x90 => a.checked_rem(source)?,
        0xa0 => a ^ source,
        _ => return None,
    })
}

/// How many instructions are skipped.
fn jump(operation: u16, a: u32, source: u32, k: u32, (if_true, if_false): (u8, u8)) -> Option<usize> {
    let holds = match operation {
        0x00 => return Some(k as usize),
        0x10 => a == source,
        0x20 => a > source,
        0x30 => a >= source,
        0x40 => a & source != 0,
        _ => return None,
    };
    Some(usize::from(if holds { if_true } else { if_false }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: u16 = code::LD | code::ABS;
    const IF_EQUAL: u16 = code::JMP | 0x10;
    const KILL: u32 = 0x8000_0000;

    const fn instruction(code: u16, if_true: u8, if_false: u8, k: u32) -> Instruction {
        Instruction { code, if_true, if_false, k }
    }

    fn call(number: i64, arguments: [u64; 6]) -> Call {
        Call { name: "", number, arguments }
    }

    /// What the filter returns for everything but one number.
    fn all_but(number: i64, others: u32, this: u32) -> Vec<Instruction> {
        vec![
            instruction(LOAD, 0, 0, 4),
            instruction(IF_EQUAL, 1, 0, X86_64),
            instruction(code::RET, 0, 0, KILL),
            instruction(LOAD, 0, 0, 0),
            instruction(IF_EQUAL, 0, 1, number as u32),
            instruction(code::RET, 0, 0, this),
            instruction(code::RET, 0, 0, others),
        ]
    }

    #[test]
    fn lists_of_what_is_allowed_and_of_what_is_not() {
        let calls = [libc::SYS_read, libc::SYS_write].map(|number| call(number, [0; 6]));
        let refuses = |filter: &[Instruction]| refused(filter, &calls).map(|call| call.number);
        assert_eq!(refuses(&all_but(libc::SYS_read, KILL, RET_ALLOW)), Some(libc::SYS_write));
        assert_eq!(refuses(&all_but(libc::SYS_write, RET_LOG, 0x0005_0001)), Some(libc::SYS_write));
        assert_eq!(refuses(&all_but(libc::SYS_open, RET_ALLOW, KILL)), None);
    }

    #[test]
    fn arguments_are_looked_at() {
        // The upper half of the third argument.
        let filter = [
            instruction(LOAD, 0, 0, 16 + 2 * 8 + 4),
            instruction(code::JMP | 0x40, 0, 1, 4),
            instruction(code::RET, 0, 0, KILL),
            instruction(code::RET, 0, 0, RET_ALLOW),
        ];
        let of = |third: u64| refused(&filter, &[call(0, [0, 0, third, 0, 0, 0])]).is_some();
        assert!(of(4 << 32) && !of(4) && !of(3 << 32));
    }

    #[test]
    fn the_machine_computes() {
        let program = |code: u16, k: u32| {
            let scratch = [
                instruction(code::LD, 0, 0, 12),
                instruction(code::ST, 0, 0, 3),
                instruction(code::LDX | code::MEM, 0, 0, 3),
                instruction(code::ALU | code, 0, 0, k),
                instruction(code::RET | code::A, 0, 0, 0),
            ];
            run(&scratch, &[0; DATA_BYTES])
        };
        let values = [(0x00, 5), (0x10, 5), (0x20 | code::X, 0), (0x30, 0), (0x60, 40), (0x80, 0)];
        let expected = [Some(17), Some(7), Some(144), None, Some(0), Some(12u32.wrapping_neg())];
        assert_eq!(values.map(|(code, k)| program(code, k)), expected);
    }

    #[test]
    fn any_program_ends() {
        let mut random = 1u64;
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        for _ in 0..10_000 {
            let program: Vec<_> = (0..20)
                .map(|_| next())
                .map(|word| {
                    instruction(
                        word as u16 & 0xff,
                        (word >> 16) as u8 & 7,
                        (word >> 24) as u8 & 7,
                        word as u32 >> 16,
                    )
                })
                .collect();
            run(&program, &[7; DATA_BYTES]);
        }
    }
}
