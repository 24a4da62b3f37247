//! What the engine does for its observer at exits.
//!
//! - **Samples** ([`draw`], [`sites`], [`early`], [`repeat`], [`vector`], [`units`]). Where the registers at the head of a block
//!   determine the address, the sample is reported there, at one exit. Otherwise this execution runs in a copy of the
//!   block with a hook in front of the access. - **Streams** ([`streams`]): buffers of records are handed over. -
//!   **Watches** ([`watch`], [`hooks`]): accesses that both look-ups found are reported. - **Times** ([`timing`]):
//!   loads that were timed in an execution that was drawn, and the cost of timing itself. - **Holds** ([`hold`]): how
//!   long threads stand still for all that.

pub mod draw;
pub mod early;
pub mod hold;
pub mod hooks;
pub mod notes;
pub mod operands;
pub mod repeat;
pub mod sites;
pub mod streams;
pub mod timing;
pub mod units;
pub mod vector;
pub mod watch;
