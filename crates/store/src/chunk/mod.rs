//! Chunks: the unit in which rows reach the disk. A chunk is complete or it does not count.

mod column;
mod frame;
mod kind;

pub use column::{Bytes, ColumnReader, ColumnWriter, Integers, Words};
#[doc(hidden)]
pub use frame::reseal;
pub use frame::{HEADER_BYTES, Header, MAX_PAYLOAD_BYTES, encode, payload};
pub use kind::Kind;
