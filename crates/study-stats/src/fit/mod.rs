//! How a quantity follows a parameter: several models by least squares, and which of them the data support.
//!
//! Least squares and their intervals: G. A. F. Seber and C. J. Wild, "Nonlinear Regression", Wiley 1989, chapters 2 and 5.
//! Assumes that deviations from the model are independent and of one variance. Where a model is not linear in its
//! coefficients, intervals are those of the plane that touches it at the fit.

mod model;

pub use model::Model;

use statrs::function::beta::beta_reg;

use crate::{
    solve::{self, Matrix, invert},
    student_975,
};

/// A model with the coefficients that fit best.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Which.
    pub model: Model,
    /// Its coefficients, in the order of its formula.
    pub coefficients: Vec<f64>,
    /// The part of the variance that it explains, up to 1; below 0 where it is worse than the mean. 1 where nothing varies.
    pub r_squared: f64,
    /// Akaike's information criterion for small samples: the least is the best. N. Sugiura, Communications in Statistics A7
    /// (1978) 13-26; C. M. Hurvich and C.-L. Tsai, Biometrika 76 (1989) 297-307.
    pub aicc: f64,
    /// How likely data without any dependence fit as well (F test against the mean); 1 for the mean itself.
    pub probability: f64,
    /// The variance around it.
    variance: f64,
    degrees: f64,
    /// (JᵀJ)⁻¹ of [`Model::gradient_scaled`].
    inverse: Matrix,
    scale: f64,
}

/// A value of a model with the 95% interval of a further observation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// The model's value.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Every model that these points can tell from others, the best first. Ties go to the one with fewer coefficients. Empty with
/// fewer than three different `x`, or where a number is not finite.
///
/// A model needs more different `x` than coefficients, and five observations more than coefficients for the criterion to exist.
pub fn fits(x: &[f64], y: &[f64]) -> Vec<Fit> {
    let mut different = x.to_vec();
    different.sort_by(f64::total_cmp);
    different.dedup();
    if x.len() != y.len() || different.len() < 3 || x.iter().chain(y).any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let told = |model: &Model| different.len() > model.coefficients() && x.len() > model.coefficients() + 2;
    let mut all: Vec<Fit> =
        Model::ALL.into_iter().filter(told).filter_map(|model| fit(model, x, y)).collect();
    // The sort is stable, and the models are listed by the number of their coefficients.
    all.sort_by(|a, b| a.aicc.total_cmp(&b.aicc));
    all
}

/// One model; `None` where it cannot be fitted, as a logarithm of 0.
fn fit(model: Model, x: &[f64], y: &[f64]) -> Option<Fit> {
    /// Residues below this part of the largest value are errors of rounding.
    const ROUNDING: f64 = 1e-12;
    let scale = x.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    let height = y.iter().fold(0.0_f64, |most, y| most.max(y.abs()));
    if scale == 0.0 {
        return None;
    }
    if height == 0.0 && model != Model::Constant {
        return None;
    }
    let height = if height == 0.0 { 1.0 } else { height };
    let (u, v): (Vec<f64>, Vec<f64>) =
        (x.iter().map(|x| x / scale).collect(), y.iter().map(|y| y / height).collect());
    let scaled = model.solve(&u, &v)?;
    let n = v.len() as f64;
    let residues: f64 = u.iter().zip(&v).map(|(u, v)| (v - model.value(&scaled, *u)).powi(2)).sum();
    let mean = v.iter().sum::<f64>() / n;
    let total: f64 = v.iter().map(|v| (v - mean).powi(2)).sum();
    let p = model.coefficients() as f64;
    let floor = n * ROUNDING * ROUNDING;
    // With the variance, there is one parameter more.
    let k = p + 1.0;
    let aicc = n * (residues.max(floor) / n).ln() + 2.0 * k + 2.0 * k * (k + 1.0) / (n - k - 1.0);
    let coefficients = model.unscaled(&scaled, scale, height);
    let rows: Vec<Vec<f64>> = x.iter().map(|x| model.gradient_scaled(&coefficients, *x, scale)).collect();
    Some(Fit {
        model,
        r_squared: if total <= floor { 1.0 } else { 1.0 - residues / total },
        aicc,
        probability: f_test(total, residues, p, n, floor),
        variance: residues / (n - p) * height * height,
        degrees: n - p,
        inverse: invert(&solve::products(&rows))?,
        coefficients,
        scale,
    })
}

/// The F test of a model with `p` coefficients against the mean.
fn f_test(total: f64, residues: f64, p: f64, n: f64, floor: f64) -> f64 {
    let (d1, d2) = (p - 1.0, n - p);
    let explained = total - residues;
    if d1 < 1.0 || explained <= floor {
        return 1.0;
    }
    if residues <= floor {
        return 0.0;
    }
    let f = explained / d1 / (residues / d2);
    beta_reg(d2 / 2.0, d1 / 2.0, d2 / (d2 + d1 * f))
}

impl Fit {
    /// The model's value at `x`, and where a further observation would lie.
    pub fn predict(&self, x: f64) -> Prediction {
        let value = self.model.value(&self.coefficients, x);
        let gradient = self.model.gradient_scaled(&self.coefficients, x, self.scale);
        let leverage: f64 = self
            .inverse
            .iter()
            .zip(&gradient)
            .map(|(row, g)| g * row.iter().zip(&gradient).map(|(a, b)| a * b).sum::<f64>())
            .sum();
        let half = student_975(self.degrees) * (self.variance * (1.0 + leverage)).sqrt();
        Prediction { value, low: value - half, high: value + half }
    }
}

#[cfg(test)]
mod tests;
