//! The code cache: what is translated, where it is, and the ways between blocks.
//!
//! - **Arenas** ([`code`]): 16 MiB within 2 GiB of the original code, each a memfd that is mapped twice: executable there,
//!   writable elsewhere. There are six at most. Code below 2 GiB, whose operands can be absolute, finds room anywhere. Beside
//!   each arena lie *windows* of counters, one for every lane, at one distance from all lanes, so that
//!   the same instruction `sub qword ptr gs:[rip+d], 1` counts in each thread's own window. (In a chain of such counts an
//!   operand relative to RIP cost nothing and an absolute one, `gs:[d]`, 1.2 ns, presumably because the core renames only
//!   the former.)
//! - **Links** ([`links`], [`code::jumps`]): direct jumps leave at first, and are patched once their target is translated.
//! - **Landings** ([`landings`]): indirect transfers go through three tables (returns, calls, jumps) by the low 16 bits of
//!   the target to a landing, which compares the whole target. Entries are single words: threads share them without a lock.
//! - **Exits** ([`code::stubs`], [`passages`], [`gate`]): code that saves the registers, blocks all signals, changes to
//!   the engine's stack and asks the dispatcher.
//! - **Forgetting** ([`invalidate`], [`retire`]): fragments made from changed pages, or those of the oldest arena when all
//!   are full. Links to them become exits again, and table entries are cleared.

pub mod ahead;
pub mod arenas;
pub mod cache;
pub mod code;
pub mod exact;
pub mod gate;
pub mod hooks;
pub mod invalidate;
pub mod landings;
pub mod links;
pub mod passages;
pub mod place;
pub mod retire;
pub mod spare;
pub mod translations;
