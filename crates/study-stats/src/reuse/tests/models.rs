use super::program::*;
use crate::reuse::*;

/// Eight sizes: the eighths of the footprint.
fn sizes() -> impl Iterator<Item = u64> {
    (1..=8).map(|eighth| PLACES * eighth / 8)
}

fn close(curve: &MissRatioCurve, program: &Program) {
    for places in sizes() {
        let (is, found) = (program.miss_ratio(places), curve.ratio(places * 64));
        assert!((is - found).abs() <= 0.03, "{}, {places} places: {found}, not {is}", program.name);
    }
}

/// As many as a run of moderate length yields, some 3,000: a ratio of one half is known within 0.02 then.
fn samples(program: &Program) -> Vec<Observation> {
    observations(&program.trace, 0.05, 4)
}

fn time_distances(observations: &[Observation]) -> Distances {
    Incidence::of(observations.iter().copied()).unwrap().distances().clone()
}

#[test]
fn exact_curves_are_those_of_the_simulation() {
    for program in STEADY.iter().chain(PHASED.iter()) {
        let curve = exact_curve(&program.lru, 64);
        for places in (0..PLACES + 10).step_by(3) {
            let (is, found) = (program.miss_ratio(places), curve.ratio(places * 64 + 63));
            // Bins leave a thirty-second of the distance open.
            let near = [places - places / 32, places + places / 32].map(|near| program.miss_ratio(near));
            assert!(
                (is - found).abs() < 1e-9 + near[0] - near[1],
                "{}, {places}: {found}, not {is}",
                program.name
            );
        }
    }
}

#[test]
fn stat_stack_from_all_uses_and_from_samples() {
    for program in STEADY.iter() {
        close(&stat_stack(&time_distances(&observations(&program.trace, 1.0, 1)), 64), program);
        close(&stat_stack(&time_distances(&samples(program)), 64), program);
    }
}

#[test]
fn stack_distances_of_stat_stack_make_its_curve() {
    for program in STEADY.iter() {
        let times = time_distances(&samples(program));
        close(&MissRatioCurve::of_stack_distances(&times.stack_distances().unwrap(), 64), program);
    }
}

#[test]
fn footprint_from_all_uses_and_from_samples() {
    for program in STEADY.iter() {
        let [first, last] = edges(&program.trace);
        let times = time_distances(&observations(&program.trace, 1.0, 1));
        close(&Footprint::new(times, program.accesses(), first, last).miss_ratio(64), program);
        let footprint = Footprint::sampled(&samples(program), program.accesses()).unwrap();
        close(&footprint.miss_ratio(64), program);
        // Places are measured by last accesses: 400 of 60,000, 20 of 3,000 samples, within 5 standard deviations.
        let total = footprint.total();
        assert!((total - PLACES as f64).abs() < 450.0, "{}: {total}", program.name);
    }
}

/// What a program accesses on average says little of any of its phases.
#[test]
fn phases_are_looked_at_one_by_one() {
    for program in STEADY.iter() {
        let phased = phased_stack_distances(&samples(program), program.accesses()).unwrap();
        let (found, average) = (
            MissRatioCurve::of_stack_distances(&phased, 64),
            stat_stack(&time_distances(&samples(program)), 64),
        );
        for places in sizes().filter(|places| *places < PLACES) {
            let apart = found.ratio(places * 64) - average.ratio(places * 64);
            assert!(apart.abs() < 0.03, "{}, {places} places: {apart}", program.name);
        }
    }
    for program in PHASED.iter() {
        let phased =
            phased_stack_distances(&observations(&program.trace, 0.1, 4), program.accesses()).unwrap();
        close(&MissRatioCurve::of_stack_distances(&phased, 64), program);
        let average = stat_stack(&time_distances(&samples(program)), 64);
        let worst = sizes().map(|places| (average.ratio(places * 64) - program.miss_ratio(places)).abs());
        assert!(worst.fold(0.0, f64::max) > 0.1, "{}: no need of phases", program.name);
    }
}

/// Each reuse by itself: in the first phase of 50 places, in the second of 350.
#[test]
fn every_reuse_has_the_places_of_its_phase() {
    let program = &PHASED[0];
    let uses = observations(&program.trace, 0.1, 4);
    let places = phased_places(&uses, program.accesses());
    let mut right = 0;
    for (it, places) in uses.iter().zip(&places) {
        assert_eq!(places.is_some(), it.end == End::Reused);
        // Between two accesses to a place, all others of the sweep. At the ends of phases, epochs have both.
        right += u32::from(*places == Some(it.distance) && [49, 349].contains(&it.distance));
    }
    assert!(right as usize > places.len() * 8 / 10, "{right} of {}", places.len());
    assert_eq!(phased_places(&[], 10), []);
}

