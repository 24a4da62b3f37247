//! How integer instructions combine their operands.

use iced_x86::{Instruction, Mnemonic, OpKind, Register};

use super::alu::{self, Outcome, extend};
use super::bits::masked_count;
use super::machine::{Location, Machine, accumulator, bytes, upper_half};
use super::{Next, Obstacle};
use crate::code::Memory;
use crate::implied::bit_string_element;
use crate::registers::flag::{CF, STATUS, ZF};
use crate::registers::mask;

/// Quotient and remainder; `None` where the processor would fault.
type Division = Option<(u64, u64)>;

impl<M: Memory> Machine<'_, '_, M> {
    /// `op0 = f(op0, op1)`, or only its flags.
    pub fn binary(&mut self, i: &Instruction, keep: bool, f: impl Fn(u64, u64, u32) -> Outcome) {
        let n = bytes(i, 0);
        let location = self.location(i, 0);
        let operands = match cancels(i) {
            true => Some((0, 0)),
            false => self.get(location, n).zip(self.get(self.location(i, 1), n)),
        };
        let outcome = operands.map(|(a, b)| f(a, b, n));
        self.set_flags(outcome, STATUS);
        if keep {
            self.set(location, n, outcome.map(|outcome| outcome.value));
        }
    }

    /// `adc` and `sbb`.
    pub fn with_carry(&mut self, i: &Instruction, f: fn(u64, u64, u64, u32) -> Outcome) {
        let Some(carry) = self.flag(CF) else {
            self.set_flags(None, STATUS);
            return self.assign(i, None);
        };
        self.binary(i, true, |a, b, n| f(a, b, u64::from(carry), n));
    }

    pub fn unary(&mut self, i: &Instruction, written: u64, f: impl Fn(u64, u32) -> Outcome) {
        let n = bytes(i, 0);
        let location = self.location(i, 0);
        let outcome = self.get(location, n).map(|a| f(a, n));
        self.set_flags(outcome, written);
        self.set(location, n, outcome.map(|outcome| outcome.value));
    }

    /// `op0 = f(op1, op2)` with flags: `andn`.
    pub fn ternary(&mut self, i: &Instruction, f: impl Fn(u64, u64, u32) -> Outcome) {
        let n = bytes(i, 0);
        let outcome = self.operand(i, 1).zip(self.operand(i, 2)).map(|(a, b)| f(a, b, n));
        self.set_flags(outcome, STATUS);
        self.assign(i, outcome.map(|outcome| outcome.value));
    }

    pub fn shift(&mut self, i: &Instruction, written: u64, f: fn(u64, u32, u32) -> Outcome) {
        let n = bytes(i, 0);
        let location = self.location(i, 0);
        let Some(count) = self.get(self.location(i, 1), 1).map(|count| masked_count(count, n)) else {
            self.set_flags(None, written);
            return self.set(location, n, None);
        };
        let value = self.get(location, n);
        if count == 0 {
            // The flags stay. The register is written all the same: its upper half is cleared.
            return self.set(location, n, value);
        }
        let outcome = value.map(|value| f(value, count, n));
        self.set_flags(outcome, written);
        self.set(location, n, outcome.map(|outcome| outcome.value));
    }

    /// `shld` and `shrd`.
    pub fn double_shift(&mut self, i: &Instruction, f: fn(u64, u64, u32, u32) -> Outcome) {
        let n = bytes(i, 0);
        let location = self.location(i, 0);
        let count = self.get(self.location(i, 2), 1).map(|count| masked_count(count, n));
        let values = self.get(location, n).zip(self.operand(i, 1));
        if count == Some(0) {
            let value = self.get(location, n);
            return self.set(location, n, value);
        }
        // Counts beyond the width are undefined.
        let count = count.filter(|count| *count < n * 8);
        let outcome = values.zip(count).map(|((a, b), count)| f(a, b, count, n));
        self.set_flags(outcome, STATUS);
        self.set(location, n, outcome.map(|outcome| outcome.value));
    }

    /// `shlx` and its kin: `op0 = f(op1, masked op2)`.
    pub fn shift_without_flags(&mut self, i: &Instruction, f: impl Fn(u64, u32, u32) -> u64) {
        let n = bytes(i, 0);
        let values = self.operand(i, 1).zip(self.operand(i, 2));
        let value = values.map(|(a, count)| f(a, masked_count(count, n), n));
        self.assign(i, value);
    }

