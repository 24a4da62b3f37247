//! What is found out about a block before code is generated for it.
//!
//! Added code preserves the flags unless the code ahead is known to overwrite them before it reads them
//! ([`liveness`]). Accesses whose addresses differ by constants are looked up together ([`group`]).

pub mod affine;
pub mod group;
pub mod liveness;
