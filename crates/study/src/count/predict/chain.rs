//! The two steps, one after the other.

use carom_study_stats::{Explained, Growth, explain, growth};

/// Both steps, fitted to some sizes.
pub struct Chain {
    /// From indicators to the time.
    pub explained: Explained,
    /// From the size to each indicator that is used.
    growths: Vec<Growth>,
}

/// A size whose run time was predicted from smaller ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldOut {
    /// The largest size that the prediction knew.
    pub known_to: f64,
    /// The size.
    pub size: f64,
    /// What was predicted, in seconds.
    pub predicted: f64,
    /// The median of what was measured, in seconds.
    pub measured: f64,
}

/// Sizes that the first prediction of held-out ones knows.
const FIRST: usize = 5;

impl Chain {
    /// Fits both steps. `None` where no indicator explains the time.
    pub fn new(sizes: &[f64], indicators: &[Vec<f64>], time: &[f64]) -> Option<Self> {
        let explained = explain(indicators, time)?;
        let used = explained.rates.iter().map(|(index, _)| growth(sizes, &indicators[*index]));
        let growths = used.collect::<Option<Vec<Growth>>>()?;
        Some(Self { explained, growths })
    }

    /// The run time at a size in seconds, and the half of its interval that is due to the indicators' laws, as a part of it.
    /// Indicators grow together, so their intervals are added.
    pub fn predict(&self, size: f64) -> (f64, f64) {
        let (mut value, mut half) = (self.explained.constant, 0.0);
        for ((_, rate), growth) in self.explained.rates.iter().zip(&self.growths) {
            let there = growth.predict(size);
            value += rate * there.value;
            half += rate * (there.high - there.value);
        }
        (value, if value > 0.0 { half / value } else { 0.0 })
    }
}

impl HeldOut {
    /// ln(measured / predicted) by ln of the factor of extrapolation.
    pub fn error_per_factor(&self) -> f64 {
        (self.measured / self.predicted).ln() / (self.size / self.known_to).ln()
    }
}

/// Every size beyond the first few, predicted from all numbers of sizes before it.
pub fn held_out(sizes: &[f64], indicators: &[Vec<f64>], time: &[f64]) -> Vec<HeldOut> {
    let mut all = Vec::new();
    for first in FIRST..sizes.len() {
        let known: Vec<Vec<f64>> = indicators.iter().map(|values| values[..first].to_vec()).collect();
        let Some(chain) = Chain::new(&sizes[..first], &known, &time[..first]) else { continue };
        for at in first..sizes.len() {
            let predicted = chain.predict(sizes[at]).0;
            all.push(HeldOut { known_to: sizes[first - 1], size: sizes[at], predicted, measured: time[at] });
        }
    }
    all
}

/// Sizes from the least that ran to `at`, each the same factor above the one before.
pub fn steps(sizes: &[f64], at: f64, points: usize) -> Vec<f64> {
    let (Some(least), Some(most)) = (sizes.first(), sizes.last()) else { return Vec::new() };
    let ratio = most.max(at) / least;
    (0..points).map(|index| least * ratio.powf(index as f64 / (points - 1) as f64)).collect()
}
