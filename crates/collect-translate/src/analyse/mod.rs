//! What is found out about a block before code is made for it.
//!
//! Flags are kept by added code unless the code ahead is known to overwrite them before it reads them ([`liveness`]); behind
//! returns and indirect transfers nothing is known. Accesses whose addresses differ by constants are looked up together
//! ([`group`]).

pub mod group;
pub mod liveness;
