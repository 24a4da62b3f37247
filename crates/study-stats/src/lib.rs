//! Statistics, each formula with its source and its assumptions.
//!
//! | question | function |
//! | --- | --- |
//! | how sure is this proportion, given weights and order in time? | [`TimeBlocks::proportion`] |
//! | the same for plain counts | [`wilson`] |
//! | how sure is this number of events, given weights? | [`weighted_poisson`], [`poisson`] |
//! | how many equal observations are these weighted ones worth? | [`effective_sample_size`] |
//! | how sure is a sum or a difference of estimates? | [`combination`] |
//! | how likely is such a difference by chance? | [`student_two_sided`], [`normal_two_sided`] |
//! | the same where many are compared | [`holm`] |
//! | do two rankings agree? | [`spearman`] |
//! | where is the middle, and how wide? | [`median`], [`quantile`] |
//! | what would a cache of any size miss? | [`reuse`] |
//!
//! Nothing here panics or returns NaN: what cannot be computed is `None`.
#![forbid(unsafe_code)]

mod blocks;
mod combination;
mod count;
mod holm;
mod jackknife;
mod proportion;
mod quantile;
mod rank;
pub mod reuse;
mod student;
#[cfg(test)]
mod testing;
mod weights;
mod wilson;

pub use blocks::{Block, MAX_BLOCKS, TimeBlocks};
pub use combination::{Term, combination};
pub use count::{poisson, weighted_poisson};
pub use holm::holm;
pub use jackknife::ratio_variance;
pub use proportion::Proportion;
pub use quantile::{median, quantile};
pub use rank::{midranks, spearman};
pub use student::{normal_two_sided, student_975, student_two_sided};
pub use weights::effective_sample_size;
pub use wilson::{Interval, Z_95, wilson};
