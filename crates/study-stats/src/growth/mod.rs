//! How a quantity grows with a size, for sizes beyond those that were measured.
//!
//! The laws are those of the performance model normal form: y = c₀ + Σ cₖ xⁱ log₂ʲ x, here with up to two terms and no negative
//! coefficient. A. Calotoiu, T. Hoefler, M. Poke, F. Wolf, "Using automated performance modeling to find scalability bugs in
//! complex codes", SC 2013. What a program does adds up, so that no term is subtracted, and a law cannot bend where nothing was
//! measured.
//!
//! Least squares of *relative* deviations, since counts and times differ by parts of themselves. Several laws may fit nearly as
//! well as the best. The interval has their differences in it: S. T. Buckland, K. P. Burnham and N. H. Augustin, "Model
//! selection: an integral part of inference", Biometrics 53 (1997) 603-618, formula 9.

mod law;
mod term;

pub use law::GrowthLaw;
pub use term::GrowthTerm;

use crate::{Prediction, student_975};

/// How a quantity grows: the law that fits best, and those that might be the true one as well.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// The best law with its Akaike weight, then the others.
    laws: Vec<(GrowthLaw, f64)>,
}

/// Laws with less weight than this part of the best are left out.
const UNLIKELY: f64 = 1e-6;

/// The growth of `y` with `x`: the laws in the order of Akaike's corrected criterion. `None` with fewer than four points, where an
/// `x` or a `y` is not above 0, or where nothing fits.
pub fn growth(x: &[f64], y: &[f64]) -> Option<Growth> {
    let positive = |values: &[f64]| values.iter().all(|value| value.is_finite() && *value > 0.0);
    if x.len() != y.len() || x.len() < 4 || !positive(x) || !positive(y) {
        return None;
    }
    let mut laws: Vec<GrowthLaw> =
        GrowthTerm::sets(x).into_iter().filter_map(|terms| GrowthLaw::fit(terms, x, y)).collect();
    // The sort is stable, and the sets are listed by their sizes.
    laws.sort_by(|a, b| a.aicc.total_cmp(&b.aicc));
    let least = laws.first()?.aicc;
    let weights: Vec<f64> = laws.iter().map(|law| ((least - law.aicc) / 2.0).exp()).collect();
    let sum: f64 = weights.iter().sum();
    let likely = laws.into_iter().zip(weights).filter(|(_, weight)| *weight >= UNLIKELY);
    Some(Growth { laws: likely.map(|(law, weight)| (law, weight / sum)).collect() })
}

impl Growth {
    /// The law that fits best.
    pub fn law(&self) -> &GrowthLaw {
        &self.laws[0].0
    }

    /// The best law's value at `x`, with the 95% interval of a further observation. Nothing is below 0.
    pub fn predict(&self, x: f64) -> Prediction {
        let best = self.law();
        let value = best.value(x);
        let variance: f64 = self
            .laws
            .iter()
            .map(|(law, weight)| weight * (law.variance(x) + (law.value(x) - value).powi(2)))
            .sum();
        let half = student_975(best.degrees) * variance.sqrt();
        Prediction { value, low: (value - half).max(0.0), high: value + half }
    }
}

#[cfg(test)]
mod tests;
