//! The answer of `carom count predict`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{count::model::CurvePoint, diff::model::EventBasis, model::Real};

/// The run time at a size that did not run, and what it is made of.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CountPrediction {
    /// The parameter that is the size.
    pub parameter: String,
    /// The value that was asked for.
    pub at: Real,
    /// The values that ran, ascending.
    pub sizes: Vec<Real>,
    /// Other parameters, with the values at which they stay.
    pub fixed: Vec<FixedParameter>,
    /// The run time in seconds with the 95% interval of a further run; null where the fits do not support one.
    pub time_s: Option<Predicted>,
    /// Each run: the parameter and the run time in seconds.
    pub points: Vec<[Real; 2]>,
    /// The run time at sizes from the least to the one that was asked for, each the same factor above the one before.
    pub curve: Vec<CurvePoint>,
    /// Every indicator that varies with the size.
    pub indicators: Vec<PredictedIndicator>,
    /// What a run takes besides all indicators, in seconds.
    pub constant_s: Real,
    /// Indicators that are 0 in all runs.
    pub zero: Vec<String>,
    /// Indicators that do not vary, are not known at each size, or are 0 at some.
    pub left_out: Vec<String>,
    /// The parts of the indicators' variance along their principal components, the largest first.
    pub principal_components: Vec<Real>,
    /// The largest sizes, predicted from the smaller ones alone.
    pub held_out: Vec<HeldOutSize>,
    /// The run time in seconds by its own growth, without indicators; null where no law fits.
    pub direct_s: Option<Real>,
    /// What speaks against the prediction.
    pub doubts: Vec<Doubt>,
}

/// A parameter that stays.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FixedParameter {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Real,
}

/// A value with its 95% interval.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Predicted {
    /// The value.
    pub estimate: Real,
    /// Lower end.
    pub low: Real,
    /// Upper end.
    pub high: Real,
}

/// An indicator, and what becomes of it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PredictedIndicator {
    /// Which, as `carom count --list` has it.
    pub name: String,
    /// What one of it is.
    pub unit: String,
    /// How it is known.
    pub basis: EventBasis,
    /// The law that fits best, for people.
    pub formula: String,
    /// The law's terms: each is `coefficient * x^power * log2(x)^logarithms`.
    pub terms: Vec<LawTerm>,
    /// The value at the size that was asked for, with the interval of a further run.
    pub there: Predicted,
    /// What one of it costs, in seconds; null where it is not one of those that explain the time.
    pub cost_s: Option<Real>,
    /// The part of the predicted time that it explains; null likewise.
    pub part_of_time: Option<Real>,
    /// The indicator that stands for it, because it tells the same up to a factor and a constant.
    pub like: Option<String>,
    /// Each run: the parameter and the value.
    pub points: Vec<[Real; 2]>,
}

/// One term of a law.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct LawTerm {
    /// Its factor.
    pub coefficient: Real,
    /// The exponent of the size.
    pub power: Real,
    /// The exponent of the size's binary logarithm.
    pub logarithms: i32,
}

/// A size that ran, predicted from smaller ones.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct HeldOutSize {
    /// The largest size that the prediction knew.
    pub known_to: Real,
    /// The size.
    pub size: Real,
    /// What was predicted, in seconds.
    pub predicted_s: Real,
    /// The median of what was measured, in seconds.
    pub measured_s: Real,
}

/// A reason for caution.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Doubt {
    /// `far`, `noisy`, `cache`, `disagree`.
    pub code: String,
    /// It in a sentence.
    pub text: String,
}
