//! Streams as bytes: a *frame* for each batch that a thread hands over, for its beginning, and for its end.
//!
//! Frames follow each other in the order in which they were handed over, each in one piece. So the input of an
//! [`Interleaver`](crate::Interleaver) can be stored and given to another one. All numbers except single bytes are
//! varints ([`carom_base::put_varint`]); a *difference* is one in zigzag.
//!
//! | field | |
//! | --- | --- |
//! | bytes | of all that follows in the frame |
//! | thread | its number |
//! | at | when it was handed over, in nanoseconds: later accesses are not in it |
//! | what | a byte: 0 the thread accesses from now on, 1 a batch, 2 the thread makes no more accesses, 3 a batch with marks |
//!
//! A batch continues with:
//!
//! | field | |
//! | --- | --- |
//! | domain | the shared cache that the thread ran on |
//! | pauses | a byte: 1 where the thread accesses nothing until it begins again |
//! | stamps | how many; of each, accesses since the one before, and difference of its time from that of the one before (of the first: from *at*) |
//! | marks | only in a batch with marks: how many; of each, accesses since the one before, difference of its time (as of stamps), a byte for what the thread did ([`Act`](crate::Act)), and difference of its object from that of the one before (from 0 at first) |
//! | sites | how many; of each, difference of its instruction's address from that of the one before (from 0 at first), its width, and a byte for its kind: 0 load, 1 store, 2 read-modify-write, 3 the same by a locked instruction |
//! | accesses | how many |
//! | site of each | 0: the one that followed the site before the last time, or where that is new, the next in number; otherwise one more than the number of the site |
//! | address of each | difference from the last address of the same site (from 0 at first) |
//!
//! A *site* has the common properties of all accesses of one operand of an instruction. Sites are numbered in the
//! order of their first access. In loops, most accesses are of the expected site, and their addresses continue with
//! the same difference: columns of equal small numbers, which a general compressor reduces to little. (Traces have
//! been compressed before by predicting values and coding the differences: Burtscher, "VPC3: A Fast and Effective
//! Trace-Compression Algorithm", SIGMETRICS 2004.)

mod decode;
mod encode;
mod error;
mod merge;
mod site;

pub use decode::{Content, Frame, FrameAndRest, split, with_thread};
pub use encode::{BatchHead, Encoder};
pub use error::FrameError;

/// The largest size of a frame in bytes.
pub const MAX_FRAME_BYTES: usize = 4 << 20;

/// The codes of the contents of a frame.
mod codes {
    pub const BEGIN: u8 = 0;
    pub const BATCH: u8 = 1;
    pub const END: u8 = 2;
    pub const BATCH_WITH_MARKS: u8 = 3;
    /// The kind of a locked instruction's access; other kinds are those of [`carom_base::AccessKind`].
    pub const ATOMIC: u8 = 3;
}
