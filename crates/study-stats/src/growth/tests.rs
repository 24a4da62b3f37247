use super::*;
use crate::testing::Random;

const SIZES: [f64; 7] = [1e3, 2e3, 4e3, 8e3, 16e3, 32e3, 64e3];

fn term(power: f64, logarithms: i32) -> GrowthTerm {
    GrowthTerm { power, logarithms }
}

#[test]
fn laws_without_noise_are_found() {
    let laws: [&[(GrowthTerm, f64)]; 6] = [
        &[(GrowthTerm::CONSTANT, 7.0)],
        &[(term(1.0, 0), 3.0)],
        &[(GrowthTerm::CONSTANT, 1e6), (term(1.0, 1), 12.0)],
        &[(term(2.0, 0), 4.0), (term(3.0, 0), 2.0)],
        &[(GrowthTerm::CONSTANT, 500.0), (term(2.0, 0), 1.0), (term(3.0, 0), 0.01)],
        &[(GrowthTerm::CONSTANT, 5.0), (term(-1.0, 0), 8e3)],
    ];
    for law in laws {
        let value = |x: f64| law.iter().map(|(term, c)| c * term.value(x)).sum::<f64>();
        let found = growth(&SIZES, &SIZES.map(value)).unwrap();
        let terms: Vec<GrowthTerm> = found.law().terms.iter().map(|(term, _)| *term).collect();
        assert_eq!(terms, law.iter().map(|(term, _)| *term).collect::<Vec<_>>());
        let there = found.predict(512e3);
        assert!((there.value / value(512e3) - 1.0).abs() < 1e-6, "{law:?}: {there:?}");
    }
}

/// Of 400 laws with noise of 2%, each extrapolated to 8 times the largest size, 95% ± 2% of the true values are in the interval.
#[test]
fn the_interval_covers_what_was_not_measured() {
    let mut random = Random::new(3);
    let mut covered = 0;
    for round in 0..400 {
        let law =
            [(term(1.0, 1), 5.0), (term(1.0, 0), 40.0), (term(2.0, 0), 0.01), (term(1.5, 0), 2.0)][round % 4];
        let noisy = |random: &mut Random, x: f64| {
            let normal = (0..12).map(|_| random.fraction()).sum::<f64>() - 6.0;
            (20_000.0 + law.1 * law.0.value(x)) * (1.0 + 0.02 * normal)
        };
        let y = SIZES.map(|x| noisy(&mut random, x));
        let there = growth(&SIZES, &y).unwrap().predict(512e3);
        let truth = noisy(&mut random, 512e3);
        covered += i32::from((there.low..=there.high).contains(&truth));
    }
    assert!((372..=400).contains(&covered), "{covered} of 400");
}

#[test]
fn what_cannot_be_extrapolated_has_no_growth() {
    assert_eq!(growth(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), None);
    assert_eq!(growth(&[0.0, 1.0, 2.0, 3.0], &[1.0, 2.0, 3.0, 4.0]), None);
    assert_eq!(growth(&[1.0, 2.0, 3.0, 4.0], &[0.0, 2.0, 3.0, 4.0]), None);
    assert_eq!(growth(&[1.0, 2.0, 3.0, f64::NAN], &[1.0, 2.0, 3.0, 4.0]), None);
    assert_eq!(growth(&[1.0; 5], &[2.0; 4]), None);
    // Below 1 there are no logarithms, and nothing is ever negative.
    let small = growth(&[0.1, 0.2, 0.4, 0.8, 1.6], &[5.0, 4.0, 3.0, 2.0, 1.0]).unwrap();
    assert!(small.predict(100.0).low >= 0.0);
    assert!(small.law().terms.iter().all(|(term, _)| term.logarithms == 0));
}

#[test]
fn what_does_not_follow_is_constant() {
    let found = growth(&SIZES, &[101.0, 99.0, 100.0, 102.0, 98.0, 100.5, 99.5]).unwrap();
    assert!(found.law().is_constant(), "{found:?}");
    let there = found.predict(512e3);
    assert!(there.low < 100.0 && there.high > 100.0 && there.high < 120.0, "{there:?}");
}
