//! What speaks against a prediction.

use carom_store::CacheInfo;
use carom_study_stats::{Prediction, growth};

/// A reason for caution.
#[derive(Clone, Debug, PartialEq)]
pub enum Doubt {
    /// The size lies further beyond the largest that ran than that lies from the least.
    Far {
        /// It by the largest that ran.
        times: f64,
        /// The largest by the least that ran.
        range: f64,
    },
    /// Runs of one size differ much.
    Noisy {
        /// Their standard deviation as a part of their median.
        deviation: f64,
    },
    /// The memory will not fit into a cache into which it did.
    Cache {
        /// The cache's level.
        level: u32,
        /// Its size.
        bytes: u64,
        /// The memory that the run will touch, in bytes.
        memory: f64,
    },
    /// The run time by its own growth lies outside of the interval.
    Disagree {
        /// That, in seconds.
        direct: f64,
    },
}

pub fn of_range(sizes: &[f64], at: f64) -> Option<Doubt> {
    let (least, most) = (sizes.first()?, sizes.last()?);
    let (times, range) = (at / most, most / least);
    (times > range).then_some(Doubt::Far { times, range })
}

pub fn of_noise(deviation: f64) -> Option<Doubt> {
    /// More than this hides how the time grows.
    const MUCH: f64 = 0.1;
    (deviation > MUCH).then_some(Doubt::Noisy { deviation })
}

/// `memory`: what the runs touched at each size where that is known, in bytes. Only the largest of the caches that are left is
/// named.
pub fn of_caches(caches: &[CacheInfo], sizes: &[f64], memory: &[Option<f64>], at: f64) -> Option<Doubt> {
    let (x, y): (Vec<f64>, Vec<f64>) =
        sizes.iter().zip(memory).filter_map(|(x, bytes)| Some((*x, (*bytes)?))).unzip();
    let (largest, there) = (*y.last()?, growth(&x, &y)?.predict(at).value);
    let left = |cache: &&CacheInfo| {
        cache.kind != "instruction" && largest < cache.bytes as f64 && there > cache.bytes as f64
    };
    let cache = caches.iter().filter(left).max_by_key(|cache| cache.level)?;
    Some(Doubt::Cache { level: cache.level, bytes: cache.bytes, memory: there })
}

pub fn of_direct(direct: f64, there: &Prediction) -> Option<Doubt> {
    let outside = direct < there.low || direct > there.high;
    outside.then_some(Doubt::Disagree { direct })
}
