use crate::{Interval, Moments, student_975, student_two_sided};

/// Whether the means of two samples differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// The second mean less the first, by its standard error; infinite where neither sample varies and the means differ.
    pub t: f64,
    /// Degrees of freedom.
    pub degrees: f64,
    /// How likely samples of one mean differ as much, in either direction.
    pub probability: f64,
}

/// Welch's test of `before` against `after`.
///
/// B. L. Welch, "The generalization of 'Student's' problem when several different population variances are involved",
/// Biometrika 34 (1947) 28-35, with the degrees of freedom of F. E. Satterthwaite, Biometrics Bulletin 2 (1946) 110-114.
/// Assumes independent samples, each from a normal distribution. Samples that do not vary at all are the limit: of
/// probability 0 where they differ, 1 where they do not. `None` where a side has fewer than two values.
pub fn welch(before: &[f64], after: &[f64]) -> Option<Welch> {
    let (before, after) = (Moments::of(before)?, Moments::of(after)?);
    let degrees = satterthwaite(&before, &after)?;
    let difference = after.mean - before.mean;
    let t = if difference == 0.0 { 0.0 } else { difference / (before.of_mean() + after.of_mean()).sqrt() };
    Some(Welch { t, degrees, probability: student_two_sided(t, degrees) })
}

/// The 95% confidence interval of the ratio of the second mean to the first: all ratios at which Welch's test, with its
/// degrees of freedom, finds no difference. So it contains 1 exactly where the test finds none at 5%.
///
/// E. C. Fieller, "Some problems in interval estimation", Journal of the Royal Statistical Society B 16 (1954) 175-185.
/// Assumes what [`welch`] assumes. `None` where a side has fewer than two values, and where the first mean may be 0: the
/// ratio has no bounds then.
pub fn ratio_of_means(before: &[f64], after: &[f64]) -> Option<Interval> {
    let (before, after) = (Moments::of(before)?, Moments::of(after)?);
    let squared = student_975(satterthwaite(&before, &after)?).powi(2);
    // (b - r a)² ≤ t² (v_b + r² v_a), a quadratic inequality in r. Its root is written without the difference of squares, in
    // which the small spread of large counts would be lost.
    let (first, second) = (squared * before.of_mean(), squared * after.of_mean());
    let leading = before.mean.powi(2) - first;
    if leading <= 0.0 {
        return None;
    }
    let product = before.mean * after.mean;
    let root = (before.mean.powi(2) * second + after.mean.powi(2) * first - first * second).max(0.0).sqrt();
    Some(Interval { low: (product - root) / leading, high: (product + root) / leading })
}

/// `None` where a side has fewer than two values.
fn satterthwaite(before: &Moments, after: &Moments) -> Option<f64> {
    if before.n < 2 || after.n < 2 {
        return None;
    }
    let (a, b) = (before.of_mean(), after.of_mean());
    let degrees = |moments: &Moments| (moments.n - 1) as f64;
    if a + b == 0.0 {
        return Some(degrees(before) + degrees(after));
    }
    // By shares, which neither overflow nor vanish.
    let (a, b) = (a / (a + b), b / (a + b));
    Some(1.0 / (a * a / degrees(before) + b * b / degrees(after)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_that_do_not_vary_differ_for_certain_or_not_at_all() {
        let test = welch(&[5.0, 5.0, 5.0], &[6.0, 6.0]).unwrap();
        assert_eq!((test.t, test.degrees, test.probability), (f64::INFINITY, 3.0, 0.0));
        let test = welch(&[5.0, 5.0], &[5.0, 5.0]).unwrap();
        assert_eq!((test.t, test.probability), (0.0, 1.0));
        assert_eq!(ratio_of_means(&[5.0, 5.0], &[6.0, 6.0]), Some(Interval { low: 1.2, high: 1.2 }));
    }

    #[test]
    fn one_value_is_no_sample() {
        assert_eq!((welch(&[1.0], &[1.0, 2.0]), welch(&[], &[])), (None, None));
        assert_eq!(ratio_of_means(&[1.0, 2.0], &[1.0]), None);
        assert_eq!(welch(&[1.0, f64::INFINITY], &[1.0, 2.0]), None);
    }

    #[test]
    fn what_may_be_nothing_has_no_ratio() {
        // Mean 0.5, standard error 0.5: the mean may well be 0.
        assert_eq!(ratio_of_means(&[0.0, 1.0], &[5.0, 6.0]), None);
        assert_eq!(ratio_of_means(&[0.0, 0.0], &[5.0, 5.0]), None);
    }

    #[test]
    fn the_interval_ends_where_the_test_does() {
        let before = [10.0, 12.0, 11.0, 13.0];
        for shift in 0..60 {
            let after = [12.0, 11.0, 14.0, 10.5].map(|value: f64| value + f64::from(shift) / 10.0);
            let differs = welch(&before, &after).unwrap().probability < 0.05;
            assert_eq!(ratio_of_means(&before, &after).unwrap().low > 1.0, differs, "{shift}");
        }
    }
}
