use carom_study_stats::{Proportion, weighted_poisson};

/// An estimate with its 95% confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The point estimate.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Estimate {
    /// What is known without any observation: it lies between 0 and 1.
    pub const UNKNOWN: Self = Self { value: 0.0, low: 0.0, high: 1.0 };
}

impl From<Proportion> for Estimate {
    fn from(p: Proportion) -> Self {
        Self { value: p.value, low: p.interval.low, high: p.interval.high }
    }
}

/// A number of which a sample was seen, each standing for several.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WeightedCount {
    sum: f64,
    squares: f64,
}

impl WeightedCount {
    pub fn add(&mut self, weight: f64) {
        self.sum += weight;
        self.squares += weight * weight;
    }

    /// The number; its interval has the error of sampling only. `None` where nothing was seen.
    pub fn estimate(self) -> Option<Estimate> {
        let interval = weighted_poisson(self.sum, self.squares)?;
        Some(Estimate { value: self.sum, low: interval.low, high: interval.high })
    }
}
