//! Streams as text, to be written and read by people.
//!
//! ```
//! use carom_base_stream::text;
//!
//! let records = text::parse("
//!     ## thread  kind   width  address    instruction
//!       0       store  8      @0x1000    0x401000     # Two words of one line:
//!       1       load   8      @0x1008    0x402000     # false sharing.
//!  500: 0       atomic 4      @0x1000                 # 499 ns later, by an instruction that nobody asks for
//!       0       end
//! ")?;
//! let times: Vec<u64> = records.iter().map(|record| record.time.0).collect();
//! assert_eq!(times, [0, 1, 500, 501]);
//! assert_eq!(text::parse(&text::write(&records))?, records);
//! # Ok::<(), text::TextError>(())
//! ```
//!
//! A line is one record. Words are separated by spaces or tabs, `#` begins a comment, and empty lines mean nothing:
//!
//! ```text
//! [TIME:] [PROCESS.]THREAD load|store|rmw|atomic WIDTH @ADDRESS [INSTRUCTION]
//! [TIME:] [PROCESS.]THREAD begin|end
//! [TIME:] [PROCESS.]THREAD SYNCHRONISATION @OBJECT
//! ```
//!
//! - `TIME` is in nanoseconds. Without it, a record is 1 ns later than the one in the line before; the first is at 0. Lines
//!   need not be in the order of time, except those of one thread.
//! - `PROCESS` is 0 where it is left out. Threads of different processes have different numbers.
//! - `rmw` reads and writes the same bytes; `atomic` does so by a locked instruction.
//! - `WIDTH` is in bytes, at least 1. `INSTRUCTION` is the address of the instruction, 0 where it is left out.
//! - `SYNCHRONISATION` is one of [`Act`](crate::Act): `lock`, `unlock`, `arrive`, `depart` and so on. `OBJECT` is the address of
//!   the lock or barrier; for `create`, `start`, `finish` and `join`, any number that stands for the thread.
//! - Numbers are decimal, or hexadecimal with `0x` in front.

mod error;
mod parse;
mod write;

pub use error::{Cause, TextError};
pub use parse::{Parser, parse};
pub use write::{Writer, write};

/// The words of what threads do.
mod words {
    pub const BEGIN: &str = "begin";
    pub const END: &str = "end";
    pub const LOAD: &str = "load";
    pub const STORE: &str = "store";
    pub const READ_MODIFY_WRITE: &str = "rmw";
    pub const ATOMIC: &str = "atomic";
}
