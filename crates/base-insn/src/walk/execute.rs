//! The instructions that are emulated: integer code as compilers emit it.

use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, Register};

use super::alu::{self, extend};
use super::integer::{divide_signed, divide_unsigned, is_plain};
use super::machine::{Machine, bytes};
use super::{Next, bits, repeat};
use crate::code::Memory;
use crate::registers::flag::{CF, DF, OF, SF, STATUS, ZF};
use crate::registers::mask;
use crate::string::Element;

impl<M: Memory> Machine<'_, '_, M> {
    pub fn execute(&mut self, factory: &mut InstructionInfoFactory, i: &Instruction) -> Next {
        use Mnemonic::*;
        match i.mnemonic() {
            Mov if is_plain(i) => self.assign(i, self.operand(i, 1)),
            Movzx => self.assign(i, self.operand(i, 1)),
            Movsx | Movsxd => {
                self.assign(i, self.operand(i, 1).map(|value| extend(value, bytes(i, 1))));
            }
            Lea => self.assign(i, self.offset(i)),
            Add => self.binary(i, true, |a, b, n| alu::add(a, b, 0, n)),
            Sub => self.binary(i, true, |a, b, n| alu::sub(a, b, 0, n)),
            Cmp => self.binary(i, false, |a, b, n| alu::sub(a, b, 0, n)),
            And => self.binary(i, true, |a, b, n| alu::logic(a & b, n)),
            Or => self.binary(i, true, |a, b, n| alu::logic(a | b, n)),
            Xor => self.binary(i, true, |a, b, n| alu::logic(a ^ b, n)),
            Test => self.binary(i, false, |a, b, n| alu::logic(a & b, n)),
            Adc => self.with_carry(i, alu::add),
            Sbb => self.with_carry(i, alu::sub),
            Inc => self.unary(i, STATUS & !CF, |a, n| alu::add(a, 1, 0, n)),
            Dec => self.unary(i, STATUS & !CF, |a, n| alu::sub(a, 1, 0, n)),
            Neg => self.unary(i, STATUS, |a, n| alu::sub(0, a, 0, n)),
            Not => self.unary(i, 0, |a, n| alu::with(!a & mask(n), 0, 0)),
            Shl | Sal => self.shift(i, STATUS, bits::shl),
            Shr => self.shift(i, STATUS, bits::shr),
            Sar => self.shift(i, STATUS, bits::sar),
            Rol => self.shift(i, CF | OF, bits::rol),
            Ror => self.shift(i, CF | OF, bits::ror),
            Shld => self.double_shift(i, bits::shld),
            Shrd => self.double_shift(i, bits::shrd),
            Shlx => self.shift_without_flags(i, |a, count, _| a << count),
            Shrx => self.shift_without_flags(i, |a, count, _| a >> count),
            Sarx => self.shift_without_flags(i, |a, count, n| (extend(a, n) as i64 >> count) as u64),
            Rorx => self.shift_without_flags(i, |a, count, n| match count {
                0 => a,
                count => a >> count | a << (n * 8 - count),
            }),
            Imul if i.op_count() > 1 => self.multiply_signed(i),
            Imul => self.multiply_wide(i, |a, b, n| {
                let product = i128::from(extend(a, n) as i64) * i128::from(extend(b, n) as i64);
                (product as u128, product != i128::from(extend(product as u64 & mask(n), n) as i64))
            }),
            Mul => self.multiply_wide(i, |a, b, n| {
                let product = u128::from(a) * u128::from(b);
                (product, product > u128::from(mask(n)))
            }),
            Div => return self.divide(i, divide_unsigned),
            Idiv => return self.divide(i, divide_signed),
            Bt | Bts | Btr | Btc => self.bit_test(i),
            Tzcnt => self.count(i, |a, n| bits::zeros(bits::trailing_zeros(a, n), a)),
            Lzcnt => self.count(i, |a, n| bits::zeros(bits::leading_zeros(a, n), a)),
            Popcnt => self.count(i, |a, _| bits::ones(a)),
            Bsf => self.scan(i, |a, n| u64::from(bits::trailing_zeros(a, n))),
            Bsr => self.scan(i, |a, n| u64::from(n * 8 - 1 - bits::leading_zeros(a, n))),
            Andn => self.ternary(i, |a, b, n| {
                let outcome = alu::logic(!a & b, n);
                alu::with(outcome.value, outcome.flags, CF | OF | SF | ZF)
            }),
            Bswap => self.swap_bytes(i, 0),
            Movbe => self.swap_bytes(i, 1),
            Xchg => self.exchange(i),
            Xadd => self.exchange_add(i),
            Cmpxchg => self.compare_exchange(i),
            Cbw => self.extend_accumulator(1, 2),
            Cwde => self.extend_accumulator(2, 4),
            Cdqe => self.extend_accumulator(4, 8),
            Cwd => self.spread_sign(2),
            Cdq => self.spread_sign(4),
            Cqo => self.spread_sign(8),
            Clc => self.set_flags(Some(alu::with(0, 0, CF)), CF),
            Stc => self.set_flags(Some(alu::with(0, CF, CF)), CF),
            Cmc => self.regs.rflags ^= CF,
            Cld => self.set_flags(Some(alu::with(0, 0, DF)), DF),
            Std => self.set_flags(Some(alu::with(0, DF, DF)), DF),
            Nop | Endbr64 | Pause => {}
            Push if is_plain(i) => self.push_operand(i),
            Pop if is_plain(i) => self.pop_operand(i),
            Leave if i.code() == iced_x86::Code::Leaveq => self.leave(),
            Jmp => return self.jump(i),
            Call => return self.call(i),
            Ret if i.code() == iced_x86::Code::Retnq || i.code() == iced_x86::Code::Retnq_imm16 => {
                return self.ret(i);
            }
            Jrcxz => {
                let zero = self.regs.read(Register::RCX).map(|count| count == 0);
                return self.jump_if(i, zero);
            }
            Loop | Loope | Loopne => return self.count_down(i),
            Jo | Jno | Jb | Jae | Je | Jne | Jbe | Ja | Js | Jns | Jp | Jnp | Jl | Jge | Jle | Jg => {
                return self.jump_if(i, self.condition(i));
            }
            Seto | Setno | Setb | Setae | Sete | Setne | Setbe | Seta | Sets | Setns | Setp | Setnp
            | Setl | Setge | Setle | Setg => {
                self.assign(i, self.condition(i).map(u64::from));
            }
            Cmovo | Cmovno | Cmovb | Cmovae | Cmove | Cmovne | Cmovbe | Cmova | Cmovs | Cmovns | Cmovp
            | Cmovnp | Cmovl | Cmovge | Cmovle | Cmovg => self.move_if(i),
            _ => {
                return match Element::of(i).filter(|_| !repeat::is_io(i)) {
                    Some(element) => self.iterate(i, element),
                    None => self.poison(factory, i),
                };
            }
        }
        Next::Through
    }
}
