//! The exact analyser against slow, obvious ones, and against answers that are known by construction.

mod interleave;
mod naive;
mod properties;
mod ribench;
mod shards;
mod stages;
