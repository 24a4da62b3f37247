//! What takes long says how far it is: on terminals only.

use std::io::{IsTerminal as _, stderr};

use carom_view::thousands;

/// So many accesses were simulated.
pub fn simulated(accesses: u64) {
    if stderr().is_terminal() {
        eprint!("\r\x1b[Kcarom: simulating: {} accesses", thousands(accesses));
    }
}

/// Nothing takes long any more: the line is empty again.
pub fn clear() {
    if stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
}
