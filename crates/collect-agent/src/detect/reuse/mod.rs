//! Reuse: how far apart accesses to the same data are, and what happens to it in between.
//!
//! Either all accesses are looked at ([`exact`]), or some are sampled and watched ([`sampled`]): `questions` says what for,
//! `people` who there is, `armoury` who watches what, be it in `tables` of lines or in debug `registers`.

mod armoury;
mod exact;
mod kept;
pub mod people;
mod questions;
mod registers;
mod sampled;
mod tables;

pub use self::{exact::Exact, sampled::Sampled};
