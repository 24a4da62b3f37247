use super::program::*;
use crate::reuse::*;

/// The simulated ratio lies within the band at 9 of 10 sizes and programs.
#[test]
fn bands_cover_the_simulation() {
    let (mut inside, mut all) = (0, 0);
    let model = |program: &Program| Model::Phased { accesses: program.accesses() };
    let steady = STEADY.iter().map(|program| (program, Model::StatStack));
    let all_models = steady.chain(STEADY.iter().take(3).map(|program| (program, model(program))));
    for (program, model) in all_models.chain(PHASED.iter().map(|program| (program, model(program)))) {
        for seed in 0..2 {
            let samples = observations(&program.trace, 0.05, seed);
            let curve = sampled(&samples, model, 64, Bootstrap { resamples: 20, seed: 1 }, &[]).unwrap();
            for places in (1..=8).map(|eighth| PLACES * eighth / 8) {
                let (band, is) = (curve.band(places * 64).unwrap(), program.miss_ratio(places));
                assert!(band.low <= curve.ratio(places * 64) && curve.ratio(places * 64) <= band.high);
                inside += u32::from(band.contains(is));
                all += 1;
            }
        }
    }
    assert!(inside * 10 >= all * 9, "{inside} of {all}");
}

#[test]
fn equal_seeds_give_equal_bands_and_more_samples_narrower_ones() {
    let trace = &STEADY[0].trace;
    let width = |rate: f64, seed: u64| {
        let bootstrap = Bootstrap { resamples: 50, seed };
        let model = Model::Footprint { accesses: trace.len() as u64 };
        let curve = sampled(&observations(trace, rate, 7), model, 64, bootstrap, &[]).unwrap();
        curve.band(200 * 64).unwrap().half_width()
    };
    assert_eq!(width(0.02, 1), width(0.02, 1));
    // 16 times as many: a quarter as wide, within a third.
    let ratio = width(0.32, 1) / width(0.02, 1);
    assert!((0.25 / 1.33..0.25 * 1.33).contains(&ratio), "{ratio}");
}

/// Resamples are drawn and added up in one order, whatever processors there are.
#[test]
fn any_number_of_threads_gives_the_same_bands() {
    let trace = &STEADY[0].trace;
    let samples = observations(trace, 0.02, 7);
    let model = Model::Phased { accesses: trace.len() as u64 };
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| sampled(&samples, model, 64, Bootstrap::default(), &[]).unwrap())
    };
    let alone = with(1);
    assert!([2, 3, 7, 64].into_iter().all(|threads| with(threads) == alone));
}

#[test]
fn without_observations_there_is_no_curve() {
    assert_eq!(sampled(&[], Model::StatStack, 64, Bootstrap::default(), &[]), None);
}

/// Twenty clusters of a hundred, each of which either always misses or never does: the ratio is as uncertain as that of twenty
/// observations.
#[test]
fn clusters_are_drawn_as_a_whole() {
    let distances = (0..20).flat_map(|cluster| [if cluster % 2 == 0 { 0 } else { 1_000_000 }; 100]);
    let all: Vec<_> =
        distances.map(|distance| Observation { distance, end: End::Reused, weight: 1.0 }).collect();
    let half_width = |clusters: &[usize]| {
        let curve = sampled(&all, Model::StatStack, 64, Bootstrap::default(), clusters).unwrap();
        curve.band(64 * 64).unwrap().half_width()
    };
    let (alone, together) = (half_width(&[]), half_width(&[100; 20]));
    // 1.96 standard errors: of 2000, and of 20.
    assert!((0.015..0.035).contains(&alone), "{alone}");
    assert!((0.15..0.3).contains(&together), "{together}");
}
