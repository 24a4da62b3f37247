//! Signals in the kernel's sets.

/// Signals are numbered from 1 to this.
pub const MOST: usize = 64;

/// The bit of a signal in a kernel's set.
pub const fn bit(signal: u64) -> u64 {
    if signal == 0 || signal > MOST as u64 { 0 } else { 1 << (signal - 1) }
}

/// Signals that cannot be blocked.
pub const FIXED: u64 = bit(libc::SIGKILL as u64) | bit(libc::SIGSTOP as u64);
