use carom_study_stats::{Fit, Model, fits};
use serde::Deserialize;

use crate::{close_within, fixture};

#[derive(Deserialize)]
struct Reference {
    sets: Vec<Set>,
}

#[derive(Deserialize)]
struct Set {
    x: Vec<f64>,
    y: Vec<f64>,
    at: f64,
    fits: Vec<Known>,
}

#[derive(Deserialize)]
struct Known {
    model: String,
    coefficients: Vec<f64>,
    r_squared: f64,
    aicc: f64,
    p: f64,
    interval: [f64; 2],
}

fn model(name: &str) -> Model {
    match name {
        "linear" => Model::Linear,
        "logarithmic" => Model::Logarithmic,
        "power" => Model::Power,
        "exponential" => Model::Exponential,
        _ => Model::Quadratic,
    }
}

#[test]
fn fits_are_those_of_statsmodels_and_scipy() {
    let reference: Reference = serde_json::from_str(&fixture("fits.json")).expect("JSON of the known form");
    assert_eq!(reference.sets.len(), 100);
    for Set { x, y, at, fits: known } in reference.sets {
        let all = fits(&x, &y);
        for each in known {
            let wanted = model(&each.model);
            let ours: &Fit = all.iter().find(|fit| fit.model == wanted).expect("every model");
            // SciPy's search for the least squares of a curve ends some 8 digits before the minimum.
            let within = if matches!(wanted, Model::Power | Model::Exponential) { 1e-6 } else { 1e-9 };
            for (ours, theirs) in ours.coefficients.iter().zip(&each.coefficients) {
                close_within(within, &each.model, *ours, *theirs);
            }
            // A difference of two numbers near each other has fewer digits.
            close_within(1e-8, "R²", ours.r_squared, each.r_squared);
            assert!((ours.aicc - aicc_of_scaled(&y, each.aicc)).abs() < 1e-7, "AICc");
            assert!(
                (ours.probability - each.p).abs() <= 1e-6 * each.p + 1e-300,
                "{:e} {:e}",
                ours.probability,
                each.p
            );
            let there = ours.predict(at);
            close_within(within, "low", there.low, each.interval[0]);
            close_within(within, "high", there.high, each.interval[1]);
        }
    }
}

/// Ours is of values by the largest of them, which moves the criterion of all models alike.
fn aicc_of_scaled(y: &[f64], aicc: f64) -> f64 {
    let largest = y.iter().fold(0.0_f64, |most, y| most.max(y.abs()));
    aicc - 2.0 * y.len() as f64 * largest.ln()
}
