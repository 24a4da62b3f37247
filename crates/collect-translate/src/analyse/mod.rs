//! What is found out about a block before code is generated for it.
//!
//! Added code preserves the flags unless the code ahead is known to overwrite them before it reads them
//! ([`liveness`]). Of accesses whose addresses differ by constants ([`values`]), those that are near
//! each other are looked up together ([`group`]), and one address is recorded for all ([`relative`]).

pub mod affine;
pub mod group;
pub mod liveness;
pub mod relative;
pub mod values;
