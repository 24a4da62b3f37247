//! Reuse distance: from sampled or counted distances to the misses of a cache.
//!
//! | question | answer |
//! | --- | --- |
//! | how are distances distributed, when not every use was watched to its end? | [`Incidence`] |
//! | the same as shares of all uses, counted or estimated | [`Distances`] |
//! | how many places lie between a use and its reuse? | [`Distances::places_among`] |
//! | what does a cache of any size miss, from time distances? | [`stat_stack`], [`Footprint`] |
//! | the same, of a program that goes through phases | [`phased_stack_distances`], [`phased_places`] |
//! | with bands | [`sampled()`] |
//! | the same, from stack distances | [`MissRatioCurve::of_stack_distances`] |
//! | what if a cache has sets? | [`part_missing`] |
//! | of lines from temporal and spatial reuse; of a shared cache from private and shared | [`Distances::first_of`] |
//! | do two histograms agree? | [`accuracy`], [`GeometricBins`] |
//!
//! A distance is the number of accesses (time) or of different places (stack) strictly between two accesses to the same
//! place. A place is an aligned block of the granularity's size.
//!
//! In a shared cache a use is followed by the next access of *any* thread of the domain, in the clock of the domain:
//! if such distances were recorded, nothing has to be combined here.

mod bins;
mod combine;
mod curve;
mod distances;
mod footprint;
mod incidence;
mod phased;
mod sampled;
mod sets;
mod stat_stack;
#[cfg(test)]
mod tests;

pub use bins::{GeometricBins, accuracy};
pub use combine::survival_of_first;
pub use curve::{Knot, MissRatioCurve};
pub use distances::{Distances, Step};
pub use footprint::Footprint;
pub use incidence::{End, Incidence, Observation};
pub use phased::{phased_places, phased_stack_distances};
pub use sampled::{Bootstrap, Model, sampled};
pub use sets::part_missing;
pub use stat_stack::stat_stack;
