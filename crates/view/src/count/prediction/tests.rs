use carom_study::count::{Growth, Prediction, Quantity};

use super::*;

fn of(name: &str) -> Quantity {
    Quantity::from_name(name).unwrap()
}

/// A sort: 20 n log n instructions at 0.5 ns each, and 2 ms to start.
fn forecast() -> Forecast {
    let sizes: Vec<f64> = (0..6).map(|power| 1000.0 * 2_f64.powi(power)).collect();
    let law = |n: f64| 20.0 * n * n.log2();
    let points: Vec<(f64, f64)> = sizes.iter().map(|n| (*n, law(*n))).collect();
    let growth: Growth = count::growth(&sizes, &points.iter().map(|(_, y)| *y).collect::<Vec<_>>()).unwrap();
    let at = 256e3;
    let indicator = |name: &str, rate, like| Indicator {
        quantity: of(name),
        points: points.clone(),
        growth: growth.clone(),
        there: growth.predict(at),
        rate,
        like,
    };
    let value = 2e-3 + 0.5e-9 * law(at);
    Forecast {
        parameter: "n".into(),
        at,
        fixed: vec![("threads".into(), 4.0)],
        time: Some(Prediction { value, low: 0.9 * value, high: value / 0.9 }),
        times: points.iter().map(|(n, y)| (*n, 2e-3 + 0.5e-9 * y)).collect(),
        curve: vec![(at, Prediction { value, low: value, high: value })],
        indicators: vec![
            indicator("instructions", Some(0.5e-9), None),
            indicator("loads", None, Some(of("instructions"))),
        ],
        zero: vec![of("atomics")],
        left_out: vec![of("system-calls")],
        constant: 2e-3,
        components: vec![0.999, 0.001],
        held_out: vec![count::HeldOut { known_to: 16e3, size: 32e3, predicted: 6.8e-3, measured: 7e-3 }],
        direct: Some(Prediction { value: 0.03, low: 0.02, high: 0.04 }),
        doubts: vec![],
        sizes,
    }
}

#[test]
fn the_verdict_has_time_interval_and_parts() {
    // 20 · 256,000 · log2 256,000 = 92.0 M instructions: 46.0 ms of 48.0 ms.
    let mut found = forecast();
    assert_eq!(
        verdict(&prediction(&found)),
        "At `n` = 256000, 8 times the largest size that ran, it takes 48.0 ms (95% of runs: 43.2 ms to 53.3 ms): 96% for 92.0 M \
         instructions."
    );
    found.doubts.push(count::Doubt::Noisy { deviation: 0.2 });
    assert!(
        verdict(&prediction(&found))
            .ends_with("instructions. But runs of one size differ by ±20%: run more with -r.")
    );
    found.time = None;
    assert!(verdict(&prediction(&found)).contains("no run time can be told"));
}

#[test]
fn laws_have_a_formula() {
    let term = |power, logarithms| GrowthTerm { power, logarithms };
    let check =
        |terms: &[(GrowthTerm, f64)], unit, expect: &str| assert_eq!(formula(terms, "n", unit), expect);
    check(&[(term(0.0, 0), 50_000.0), (term(1.0, 1), 2.0)], "instructions", "50.0 k + 2.00 n log n");
    check(&[(term(3.0, 0), 0.0123)], "instructions", "0.0123 n³");
    check(&[(term(0.5, 0), 3e-5), (term(0.0, 2), 4.5)], "faults", "3.00e-5 n^0.5 + 4.50 (log n)^2");
    check(&[(term(1.0, 0), 8.0)], "bytes", "8 B n");
}