    /// `imul` with two or three operands.
    pub fn multiply_signed(&mut self, i: &Instruction) {
        let n = bytes(i, 0);
        let first = if i.op_count() == 3 { 1 } else { 0 };
        let values = self.operand(i, first).zip(self.get(self.location(i, first + 1), n));
        let outcome = values.map(|(a, b)| {
            let product = i128::from(extend(a, n) as i64) * i128::from(extend(b, n) as i64);
            let overflow = product != i128::from(extend(product as u64 & mask(n), n) as i64);
            alu::product(product as u64, overflow, n)
        });
        self.set_flags(outcome, STATUS);
        self.assign(i, outcome.map(|outcome| outcome.value));
    }

    /// `mul` and `imul` with one operand: `f` gives the product and whether it needs the upper half.
    pub fn multiply_wide(&mut self, i: &Instruction, f: impl Fn(u64, u64, u32) -> (u128, bool)) {
        let n = bytes(i, 0);
        let values = self.regs.read(accumulator(n)).zip(self.operand(i, 0));
        let product = values.map(|(a, b)| f(a, b, n));
        let outcome = product.map(|(product, overflow)| alu::product(product as u64, overflow, n));
        self.set_flags(outcome, STATUS);
        self.regs.write(accumulator(n), outcome.map(|outcome| outcome.value));
        let upper = product.map(|(product, _)| (product >> (n * 8)) as u64 & mask(n));
        self.regs.write(upper_half(n), upper);
    }

    pub fn divide(&mut self, i: &Instruction, f: fn(u128, u64, u32) -> Division) -> Next {
        let n = bytes(i, 0);
        let dividend = self.regs.read(upper_half(n)).zip(self.regs.read(accumulator(n)));
        let values = dividend.zip(self.operand(i, 0));
        let division =
            values.map(|((high, low), divisor)| f(u128::from(high) << (n * 8) | u128::from(low), divisor, n));
        let (quotient, remainder) = match division {
            Some(Some((quotient, remainder))) => (Some(quotient), Some(remainder)),
            // It faults, and the program decides what happens then.
            Some(None) => return Next::Stop(Obstacle::Unknown),
            None => (None, None),
        };
        self.set_flags(None, STATUS);
        self.regs.write(accumulator(n), quotient);
        self.regs.write(upper_half(n), remainder);
        Next::Through
    }

    pub fn bit_test(&mut self, i: &Instruction) {
        let n = bytes(i, 0);
        let bit = self.get(self.location(i, 1), n);
        let location = match self.location(i, 0) {
            Location::Memory(address) if i.op1_kind() == OpKind::Register => {
                let address = address.zip(bit);
                Location::Memory(address.map(|(address, bit)| bit_string_element(address, bit, n)))
            }
            location => location,
        };
        let values = self.get(location, n).zip(bit);
        let outcome = values.map(|(value, bit)| {
            let one = 1 << (bit % u64::from(n * 8));
            let changed = match i.mnemonic() {
                Mnemonic::Bts => value | one,
                Mnemonic::Btr => value & !one,
                Mnemonic::Btc => value ^ one,
                _ => value,
            };
            alu::with(changed, alu::when(value & one != 0, CF), CF)
        });
        // ZF stays as it was.
        self.set_flags(outcome, STATUS & !ZF);
        if i.mnemonic() != Mnemonic::Bt {
            self.set(location, n, outcome.map(|outcome| outcome.value));
        }
    }

    /// `tzcnt`, `lzcnt`, `popcnt`.
    pub fn count(&mut self, i: &Instruction, f: impl Fn(u64, u32) -> Outcome) {
        let outcome = self.operand(i, 1).map(|value| f(value, bytes(i, 0)));
        self.set_flags(outcome, STATUS);
        self.assign(i, outcome.map(|outcome| outcome.value));
    }

    /// `bsf` and `bsr`: the destination of a scan of zero is undefined by one vendor and kept by the other.
    pub fn scan(&mut self, i: &Instruction, f: impl Fn(u64, u32) -> u64) {
        let value = self.operand(i, 1);
        let zero = value.map(|value| alu::with(0, alu::when(value == 0, ZF), ZF));
        self.set_flags(zero, STATUS);
        let found = value.filter(|value| *value != 0).map(|value| f(value, bytes(i, 0)));
        self.assign(i, found);
    }

