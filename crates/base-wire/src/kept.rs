//! Every access of a process as eight bytes, in the order in which the exact analysis took them in: what an independent
//! simulation needs to check it.
//!
//! | bits | of an access | of a turn |
//! | --- | --- | --- |
//! | 0-47 | address of its first byte | bits 0-31 serial of the thread, 32-47 its domain |
//! | 48-61 | bytes | 0 |
//! | 62-63 | 0 load, 1 store, 2 read-modify-write | 3 |
//!
//! A *turn* says whose the accesses behind it are. User addresses have 47 bits; what is wider than 16,383 bytes, which no
//! instruction is, is given as so wide.

use carom_base::{Access, ThreadId};

/// Bits of an address.
const ADDRESS_BITS: u32 = 48;

/// Bits of a width.
const WIDTH_BITS: u32 = 14;

/// What is in the place of a kind where a turn begins.
const TURN: u64 = 3;

/// The word of an access.
pub const fn kept_access(access: &Access) -> u64 {
    let widest = (1 << WIDTH_BITS) - 1;
    let width = if access.width > widest { widest } else { access.width };
    let address = access.addr.0 & ((1 << ADDRESS_BITS) - 1);
    address | (width as u64) << ADDRESS_BITS | (access.kind as u64) << (ADDRESS_BITS + WIDTH_BITS)
}

/// The word in front of accesses of a thread that ran in this domain.
pub const fn kept_turn(thread: ThreadId, domain: u16) -> u64 {
    thread.0 as u64 | (domain as u64) << u32::BITS | TURN << (ADDRESS_BITS + WIDTH_BITS)
}

#[cfg(test)]
mod tests {
    use carom_base::{AccessKind, Addr, Ip};

    use super::*;

    #[test]
    fn words_are_as_documented() {
        let access =
            Access { ip: Ip(1), addr: Addr(0x7fff_1234_5678), width: 64, kind: AccessKind::ReadModifyWrite };
        // 64 from bit 48 on, 2 from bit 62 on.
        assert_eq!(kept_access(&access), 0x8040_7fff_1234_5678);
        assert_eq!(kept_access(&Access { width: 1 << 20, ..access }), 0xbfff_7fff_1234_5678);
        assert_eq!(kept_turn(ThreadId(5), 255), 0xc000_00ff_0000_0005);
    }
}
