use super::*;
use crate::testing::Random;

/// A signal of `n` points with jumps of its slope and height at these parts of it, and noise.
fn signal(n: usize, changes: &[f64], noise: f64, random: &mut Random) -> (Vec<f64>, Vec<f64>) {
    let mut levels = vec![(0.0, 1.0)];
    for index in 0..changes.len() {
        // Each segment begins 0.5 to 1.5 higher or lower than the last ended, with another slope.
        let sign = if index % 2 == 0 { 1.0 } else { -1.0 };
        levels.push((sign * (0.5 + random.fraction()), 3.0 * (random.fraction() - 0.5)));
    }
    let t: Vec<f64> = (0..n).map(|index| index as f64 / n as f64).collect();
    let y = t
        .iter()
        .map(|&t| {
            let mut height = 0.0;
            let mut from = 0.0;
            for (index, (jump, slope)) in levels.iter().enumerate() {
                let to = changes.get(index).copied().unwrap_or(2.0);
                height += jump + slope * (t.min(to) - from);
                if t < to {
                    break;
                }
                from = to;
            }
            // Nearly normal: the sum of twelve uniform numbers.
            height + noise * ((0..12).map(|_| random.fraction()).sum::<f64>() - 6.0)
        })
        .collect();
    (t, y)
}

#[test]
fn known_changes_are_found() {
    let mut random = Random::new(7);
    let (mut found, mut known, mut right) = (0, 0, 0);
    for round in 0..15 {
        let count = 2 + round % 5;
        let changes: Vec<f64> = (1..=count)
            .map(|i| (f64::from(i) + 0.4 * (random.fraction() - 0.5)) / f64::from(count + 1))
            .collect();
        let n = 3_000;
        let (t, y) = signal(n, &changes, 0.05, &mut random);
        let ends: Vec<usize> =
            segments(&t, &y, n / 50, Number::AtMost(8)).iter().map(|s| s.begin).skip(1).collect();
        let near = |change: &&f64| ends.iter().any(|&end| (end as f64 / n as f64 - **change).abs() < 0.01);
        right += changes.iter().filter(near).count();
        (found, known) = (found + ends.len(), known + changes.len());
    }
    let f1 = 2.0 * right as f64 / (found + known) as f64;
    assert!(f1 >= 0.95, "{f1}: {right} right of {known} known and {found} found");
}

/// The division is the best of all, which trying all of them confirms.
#[test]
fn two_segments_are_divided_where_the_squares_are_least() {
    let mut random = Random::new(1);
    let (t, y) = signal(2_500, &[0.317], 0.2, &mut random);
    let sums = Sums::new(&t, &y);
    let best = (2..2_498).min_by(|&a, &b| {
        let squares = |at| sums.squares(0, at) + sums.squares(at, 2_500);
        squares(a).total_cmp(&squares(b))
    });
    let found = segments(&t, &y, 2, Number::Exactly(2));
    assert_eq!((found.len(), Some(found[0].end)), (2, best));
}

#[test]
fn lines_have_their_slopes() {
    let t: Vec<f64> = (0..200).map(f64::from).collect();
    let y: Vec<f64> = t.iter().map(|t| if *t < 80.0 { 5.0 * t } else { 1_000.0 - 2.0 * t }).collect();
    let found = segments(&t, &y, 10, Number::AtMost(8));
    let [up, down] = &found[..] else { panic!("{found:?}") };
    assert_eq!((up.begin, up.end, down.begin, down.end), (0, 80, 80, 200));
    assert!((up.slope - 5.0).abs() < 1e-9 && up.first.abs() < 1e-7, "{up:?}");
    assert!((down.slope + 2.0).abs() < 1e-9 && (down.first - 840.0).abs() < 1e-7, "{down:?}");
}

#[test]
fn what_does_not_change_has_one_segment() {
    let t: Vec<f64> = (0..500).map(f64::from).collect();
    assert_eq!(segments(&t, &vec![7.0; 500], 10, Number::AtMost(8)).len(), 1);
    let mut random = Random::new(3);
    let noise: Vec<f64> = t.iter().map(|_| random.fraction()).collect();
    assert_eq!(segments(&t, &noise, 10, Number::AtMost(8)).len(), 1);
    // Too short for two.
    assert_eq!(segments(&t[..3], &noise[..3], 10, Number::Exactly(2)).len(), 1);
    assert!(segments(&[], &[], 1, Number::Exactly(2)).is_empty());
    assert!(segments(&[1.0, 2.0], &[1.0, f64::NAN], 1, Number::Exactly(1)).is_empty());
}

#[test]
fn long_signals_are_divided_as_short_ones() {
    let mut random = Random::new(11);
    let changes = [0.2, 0.55, 0.7];
    let (t, y) = signal(200_000, &changes, 0.05, &mut random);
    let found = segments(&t, &y, 1_000, Number::AtMost(8));
    let begins: Vec<f64> = found.iter().skip(1).map(|segment| segment.begin as f64 / 200_000.0).collect();
    assert_eq!(begins.len(), 3, "{begins:?}");
    for (ours, known) in begins.iter().zip(changes) {
        assert!((ours - known).abs() < 1e-4, "{begins:?}");
    }
}

/// A program that takes memory and gives it back in each of its steps: LULESH does, 38 times in 7 seconds.
#[test]
fn what_swings_is_one_segment() {
    for (teeth, depth) in [(38, 0.8), (20, 0.5), (100, 1.0)] {
        let mut random = Random::new(teeth);
        let (t, y): (Vec<f64>, Vec<f64>) = (0..6_900)
            .scan(0.0, |step, index| {
                // No step is as long as the last.
                *step += (0.8 + 0.4 * random.fraction()) * teeth as f64 / 6_500.0;
                let t = f64::from(index) / 1_000.0;
                Some((t, if index < 400 { t / 0.4 } else { 1.0 + depth * f64::fract(*step) }))
            })
            .unzip();
        let found = segments(&t, &y, 138, Number::AtMost(8));
        assert_eq!(found.len(), 2, "{teeth} of {depth}: {found:?}");
        // A step that begins where the ramp ends may look like more of it.
        assert!(found[0].end.abs_diff(400) <= 6_500 / teeth as usize, "{found:?}");
    }
}
