use super::GrowthTerm;
use crate::solve::{Matrix, dot, least_squares, times};

/// A law with the coefficients that fit best.
#[derive(Clone, Debug, PartialEq)]
pub struct GrowthLaw {
    /// Its terms with their coefficients, all above 0.
    pub terms: Vec<(GrowthTerm, f64)>,
    /// Akaike's criterion for small samples, of relative deviations.
    pub(super) aicc: f64,
    /// Observations less coefficients.
    pub(super) degrees: f64,
    /// The variance of relative deviations.
    relative: f64,
    /// (JᵀJ)⁻¹ of the terms, each by its value at the largest `x`.
    inverse: Matrix,
    /// These values.
    scales: Vec<f64>,
}

/// Relative deviations below this are rounding.
const ROUNDING: f64 = 1e-12;

impl GrowthLaw {
    /// `None` where it has a coefficient that is not above 0, or where there are too few points for the criterion to exist.
    pub(super) fn fit(terms: Vec<GrowthTerm>, x: &[f64], y: &[f64]) -> Option<Self> {
        let (n, p) = (x.len() as f64, terms.len() as f64);
        // With the variance, there is one parameter more.
        let k = p + 1.0;
        let room = n - k - 1.0;
        if room <= 0.0 {
            return None;
        }
        let largest = x.iter().copied().fold(f64::MIN, f64::max);
        let scales: Vec<f64> = terms.iter().map(|term| term.value(largest)).collect();
        let row = |x: f64, y: f64| {
            terms.iter().zip(&scales).map(|(term, scale)| term.value(x) / scale / y).collect::<Vec<f64>>()
        };
        let rows: Vec<Vec<f64>> = x.iter().zip(y).map(|(x, y)| row(*x, *y)).collect();
        // In units of the largest value, so that the matrix has numbers of one order.
        let (solved, inverse) = least_squares(&rows, &vec![1.0; y.len()])?;
        if solved.iter().any(|value| !value.is_finite() || *value <= 0.0) {
            return None;
        }
        let residues: f64 = rows.iter().map(|row| (1.0 - dot(row, &solved)).powi(2)).sum();
        let residues = residues.max(n * ROUNDING * ROUNDING);
        let coefficients = solved.iter().zip(&scales).map(|(value, scale)| value / scale);
        Some(Self {
            aicc: n * (residues / n).ln() + 2.0 * k + 2.0 * k * (k + 1.0) / room,
            degrees: n - p,
            relative: residues / (n - p),
            terms: terms.into_iter().zip(coefficients).collect(),
            inverse,
            scales,
        })
    }

    /// Its value at `x`.
    pub fn value(&self, x: f64) -> f64 {
        self.terms.iter().map(|(term, coefficient)| coefficient * term.value(x)).sum()
    }

    /// The variance of a further observation at `x`: that of the coefficients, and that of observations.
    pub(super) fn variance(&self, x: f64) -> f64 {
        let gradient: Vec<f64> =
            self.terms.iter().zip(&self.scales).map(|((term, _), scale)| term.value(x) / scale).collect();
        let of_coefficients = dot(&gradient, &times(&self.inverse, &gradient));
        self.relative * (self.value(x).powi(2) + of_coefficients)
    }

    /// Whether it does not depend on `x`.
    pub fn is_constant(&self) -> bool {
        self.terms.iter().all(|(term, _)| *term == GrowthTerm::CONSTANT)
    }
}