    /// `bswap` (operand 0) and `movbe` (operand 1).
    pub fn swap_bytes(&mut self, i: &Instruction, from: u32) {
        let n = bytes(i, 0);
        // bswap of a 16-bit register is undefined.
        let value = self.operand(i, from).filter(|_| n >= 4 || from == 1);
        self.assign(i, value.map(|value| value.swap_bytes() >> (64 - n * 8)));
    }

    pub fn exchange(&mut self, i: &Instruction) {
        let n = bytes(i, 0);
        let (first, second) = (self.location(i, 0), self.location(i, 1));
        let (a, b) = (self.get(first, n), self.get(second, n));
        self.set(first, n, b);
        self.set(second, n, a);
    }

    pub fn exchange_add(&mut self, i: &Instruction) {
        let n = bytes(i, 0);
        let (first, second) = (self.location(i, 0), self.location(i, 1));
        let (a, b) = (self.get(first, n), self.get(second, n));
        let outcome = a.zip(b).map(|(a, b)| alu::add(a, b, 0, n));
        self.set_flags(outcome, STATUS);
        self.set(second, n, a);
        self.set(first, n, outcome.map(|outcome| outcome.value));
    }

    pub fn compare_exchange(&mut self, i: &Instruction) {
        let n = bytes(i, 0);
        let location = self.location(i, 0);
        let (old, expected) = (self.get(location, n), self.regs.read(accumulator(n)));
        let new = self.get(self.location(i, 1), n);
        let outcome = expected.zip(old).map(|(expected, old)| alu::sub(expected, old, 0, n));
        self.set_flags(outcome, STATUS);
        match outcome.map(|outcome| outcome.value == 0) {
            Some(true) => self.set(location, n, new),
            Some(false) => {
                self.set(location, n, old);
                self.regs.write(accumulator(n), old);
            }
            None => {
                self.set(location, n, None);
                self.regs.write(accumulator(n), None);
            }
        }
    }

    /// `cmovcc`: always loads; a 32-bit destination is cleared above even where nothing moves.
    pub fn move_if(&mut self, i: &Instruction) {
        let value = match self.condition(i) {
            Some(true) => self.operand(i, 1),
            Some(false) => self.operand(i, 0),
            None => None,
        };
        self.assign(i, value);
    }

    /// `cbw`, `cwde`, `cdqe`.
    pub fn extend_accumulator(&mut self, from: u32, to: u32) {
        let value = self.regs.read(accumulator(from)).map(|value| extend(value, from));
        self.regs.write(accumulator(to), value);
    }

    /// `cwd`, `cdq`, `cqo`.
    pub fn spread_sign(&mut self, n: u32) {
        let value = self.regs.read(accumulator(n));
        let sign = value.map(|value| if alu::top(value, n) { mask(n) } else { 0 });
        self.regs.write(upper_half(n), sign);
    }
}

/// Unsigned division of a dividend of `2 n` bytes.
pub(super) fn divide_unsigned(dividend: u128, divisor: u64, n: u32) -> Division {
    let quotient = dividend.checked_div(u128::from(divisor))?;
    let remainder = dividend.checked_rem(u128::from(divisor))?;
    (quotient <= u128::from(mask(n))).then_some((quotient as u64, remainder as u64))
}

/// Signed division of a dividend of `2 n` bytes.
pub(super) fn divide_signed(dividend: u128, divisor: u64, n: u32) -> Division {
    let unused = 128 - n * 16;
    let dividend = (dividend << unused) as i128 >> unused;
    let divisor = i128::from(extend(divisor, n) as i64);
    let quotient = dividend.checked_div(divisor)?;
    let remainder = dividend.checked_rem(divisor)?;
    let fits = quotient == i128::from(extend(quotient as u64 & mask(n), n) as i64);
    fits.then_some((quotient as u64 & mask(n), remainder as u64 & mask(n)))
}

/// True where all registers are general ones: not a segment, control or debug register.
pub(super) fn is_plain(i: &Instruction) -> bool {
    (0..i.op_count()).all(|number| match (i.try_op_kind(number), i.try_op_register(number)) {
        (Ok(OpKind::Register), Ok(register)) => register.is_gpr(),
        _ => true,
    })
}

/// `xor r, r` and the like: the result does not depend on the register.
fn cancels(i: &Instruction) -> bool {
    let same = i.op0_kind() == OpKind::Register
        && i.op1_kind() == OpKind::Register
        && i.op0_register() == i.op1_register();
    same && i.op0_register() != Register::None
        && matches!(i.mnemonic(), Mnemonic::Xor | Mnemonic::Sub | Mnemonic::Cmp | Mnemonic::Sbb)
}
