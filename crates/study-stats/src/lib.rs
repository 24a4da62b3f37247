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
//! | do the means of two samples differ, and by which factor? | [`welch`], [`ratio_of_means`], [`hedges_g`] |
//! | the same without any assumption about their distribution | [`mann_whitney`] |
//! | how does a quantity follow a parameter? | [`fits`] |
//! | how large is it beyond what was measured? | [`growth`] |
//! | which few quantities explain a cost? | [`explain`], [`principal_components`] |
//! | where does a signal change its slope? | [`segments`] |
//! | how likely is each of many differences by chance? | [`holm`] to decide, [`benjamini_hochberg`] to explore |
//! | do two rankings agree? | [`spearman`] |
//! | where is the middle, and how wide? | [`median`], [`quantile`] |
//! | what would a cache of any size miss? | [`reuse`] |
//!
//! Nothing here panics or returns NaN: what cannot be computed is `None`.
#![forbid(unsafe_code)]

mod benjamini_hochberg;
mod blocks;
mod combination;
mod count;
mod dispersed;
mod explain;
mod fit;
mod growth;
mod hedges;
mod holm;
mod jackknife;
mod mann_whitney;
mod moments;
mod principal;
mod proportion;
mod quantile;
mod rank;
pub mod reuse;
mod segments;
mod solve;
mod student;
#[cfg(test)]
mod testing;
mod weights;
mod welch;
mod wilson;

pub use benjamini_hochberg::benjamini_hochberg;
pub use blocks::{Block, MAX_BLOCKS, TimeBlocks};
pub use combination::{Term, combination};
pub use count::{poisson, weighted_poisson};
pub use dispersed::{Dispersed, dispersed_two_sided};
pub use explain::{Explained, collinear, explain};
pub use fit::{Fit, Model, Prediction, fits};
pub use growth::{Growth, GrowthLaw, GrowthTerm, growth};
pub use hedges::hedges_g;
pub use holm::holm;
pub use jackknife::ratio_variance;
pub use mann_whitney::{MannWhitney, least_probability, mann_whitney};
pub use moments::Moments;
pub use principal::principal_components;
pub use proportion::Proportion;
pub use quantile::{median, quantile};
pub use rank::{midranks, spearman};
pub use segments::{Number, Segment, segments};
pub use student::{normal_two_sided, student_975, student_two_sided};
pub use weights::effective_sample_size;
pub use welch::{Welch, ratio_of_means, welch};
pub use wilson::{Interval, Z_95, wilson};
