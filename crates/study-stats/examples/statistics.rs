//! What our statistics say of data sets, for `measurements/count-02-statistics`: a line of JSON in, a line of JSON out.
//!
//! `{"before": [...], "after": [...]}`, `{"p": [...]}` or `{"x": [...], "y": [...], "at": ...}`

use std::{error::Error, io};

use carom_study_stats::{
    Interval, benjamini_hochberg, fits, hedges_g, holm, mann_whitney, ratio_of_means, welch,
};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(untagged)]
enum Set {
    Samples { before: Vec<f64>, after: Vec<f64> },
    Family { p: Vec<f64> },
    Points { x: Vec<f64>, y: Vec<f64>, at: f64 },
}

fn of(set: &Set) -> Value {
    match set {
        Set::Samples { before, after } => {
            let (welch, ranks) = (welch(before, after), mann_whitney(before, after));
            json!({
                "t": welch.map(|test| test.t),
                "degrees": welch.map(|test| test.degrees),
                "welch": welch.map(|test| test.probability),
                "u": ranks.map(|test| test.u),
                "mann_whitney": ranks.map(|test| test.probability),
                "ratio": ratio_of_means(before, after).map(|Interval { low, high }| [low, high]),
                "hedges": hedges_g(before, after),
            })
        }
        Set::Family { p } => json!({ "holm": holm(p), "benjamini_hochberg": benjamini_hochberg(p) }),
        Set::Points { x, y, at } => {
            let all = fits(x, y).into_iter().map(|fit| {
                let there = fit.predict(*at);
                let of_fit = json!({
                    "coefficients": fit.coefficients,
                    "r_squared": fit.r_squared,
                    "p": fit.probability,
                    "interval": [there.low, there.high],
                });
                (format!("{:?}", fit.model).to_lowercase(), of_fit)
            });
            Value::Object(all.collect())
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    for line in io::stdin().lines() {
        println!("{}", of(&serde_json::from_str(&line?)?));
    }
    Ok(())
}
