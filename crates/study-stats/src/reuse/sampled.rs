//! Miss ratios from sampled uses, with their precision.

use rayon::prelude::*;

use super::curve::MissRatioCurve;
use super::footprint::Footprint;
use super::incidence::{Incidence, Observation};
use super::phased::phased_stack_distances;
use super::stat_stack::stat_stack;
use crate::effective_sample_size;
use crate::wilson::{Interval, Z_95, wilson};

/// The model that converts time distances to miss ratios.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Model {
    /// [`stat_stack`]: for programs that behave uniformly.
    #[default]
    StatStack,
    /// [`phased_stack_distances`]: StatStack, phase by phase.
    Phased {
        /// The number of accesses that the program (the thread, the domain) made.
        accesses: u64,
    },
    /// [`Footprint`]: for programs that behave uniformly.
    Footprint {
        /// The number of accesses that the program (the thread, the domain) made.
        accesses: u64,
    },
}

/// A bootstrap: the number of times that as many observations as there are are drawn with replacement (Efron,
/// "Bootstrap methods: another look at the jackknife", Annals of Statistics 7, 1979). Equal seeds give equal bands.
///
/// Observations that were sampled together are drawn together, as many such clusters as there are (Field and Welsh, J. R. Stat. Soc. B
/// 69, 2007): they tell more of their own time than of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bootstrap {
    /// How often. The relative error of a band's width is about 1 / √(2 resamples).
    pub resamples: u32,
    /// The seed of the draws.
    pub seed: u64,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self { resamples: 50, seed: 1 }
    }
}

/// The curve that a model computes from sampled uses, in the order of the uses. `None` without any weight.
/// `granularity`: the size of a place in bytes. `clusters`: how many observations each cluster has, in their order; none: each
/// observation is one.
///
/// A band is as wide as the resampled curves scatter (normal approximation, 95%), and at least as wide as Wilson's
/// interval for the number of observations that the weights are worth: if no observation misses, no resample does
/// either.
pub fn sampled(
    observations: &[Observation],
    model: Model,
    granularity: u32,
    bootstrap: Bootstrap,
    clusters: &[usize],
) -> Option<MissRatioCurve> {
    let curve = modelled(observations, model, granularity)?;
    let worth = effective_sample_size(observations.iter().map(|it| it.weight));
    let mut random = Random(bootstrap.seed);
    let mut squares = vec![0.0; curve.knots().len()];
    let mut resamples: u32 = 0;
    let mut left = bootstrap.resamples as usize;
    while left > 0 {
        // In their order, so that sums are the same on any number of processors.
        let batch = left.min((MOST_DRAWN / observations.len().max(1)).max(rayon::current_num_threads()));
        left -= batch;
        let drawn: Vec<_> = (0..batch).map(|_| draw(observations.len(), clusters, &mut random)).collect();
        let apart: Vec<_> = drawn
            .par_iter()
            .filter_map(|times| {
                let other = modelled(&resample(observations, times), model, granularity)?;
                Some(apart(&curve, &other, granularity))
            })
            .collect();
        resamples += apart.len() as u32;
        for apart in apart {
            squares.iter_mut().zip(apart).for_each(|(square, apart)| *square += apart * apart);
        }
    }
    Some(curve.with_bands(|index, knot| {
        let variance = squares.get(index).map_or(0.0, |square| square / f64::from(resamples.max(1)));
        let (least, half) = (wilson(knot.ratio, worth), Z_95 * variance.sqrt());
        Interval {
            low: least.low.min((knot.ratio - half).max(0.0)),
            high: least.high.max((knot.ratio + half).min(1.0)),
        }
    }))
}

fn modelled(observations: &[Observation], model: Model, granularity: u32) -> Option<MissRatioCurve> {
    match model {
        Model::StatStack => {
            let incidence = Incidence::of(observations.iter().copied())?;
            Some(stat_stack(incidence.distances(), granularity))
        }
        Model::Phased { accesses } => {
            let distances = phased_stack_distances(observations, accesses)?;
            Some(MissRatioCurve::of_stack_distances(&distances, granularity))
        }
        Model::Footprint { accesses } => {
            Some(Footprint::sampled(observations, accesses)?.miss_ratio(granularity))
        }
    }
}

/// So many observations are drawn at a time (16 MiB), or those of one resample for each processor.
const MOST_DRAWN: usize = 4 << 20;

/// How far another curve is from each knot of this one.
fn apart(curve: &MissRatioCurve, other: &MissRatioCurve, granularity: u32) -> Vec<f64> {
    let bytes = |places: u64| places.saturating_mul(u64::from(granularity.max(1)));
    curve.knots().iter().map(|knot| other.ratio(bytes(knot.places)) - knot.ratio).collect()
}

/// Draws so many observations with replacement: how often each was drawn.
fn draw(observations: usize, clusters: &[usize], random: &mut Random) -> Vec<u32> {
    let count = if clusters.is_empty() { observations } else { clusters.len() };
    let mut drawn = vec![0u32; count];
    for _ in 0..count {
        if let Some(times) = drawn.get_mut(random.below(count)) {
            *times += 1;
        }
    }
    match clusters {
        [] => drawn,
        _ => clusters.iter().zip(drawn).flat_map(|(&size, times)| std::iter::repeat_n(times, size)).collect(),
    }
}

/// An observation that was drawn k times weighs k times as much.
fn resample(observations: &[Observation], times: &[u32]) -> Vec<Observation> {
    let drawn = observations.iter().zip(times).filter(|(_, times)| **times > 0);
    drawn.map(|(it, times)| Observation { weight: it.weight * f64::from(*times), ..*it }).collect()
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        ((u128::from(z) * bound as u128) >> u64::BITS) as usize
    }
}
