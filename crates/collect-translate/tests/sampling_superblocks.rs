//! As `sampling`, where all branches are taken for such that go one way mostly.
#![allow(clippy::unwrap_used)] // What a test cannot have fails it.

#[path = "sampling.rs"]
mod sampling;
