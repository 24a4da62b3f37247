//! The TLB of data: a cache of pages, which every core has and none takes from another.

use carom_base_sim::{Inclusion, Level, Machine, Protocol, Replacement, Settings};

/// Bytes of a page. Huge pages are not told apart: the recording does not say where they are.
const PAGE: u32 = 4096;

/// Parts of a page that the simulator tells apart at most.
const PARTS: u32 = 64;

/// A usual one: 64 entries of 4 ways, then 1,536 of 12 ways (Intel 64 and IA-32 Architectures Optimization Reference Manual, TLB
/// parameters of Skylake). Linux does not describe the machine's own.
pub fn machine(cores: usize) -> Machine {
    let level = |entries: u64, ways| Level {
        bytes: entries * u64::from(PAGE),
        ways,
        replacement: Replacement::Lru,
        inclusion: Inclusion::NonInclusive,
    };
    Machine {
        sockets: 1,
        cores_per_socket: cores,
        line_bytes: PAGE,
        protocol: Protocol::Mesi,
        l1: level(64, 4),
        l2: Some(level(1536, 12)),
        l3: None,
        seed: 0,
    }
}

/// Which bytes of a page are accessed does not matter.
pub fn settings() -> Settings {
    Settings { mask_bytes: PAGE / PARTS, ..Settings::default() }
}
