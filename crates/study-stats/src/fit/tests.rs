use super::*;

fn best(x: &[f64], y: &[f64]) -> Fit {
    fits(x, y).into_iter().next().unwrap()
}

const X: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];

#[test]
fn laws_without_noise_are_found() {
    for (model, coefficients) in [
        (Model::Constant, vec![7.0]),
        (Model::Linear, vec![100.0, 3.0]),
        (Model::Logarithmic, vec![5.0, 2.0]),
        (Model::Power, vec![3.0, 1.5]),
        (Model::Exponential, vec![2.0, -0.05]),
        (Model::Quadratic, vec![1e6, -30.0, 2.5]),
    ] {
        let y = X.map(|x| model.value(&coefficients, x));
        let found = best(&X, &y);
        assert_eq!(found.model, model, "{found:?}");
        for (ours, true_one) in found.coefficients.iter().zip(&coefficients) {
            assert!((ours - true_one).abs() < 1e-7 * true_one.abs(), "{model:?}: {found:?}");
        }
    }
}

#[test]
fn a_line_needs_no_third_coefficient() {
    // Steps of ±0.1 around 2 + 3x: a parabola would follow some of it.
    let y: Vec<f64> = X.iter().enumerate().map(|(i, x)| 2.0 + 3.0 * x + [0.1, -0.1][i % 2]).collect();
    let found = best(&X, &y);
    assert_eq!(found.model, Model::Linear);
    assert!(found.r_squared > 0.999_99 && found.probability < 1e-10, "{found:?}");
}

#[test]
fn noise_is_constant() {
    let found = best(&X, &[5.1, 4.9, 5.0, 5.2, 4.8, 5.05, 4.95, 5.0]);
    assert_eq!((found.model, found.probability), (Model::Constant, 1.0));
}

#[test]
fn what_cannot_be_fitted_is_left_out() {
    assert!(fits(&[1.0, 2.0], &[1.0, 2.0]).is_empty());
    assert!(fits(&[1.0, 1.0, 2.0, 2.0], &[1.0, 1.0, 2.0, 2.0]).is_empty());
    assert!(fits(&[1.0, 2.0, f64::NAN], &[1.0, 2.0, 3.0]).is_empty());
    // Neither a logarithm of 0 nor one of a negative number.
    let all = fits(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], &[-1.0, 1.0, 2.0, 3.0, 4.5, 5.0]);
    assert!(
        all.iter().all(|fit| !matches!(fit.model, Model::Logarithmic | Model::Power | Model::Exponential))
    );
    // Nothing but zeros is a constant.
    assert_eq!(best(&X, &[0.0; 8]).model, Model::Constant);
}
