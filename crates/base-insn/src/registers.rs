use iced_x86::Register;

/// Which parts of [`Registers`] can be relied on. A part that is not known holds a value without meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Bit n: general register n, all 64 bits.
    pub gpr: u16,
    /// The bits of RFLAGS that are known.
    pub rflags: u64,
    /// Bit n: vector register n, all 512 bits, is as the XSAVE area has it.
    pub vectors: u32,
    /// Bit n: mask register kn is as the XSAVE area has it.
    pub opmasks: u8,
}

impl Known {
    /// Everything, as in an interrupted context.
    pub const ALL: Self = Self { gpr: u16::MAX, rflags: u64::MAX, vectors: u32::MAX, opmasks: u8::MAX };
}

/// The state of a thread between two instructions.
#[derive(Clone, Copy, Debug)]
pub struct Registers<'a> {
    /// RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8 to R15: the order of the hardware's register numbers.
    pub gpr: [u64; 16],
    /// The instruction that runs next.
    pub rip: u64,
    /// Status and control flags.
    pub rflags: u64,
    /// The base of FS.
    pub fs_base: u64,
    /// The base of GS, or `None` where the handler cannot see it.
    pub gs_base: Option<u64>,
    /// The interrupted XSAVE area in its standard (not compacted) format, as signal frames and
    /// `PTRACE_GETREGSET` have it. May be empty: vector indices and masks are then unknown.
    pub xsave: &'a [u8],
    /// Which of the above is known.
    pub known: Known,
}

impl Registers<'_> {
    /// The value of a general register or of a part of one, zero-extended.
    pub(crate) fn read(&self, register: Register) -> Option<u64> {
        let part = Part::of(register)?;
        if self.known.gpr >> part.index & 1 == 0 {
            return None;
        }
        let whole = self.gpr.get(part.index).copied()?;
        Some(whole >> part.shift & mask(part.bytes))
    }

    /// Writes a general register or a part of one as the processor would: 32-bit writes clear the upper
    /// half, narrower ones keep the rest. `None` makes the register unknown. Other registers are ignored.
    pub(crate) fn write(&mut self, register: Register, value: Option<u64>) {
        let Some(part) = Part::of(register) else { return };
        let Some(whole) = self.gpr.get_mut(part.index) else { return };
        let bit = 1 << part.index;
        let Some(value) = value else {
            self.known.gpr &= !bit;
            return;
        };
        if part.bytes >= 4 {
            *whole = value & mask(part.bytes);
            self.known.gpr |= bit;
        } else {
            let field = mask(part.bytes) << part.shift;
            *whole = *whole & !field | value << part.shift & field;
        }
    }

    /// The registers that addresses are made of: general registers and segment bases.
    pub(crate) fn address_part(&self, register: Register) -> Option<u64> {
        match register {
            Register::FS => Some(self.fs_base),
            Register::GS => self.gs_base,
            Register::CS | Register::DS | Register::ES | Register::SS => Some(0),
            Register::RIP => Some(self.rip),
            _ => self.read(register),
        }
    }

    /// Forgets every register that contains `register`, or is contained in it.
    pub(crate) fn forget(&mut self, register: Register) {
        if let Some(part) = Part::of(register) {
            self.known.gpr &= !(1 << part.index);
        } else if register.is_vector_register() {
            self.known.vectors &= !1u32.wrapping_shl(register.number() as u32);
        } else if register.is_k() {
            self.known.opmasks &= !1u8.wrapping_shl(register.number() as u32);
        }
    }
}

/// A general register as a field of one of the sixteen 64-bit ones.
struct Part {
    index: usize,
    bytes: u32,
    shift: u32,
}

impl Part {
    fn of(register: Register) -> Option<Self> {
        if !register.is_gpr() {
            return None;
        }
        let high = matches!(register, Register::AH | Register::CH | Register::DH | Register::BH);
        Some(Self {
            index: register.full_register().number() & 15,
            bytes: register.size() as u32,
            shift: if high { 8 } else { 0 },
        })
    }
}

/// The low `bytes` bytes.
pub(crate) const fn mask(bytes: u32) -> u64 {
    if bytes >= 8 { u64::MAX } else { (1 << (bytes * 8)) - 1 }
}

/// Bits of RFLAGS.
pub(crate) mod flag {
    pub const CF: u64 = 1 << 0;
    pub const PF: u64 = 1 << 2;
    pub const AF: u64 = 1 << 4;
    pub const ZF: u64 = 1 << 6;
    pub const SF: u64 = 1 << 7;
    pub const DF: u64 = 1 << 10;
    pub const OF: u64 = 1 << 11;
    /// The flags that arithmetic sets.
    pub const STATUS: u64 = CF | PF | AF | ZF | SF | OF;
}
