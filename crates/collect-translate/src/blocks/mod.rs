//! The code cache: translations, their places, and the ways between blocks.
//!
//! - **Arenas** ([`code`]): at most twelve of 16 MiB for each version, within 2 GiB of the original code. Each is a memfd that is
//!   mapped twice: executable near the code, writable elsewhere. Code below 2 GiB, whose operands can be absolute, can
//!   be placed anywhere. Each arena has *windows* of counters, one for every lane, at the same distance from each lane.
//!   So the same instruction `sub qword ptr gs:[rip+d], 1`, or `gs:[d]` where they lie far from the code
//!   (`encode::counters`), counts in each thread's own window.
//! - **Links** ([`links`], [`code::jumps`]): direct jumps leave at first, and are patched once their target is translated.
//! - **Landings** ([`landings`]): indirect transfers go through three tables (returns, calls, jumps), indexed by the low
//!   16 bits of the target, to a landing, which compares the whole target. Entries are single words, which threads
//!   share without a lock.
//! - **Exits** ([`code::stubs`], [`passages`], [`gate`]): code that saves the registers, blocks all signals, changes to
//!   the engine's stack and calls the dispatcher.
//! - **Switches** ([`switches`], [`versions`]): jumps at the beginnings of blocks that lead to their other version during an episode.
//! - **Invalidation** ([`invalidate`], [`retire`]): of fragments made from changed pages, or of those in the oldest
//!   arena when all are full. Links to them become exits again, and table entries are cleared.

pub mod ahead;
pub mod arenas;
pub mod cache;
pub mod code;
pub mod exact;
pub mod gate;
pub mod hooks;
pub mod invalidate;
pub mod landings;
pub mod likely;
pub mod links;
pub mod passages;
pub mod place;
pub mod retire;
pub mod spare;
pub mod switches;
pub mod translations;
pub mod versions;
