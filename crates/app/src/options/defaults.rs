//! Defaults that several commands have.

/// Debug registers of an x86-64 processor.
pub const REGISTERS: u32 = 4;

/// Most instructions from an interrupt of the burst engine to its step sample.
pub const MAX_STEPS: u32 = 64;

/// Slots of the bulletin board.
pub const BOARD_SLOTS: u32 = 127;

/// Uses that are watched in software at a time, for each question of reuse.
pub const REUSE_SLOTS: u32 = 16;

/// Mean thread CPU time between samples for sharing that are taken by time. A timer sample and its step sample cost about
/// 30 us on a virtual machine, and setting and hitting watchpoints as much again. Their indirect cost, in cold caches and in
/// threads that wait for the interrupted one, is of the same order (`docs/benchmarks.md`).
pub const SHARE_PERIOD_NS: u64 = 3_000_000;
