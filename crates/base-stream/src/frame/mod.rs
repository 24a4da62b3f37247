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
//! | what | a byte: 0 the thread accesses from now on, 2 the thread makes no more accesses, 6 a batch, 7 a batch with marks (1, 3, 4 and 5 were batches of earlier forms) |
//!
//! A batch continues with:
//!
//! | field | |
//! | --- | --- |
//! | accesses | how many, at most [`MOST_ACCESSES`] |
//! | domain | the shared cache that the thread ran on |
//! | pauses | a byte: 1 where the thread accesses nothing until it begins again |
//! | stamps | how many; of each, accesses since the one before, and difference of its time from that of the one before (of the first: from *at*) |
//! | marks | only in a batch with marks: how many; of each, accesses since the one before, difference of its time (as of stamps), a byte for what the thread did ([`Act`](crate::Act)), and difference of its object from that of the one before (from 0 at first) |
//! | blocks | how many; of each, how many sites it has, 1 to [`MOST_SITES`] |
//! | sites | of all blocks, in their order: difference of its instruction's address from that of the one before (from 0 at first), its width, a byte for its kind (0 load, 1 store, 2 read-modify-write, 3 the same by a locked instruction), and where it is, as below |
//! | executions | how many bytes, and then the executions of blocks, as below |
//! | misses | to the end of the frame: of each address that was not the expected one, addresses since the one before that was not (at first: before it), and its difference from the last address of the same site |
//!
//! A *site* has the common properties of all accesses of one operand of an instruction, and a *block* the sites that are accessed one
//! after the other, mostly those of a basic block. Blocks are numbered in the order of their first executions. Addresses in a block that
//! always differ by the same are told once: a site whose kind is 4 more than above has, instead of an address of its own, the number of another's
//! among those of its block, and the difference from it. Each of the others has the difference of its first address from that of the one before
//! that has one (from 0 at first).
//!
//! The *block* that is expected is the one that followed when the last six blocks were the same; where none has, the one that followed
//! the last block the last time; where that is new, the next in number. It is expected to be executed as often in a row as the last time, at
//! first once. The *address* at a site is expected to be as far from the last one as its stride says: the difference that was seen twice in
//! a row last, apart for executions that repeat the block and for others. (Eickemeyer and Vassiliadis, "A load-instruction unit for pipelined
//! processors", IBM Journal of Research and Development 37, 1993; for traces, and with longer histories, VPC3: Burtscher, SIGMETRICS 2004.)
//! The executions are a sequence of:
//!
//! | field | |
//! | --- | --- |
//! | code | four times the number of blocks in a row of which all is as expected; then one follows of which it is not: +1 if it is another block, +2 if it was executed more or fewer times. +0: none follows |
//! | block | after +1: its number |
//! | times | after +2: how often it was executed in a row |
//!
//! In loops almost all is expected, and neither bytes nor time are spent on single accesses.

mod accesses;
mod blocks;
mod decode;
mod encode;
mod error;
mod form;
mod head;
mod merge;
mod sites;
mod stride;

pub use decode::{Content, Frame};
pub use encode::{BatchHead, Encoder};
pub use error::FrameError;
pub use form::{AsRecorded, Form};
pub use head::{FrameAndRest, Head, split, with_thread};

/// The largest size of a frame in bytes.
pub const MAX_FRAME_BYTES: usize = 4 << 20;

/// The most accesses of a batch. So a batch never exceeds the largest size, and takes little memory once it is read.
pub const MOST_ACCESSES: usize = 64 << 10;

/// The most sites of a block.
pub const MOST_SITES: usize = 128;

/// The codes of the contents of a frame.
mod codes {
    pub const BEGIN: u8 = 0;
    pub const END: u8 = 2;
    pub const BATCH: u8 = 6;
    pub const BATCH_WITH_MARKS: u8 = 7;
    /// Batches of earlier forms.
    pub const EARLIER: [u8; 4] = [1, 3, 4, 5];

    /// The kind of a locked instruction's access; other kinds are those of [`carom_base::AccessKind`].
    pub const ATOMIC: u8 = 3;

    /// Added to the kind of a site whose address follows from another one of its block.
    pub const FOLLOWS: u8 = 4;

    /// Bits of the code of executions below their number.
    pub const FLAG_BITS: u32 = 2;
    /// Another block than expected.
    pub const OTHER_BLOCK: u64 = 1;
    /// It was not executed as often in a row as expected.
    pub const OTHER_TIMES: u64 = 2;
}
