//! As `by_instruction`, where all branches are taken for such that go one way mostly.
#![allow(clippy::unwrap_used)] // What a test cannot have fails it.

#[path = "by_instruction.rs"]
mod by_instruction;
