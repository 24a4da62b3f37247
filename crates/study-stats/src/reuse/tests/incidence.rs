use super::program::Random;
use crate::reuse::*;

fn seen(distance: u64, end: End) -> Observation {
    Observation { distance, weight: 1.0, end }
}

/// Freireich's 6-mercaptopurine trial, the standard example (Kalbfleisch and Prentice, "The Statistical Analysis of
/// Failure Time Data", table 1.1): product-limit estimates 0.857, 0.807, 0.753, 0.690, 0.627, 0.538, 0.448 behind 6, 7,
/// 10, 13, 16, 22 and 23 weeks, with Greenwood's standard errors 0.076, 0.087, 0.096, 0.107, 0.114, 0.128, 0.135. In
/// the trial a patient censored at 6 weeks was at risk at 6; here one is not, so censored weeks are given half a week
/// later: all numbers doubled.
#[test]
fn a_published_example() {
    let remissions = [6, 6, 6, 7, 10, 13, 16, 22, 23].map(|week| seen(week * 2, End::Reused));
    let censored =
        [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35].map(|week| seen(week * 2 + 1, End::Censored));
    let incidence = Incidence::of(remissions.into_iter().chain(censored)).unwrap();
    let published = [
        (6, 0.857, 0.076),
        (7, 0.807, 0.087),
        (10, 0.753, 0.096),
        (13, 0.690, 0.107),
        (16, 0.627, 0.114),
        (22, 0.538, 0.128),
        (23, 0.448, 0.135),
    ];
    for (week, survival, error) in published {
        let found = incidence.distances().survival(week * 2 + 1);
        assert!((found - survival).abs() < 6e-4, "{week}: {found}");
        let size = survival * (1.0 - survival) / (error * error);
        let (found, expected) = (incidence.survival_interval(week * 2 + 1), crate::wilson(survival, size));
        assert!((found.low - expected.low).abs() < 0.01, "{week}: {found:?}, not {expected:?}");
        assert!((found.high - expected.high).abs() < 0.01, "{week}: {found:?}, not {expected:?}");
    }
}

/// Without censoring: plain shares, and the interval of a proportion.
#[test]
fn without_censoring_shares_are_plain() {
    let uses = (0..10).map(|distance| seen(distance, End::Reused));
    let others = (0..6).map(|distance| seen(distance * 2, End::Invalidated));
    let never = (0..4).map(|_| seen(3, End::Never));
    let incidence = Incidence::of(uses.chain(others).chain(never)).unwrap();
    let distances = incidence.distances();
    // Of 20: reused at 0, 1, 2; invalidated at 0 and 2.
    assert!((distances.survival(3) - 15.0 / 20.0).abs() < 1e-12);
    assert!((distances.reused_from(3) - 7.0 / 20.0).abs() < 1e-12);
    assert!((distances.lost() - 6.0 / 20.0).abs() < 1e-12);
    assert!((distances.never() - 4.0 / 20.0).abs() < 1e-12);
    let expected = crate::wilson(3.0 / 20.0, 20.0);
    let found = incidence.reused_interval(3);
    assert!((found.low - expected.low).abs() < 1e-9 && (found.high - expected.high).abs() < 1e-9);
    let expected = crate::wilson(2.0 / 20.0, 20.0);
    let found = incidence.invalidated_interval(3);
    assert!((found.low - expected.low).abs() < 1e-9 && (found.high - expected.high).abs() < 1e-9);
}

/// Distances, reasons and censoring drawn at random and independently: the intervals contain the truth in some 95 of
/// 100 runs, also when some uses weigh four times as much as others, for being sampled a quarter as often.
#[test]
fn intervals_cover_the_truth() {
    let mut random = Random(5);
    let (runs, mut reused_in, mut lost_in) = (400, 0, 0);
    for _ in 0..runs {
        let mut uses = Vec::new();
        while uses.len() < 300 {
            let long = random.unit() < 0.5;
            if long && random.unit() < 0.75 {
                continue;
            }
            // Long ones end at 20 to 39, short ones at 0 to 19; one in four by invalidation.
            let distance = random.below(20) + if long { 20 } else { 0 };
            let end = if random.unit() < 0.25 { End::Invalidated } else { End::Reused };
            let censored = random.below(80);
            let (distance, end) =
                if censored <= distance { (censored, End::Censored) } else { (distance, end) };
            uses.push(Observation { distance, weight: if long { 4.0 } else { 1.0 }, end });
        }
        let incidence = Incidence::of(uses).unwrap();
        // Below 30: all short ones and half of the long ones, three of four of these by reuse.
        reused_in += u32::from(incidence.reused_interval(30).contains(0.75 * 0.75));
        lost_in += u32::from(incidence.invalidated_interval(30).contains(0.25 * 0.75));
    }
    for covered in [reused_in, lost_in] {
        // 95% of 400, 4.4 standard deviations either way.
        assert!((361..=399).contains(&covered), "{reused_in}, {lost_in} of {runs}");
    }
}

#[test]
fn senseless_observations_do_no_harm() {
    assert_eq!(Incidence::of([]), None);
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(Incidence::of([Observation { distance: 1, weight, end: End::Reused }]), None);
    }
    let ends = [End::Censored, End::Reused, End::Invalidated, End::Never];
    let extremes = ends.map(|end| [seen(0, end), seen(u64::MAX, end)]).into_iter().flatten();
    let incidence = Incidence::of(extremes).unwrap();
    for distance in [0, 1, u64::MAX] {
        let all = [incidence.reused_interval(distance), incidence.survival_interval(distance)];
        assert!(all.iter().all(|interval| 0.0 <= interval.low && interval.high <= 1.0));
        assert!((0.0..=1.0).contains(&incidence.distances().survival(distance)));
    }
    let curve = stat_stack(incidence.distances(), 0);
    assert!((0.0..=1.0).contains(&curve.ratio(u64::MAX)));
    let censored = Incidence::of([seen(5, End::Censored)]).unwrap();
    assert_eq!(censored.distances().never(), 1.0);
    let footprint =
        Footprint::sampled(&[seen(u64::MAX, End::Never), seen(3, End::Reused)], u64::MAX).unwrap();
    assert!(footprint.miss_ratio(1).ratio(100).is_finite());
}
