//! The vocabulary of carom, shared by the agent in the profiled process and the host.
//!
//! Everything here is plain data: no allocation, no I/O, no `unsafe`, so a signal handler may use it.
#![no_std]
#![forbid(unsafe_code)]

mod access;
mod address;
mod bins;
mod counter;
mod event;
mod id;
mod leave;
mod reduction;
mod reuse;
mod shared;
mod skip;
mod varint;

pub use access::{Access, AccessKind};
pub use address::{Addr, Ip, LARGEST_PLACE_BYTES, LINE_BYTES, Line};
pub use bins::LogBin;
pub use counter::Counter;
pub use event::{EarlierWrite, Population, Sample, SampleOutcome, SharingClass, SharingEvent, Via};
pub use id::{Cpu, Domain, Nanos, ProcessId, StackId, ThreadId};
pub use leave::Leave;
pub use reduction::{Keep, Reduction};
pub use reuse::{
    CellClass, DistanceKind, Locality, ReuseCell, ReuseEvent, ReuseKind, ReuseOutcome, Scope, Touch,
};
pub use shared::SegmentId;
pub use skip::Skip;
pub use varint::{
    MAX_VARINT_BYTES, VarintError, at_difference, difference, put_varint, take_varint, varint_bytes,
};
