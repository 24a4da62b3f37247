//! Files of other tools, for comparison: strings in, strings out.

pub mod loca;
pub mod reuse_tracker;
