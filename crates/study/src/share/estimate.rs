use carom_study_stats::Proportion;

use super::Estimate;

impl Estimate {
    /// What is known without any observation: it lies between 0 and 1.
    pub const UNKNOWN: Self = Self { value: 0.0, low: 0.0, high: 1.0 };
}

impl From<Proportion> for Estimate {
    fn from(p: Proportion) -> Self {
        Self { value: p.value, low: p.interval.low, high: p.interval.high }
    }
}
