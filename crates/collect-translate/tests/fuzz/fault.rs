//! What a handler finds of a fault.

use crate::machine::PLACES;

/// Up to the last of the XMM registers (Intel SDM volume 1, table 10-2).
const LEGACY_BYTES: usize = 416;

/// The arithmetic flags, which may be wrong where the code overwrites them, and those of debugging.
const IGNORED_FLAGS: u64 = 0x8d5 | 1 << 8 | 1 << 16;

/// One fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    signal: i32,
    code: i32,
    address: u64,
    rip: u64,
    gprs: [u64; 16],
    flags: u64,
    /// x87 and SSE state, without the address of the last x87 instruction.
    legacy: [u8; LEGACY_BYTES],
}

impl Fault {
    pub fn of(signal: i32, info: &libc::siginfo_t, context: &libc::ucontext_t) -> Self {
        let word = |place: i32| context.uc_mcontext.gregs[place as usize] as u64;
        // SAFETY: the kernel puts the state there.
        let mut legacy = unsafe { context.uc_mcontext.fpregs.cast::<[u8; LEGACY_BYTES]>().read() };
        legacy[crate::state::LAST_X87].fill(0);
        // SAFETY: a fault has an address.
        let address = unsafe { info.si_addr() } as u64;
        // The address of the instruction is one in the cache: `si_addr` of these signals is known to differ.
        let is_place = matches!(signal, libc::SIGFPE | libc::SIGILL | libc::SIGTRAP);
        Self {
            signal,
            code: info.si_code,
            address: if is_place { 0 } else { address },
            rip: word(libc::REG_RIP),
            gprs: PLACES.map(word),
            flags: word(libc::REG_EFL) & !IGNORED_FLAGS,
            legacy,
        }
    }

    /// What differs.
    pub fn differences(&self, other: &Self) -> String {
        let at = self.legacy.iter().zip(&other.legacy).position(|(one, two)| one != two);
        let show = |fault: &Self| {
            let Self { signal, code, address, rip, gprs, flags, .. } = fault;
            format!(
                "signal {signal} code {code} address {address:#x} rip {rip:#x} flags {flags:#x} {gprs:x?}"
            )
        };
        let bytes = at.map(|at| (at, self.legacy[at], other.legacy[at]));
        format!("{} natively, {} translated; x87 and SSE: {bytes:x?}", show(self), show(other))
    }
}