/// By definition: the places of every window of that length, averaged.
#[test]
fn footprint_is_the_average_over_all_windows() {
    for program in STEADY.iter() {
        let trace = &program.trace[..2000];
        let [first, last] = edges(trace);
        let footprint =
            Footprint::new(time_distances(&observations(trace, 1.0, 1)), trace.len() as u64, first, last);
        for window in [1usize, 2, 10, 100, 1000, 1999, 2000] {
            let (count, sum) = trace.windows(window).fold((0, 0), |(count, sum), window| {
                let places: std::collections::HashSet<_> = window.iter().collect();
                (count + 1, sum + places.len())
            });
            let (is, found) = (sum as f64 / f64::from(count), footprint.places(window as u64));
            assert!(
                (is - found).abs() < 1e-6 * is,
                "{}, windows of {window}: {found}, not {is}",
                program.name
            );
        }
        let all: std::collections::HashSet<_> = trace.iter().collect();
        assert!((footprint.total() - all.len() as f64).abs() < 1e-6);
    }
}

/// A cyclic sweep over 400 places needs exactly 400.
#[test]
fn the_smallest_cache_that_does() {
    let curve = exact_curve(&lru_stack_distances(&cyclic(PLACES)), 64);
    assert_eq!(curve.smallest(1.0), Some(0));
    let smallest = curve.smallest(0.01).unwrap();
    // 400 lies in the bin from 396 to 403 (399 does): places in it are taken to be spread evenly.
    assert!((396 * 64..=404 * 64).contains(&smallest), "{}", smallest / 64);
    assert_eq!(curve.smallest(0.001), None, "first accesses always miss");
}

/// Of two independent things, 1 in 4 and 1 in 2 per step, the first: 1 - 3/4 * 1/2 = 5/8 in the first step.
#[test]
fn the_first_of_two() {
    let geometric = |odds: f64| {
        let steps = (0..60)
            .map(|distance| (carom_base::LogBin::of(distance), odds * (1.0 - odds).powi(distance as i32)));
        // Bins are single distances below 64.
        Distances::of_bins(steps, 0.0, (1.0 - odds).powi(60)).unwrap()
    };
    let (one, other) = (geometric(0.25), geometric(0.5));
    let first = one.first_of(&other).unwrap();
    for distance in 0..20 {
        let expected = 0.375f64.powi(distance as i32);
        assert!((first.survival(distance) - expected).abs() < 1e-9, "{distance}");
        let bounds = survival_of_first(&one, &other, distance);
        assert!(bounds.contains(expected));
    }
    // In a domain that is twice as fast, distance d becomes 2 d + 1.
    let slowed = one.slowed(2.0).unwrap();
    assert!((slowed.survival(2) - one.survival(1)).abs() < 1e-12);
    assert!((slowed.survival(1) - 1.0).abs() < 1e-12);
    let mixed = Distances::mixed([(1.0, &one), (3.0, &other)]).unwrap();
    assert!((mixed.survival(1) - (0.75 + 3.0 * 0.5) / 4.0).abs() < 1e-12);
}

/// Lines of two words: the word of the line at random, so that the next access to a line is either with equal odds, and
/// temporal and spatial distances are independent and geometric. Together they are the line's.
#[test]
fn lines_from_temporal_and_spatial_reuse() {
    let mut random = Random(8);
    let words: Vec<u64> = (0..ACCESSES).map(|_| random.below(2 * PLACES)).collect();
    let lines: Vec<u64> = words.iter().map(|word| word / 2).collect();
    let found = |wanted: &dyn Fn(u64, u64) -> bool| {
        let of_use = |index: usize| {
            let mut behind = words[index + 1..].iter();
            let distance = behind.position(|later| wanted(words[index], *later));
            let (distance, end) = match distance {
                Some(distance) => (distance, End::Reused),
                None => (words.len() - index - 1, End::Never),
            };
            Observation { distance: distance as u64, weight: 1.0, end }
        };
        Incidence::of((0..words.len()).step_by(20).map(of_use)).unwrap().distances().clone()
    };
    let temporal = found(&|used, later| used == later);
    let spatial = found(&|used, later| used ^ 1 == later);
    let line = temporal.if_never_lost().unwrap().first_of(&spatial).unwrap();
    close(&stat_stack(&line, 64), &Program::new("lines", lines));
}
