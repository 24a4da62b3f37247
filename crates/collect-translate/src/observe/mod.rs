//! What the engine does for its observer at exits.
//!
//! - **Samples** ([`draw`], [`early`], [`repeat`], [`vector`], [`units`]). Where the registers at the head of a block tell the
//!   address, the sample is told there, at one exit; else that execution runs in a copy of the block with a hook in front of
//!   the access.
//! - **Streams** ([`streams`]): buffers of records are handed over.
//! - **Watches** ([`watch`], [`hooks`]): what was found near watched places and by the exact look-up is told.
//! - **Times** ([`timing`]): loads that were timed in an execution that was drawn, and the cost of the bracket itself.
//! - **Holds** ([`hold`]): how long threads stand for all that.

pub mod draw;
pub mod early;
pub mod hold;
pub mod hooks;
pub mod operands;
pub mod repeat;
pub mod streams;
pub mod timing;
pub mod units;
pub mod vector;
pub mod watch;
