use carom_study_stats::wilson;

use super::*;

fn seen(hits: u32, of: u32) -> Estimate {
    let value = f64::from(hits) / f64::from(of);
    let interval = wilson(value, f64::from(of));
    Estimate { value, low: interval.low, high: interval.high }
}

fn exact(value: f64) -> Estimate {
    Estimate { value, low: value, high: value }
}

#[test]
fn one_run_each_has_the_sampling_error_and_the_assumed_spread() {
    // 30% of 10,000: by sampling ±0.9 points each. The spread is 0.4 × 0.3 × 0.7, 0.084, and after it 0.4 × 0.35 × 0.65,
    // 0.091: together 1.96 × √(0.084² + 0.091² + 2 × 0.0047²) = 0.243.
    let change = Change::between(&[seen(3_000, 10_000)], &[seen(3_500, 10_000)]);
    assert!((change.difference.value - 0.05).abs() < 1e-12);
    let half = change.difference.high - change.difference.value;
    assert!((0.242..0.245).contains(&half), "{half}");
    assert_eq!(change.trend(), Trend::Steady);
    // Odds of 3 to 7 and of 1 to 19: e^2.1 times, with a standard deviation of 0.4 √2 = 0.57 of the logarithm.
    let less = Change::between(&[seen(3_000, 10_000)], &[seen(500, 10_000)]);
    assert!((1e-4..1e-3).contains(&less.test.probability), "{less:?}");
    let gone = Change::between(&[seen(3_000, 10_000)], &[seen(0, 10_000)]);
    assert!(gone.trend() == Trend::Down && gone.difference.high < -0.1, "{gone:?}");
}

#[test]
fn several_runs_tell_their_own_spread() {
    // Means 0.30 and 0.40. Squares 2 × 0.01² on either side, with 4 degrees of freedom: variance 0.0001, error
    // 0.01 √(2 / 3) = 0.00816, times t = 2.776: ±0.0227.
    let (before, after) = ([0.29, 0.30, 0.31].map(exact), [0.39, 0.40, 0.41].map(exact));
    let change = Change::between(&before, &after);
    assert!((change.difference.high - change.difference.value - 0.0227).abs() < 2e-4, "{change:?}");
    // 0.1 / 0.00816 = 12.2 errors: 0.00026 by a table of Student's distribution.
    assert!((change.test.probability - 0.00026).abs() < 2e-5, "{change:?}");
    assert_eq!(change.trend(), Trend::Up);
}

#[test]
fn runs_that_agree_by_chance_leave_the_sampling_error() {
    let same = [seen(30, 100), seen(30, 100)];
    let change = Change::between(&same, &[seen(36, 100), seen(36, 100)]);
    assert!(change.trend() == Trend::Steady && change.difference.low < 0.0, "{change:?}");
}

#[test]
fn nothing_on_either_side_is_no_change() {
    let change = Change::between(&[exact(0.0)], &[exact(0.0)]);
    assert!(change.test.probability > 0.999 && change.difference.value == 0.0, "{change:?}");
    let unknown = Change::between(&[Estimate::UNKNOWN], &[exact(0.5)]);
    assert_eq!(unknown.trend(), Trend::Steady, "{unknown:?}");
}

#[test]
fn many_comparisons_need_more() {
    let mut tests = [Test::new(0.02); 3];
    assert_eq!(tests[0].trend(1.0), Trend::Up);
    let mut all: Vec<&mut Test> = tests.iter_mut().collect();
    correct(&mut all);
    for test in tests {
        assert!((test.corrected - 0.06).abs() < 1e-12 && test.trend(1.0) == Trend::Steady);
    }
}
