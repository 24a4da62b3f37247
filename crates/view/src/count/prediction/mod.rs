//! What a larger run will take: from the study's forecast to the model, and in words.

pub mod model;
mod text;

use carom_study::count::{self, Forecast, GrowthTerm, Indicator};

use self::model::{
    CountPrediction, Doubt, FixedParameter, HeldOutSize, LawTerm, Predicted, PredictedIndicator,
};
use super::model::CurvePoint;
use crate::{
    diff::count::{basis, words::amount},
    model::Real,
    words,
};

pub use text::{print, verdict};

/// The forecast as the model has it.
pub fn prediction(found: &Forecast) -> CountPrediction {
    let names = |all: &[count::Quantity]| all.iter().map(|each| each.name().to_owned()).collect();
    let pairs = |points: &[(f64, f64)]| points.iter().map(|(x, y)| [Real(*x), Real(*y)]).collect();
    CountPrediction {
        parameter: found.parameter.clone(),
        at: Real(found.at),
        sizes: found.sizes.iter().copied().map(Real).collect(),
        fixed: found
            .fixed
            .iter()
            .map(|(name, value)| FixedParameter { name: name.clone(), value: Real(*value) })
            .collect(),
        time_s: found.time.map(predicted),
        points: pairs(&found.times),
        curve: found
            .curve
            .iter()
            .map(|(x, at)| CurvePoint {
                at: Real(*x),
                estimate: Real(at.value),
                low: Real(at.low),
                high: Real(at.high),
            })
            .collect(),
        indicators: found.indicators.iter().map(|each| indicator(each, found)).collect(),
        constant_s: Real(found.constant),
        zero: names(&found.zero),
        left_out: names(&found.left_out),
        principal_components: found.components.iter().copied().map(Real).collect(),
        held_out: found
            .held_out
            .iter()
            .map(|each| HeldOutSize {
                known_to: Real(each.known_to),
                size: Real(each.size),
                predicted_s: Real(each.predicted),
                measured_s: Real(each.measured),
            })
            .collect(),
        direct_s: found.direct.map(|direct| Real(direct.value)),
        doubts: found.doubts.iter().map(doubt).collect(),
    }
}

fn predicted(at: count::Prediction) -> Predicted {
    Predicted { estimate: Real(at.value), low: Real(at.low), high: Real(at.high) }
}

fn indicator(each: &Indicator, found: &Forecast) -> PredictedIndicator {
    let law = each.growth.law();
    let part = |rate: f64| Some(Real(rate * each.there.value / found.time?.value));
    PredictedIndicator {
        name: each.quantity.name().into(),
        unit: each.quantity.unit().into(),
        basis: basis(each.quantity),
        formula: formula(&law.terms, &found.parameter, each.quantity.unit()),
        terms: law
            .terms
            .iter()
            .map(|(term, coefficient)| LawTerm {
                coefficient: Real(*coefficient),
                power: Real(term.power),
                logarithms: term.logarithms,
            })
            .collect(),
        there: predicted(each.there),
        cost_s: each.rate.map(Real),
        part_of_time: each.rate.and_then(part),
        like: each.like.map(|other| other.name().into()),
        points: each.points.iter().map(|(x, y)| [Real(*x), Real(*y)]).collect(),
    }
}

/// `50.0 k + 2.00 n log n`
fn formula(terms: &[(GrowthTerm, f64)], x: &str, unit: &str) -> String {
    let term = |(term, coefficient): &(GrowthTerm, f64)| {
        let power = match term.power {
            0.0 => String::new(),
            1.0 => x.to_owned(),
            2.0 => format!("{x}²"),
            3.0 => format!("{x}³"),
            other => format!("{x}^{other}"),
        };
        let logarithm = match term.logarithms {
            0 => String::new(),
            1 => format!("log {x}"),
            other => format!("(log {x})^{other}"),
        };
        let size = match *coefficient {
            small if small < 9.995 && !matches!(unit, "s" | "bytes") => three_digits(small),
            other => amount(other, unit),
        };
        [size, power, logarithm].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    };
    terms.iter().map(term).collect::<Vec<_>>().join(" + ")
}

/// `2.50`, `0.0133`, `1.2e-7`: what is less than 10.
fn three_digits(value: f64) -> String {
    match value {
        value if value >= 0.995 => format!("{value:.2}"),
        value if value >= 1e-3 => {
            let digits = 2 - value.log10().floor() as i32;
            format!("{value:.*}", digits.max(0) as usize)
        }
        value => format!("{value:.2e}"),
    }
}

fn doubt(found: &count::Doubt) -> Doubt {
    let (code, text) = match found {
        count::Doubt::Far { times, range } => (
            "far",
            format!(
                "it lies {times:.3} times beyond the largest size that ran, and the sizes that ran span only a factor of \
                 {range:.3}: run larger ones"
            ),
        ),
        count::Doubt::Noisy { deviation } => {
            ("noisy", format!("runs of one size differ by ±{}: run more with -r", words::percent(*deviation)))
        }
        count::Doubt::Cache { level, bytes, memory } => (
            "cache",
            format!(
                "it will touch {}, more than the level {level} cache of {}, and the sizes that ran touched less: what misses \
                 there cost is in no run",
                amount(*memory, "bytes"),
                words::size(*bytes)
            ),
        ),
        count::Doubt::Disagree { direct } => (
            "disagree",
            format!(
                "the growth of the run time alone tells {}, which is outside of the interval",
                amount(*direct, "s")
            ),
        ),
    };
    Doubt { code: code.into(), text }
}

#[cfg(test)]
mod tests;
