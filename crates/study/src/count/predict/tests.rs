use carom_store::{CacheInfo, MachineInfo, ParameterInfo, SeriesInfo, ThreadCounts, ThreadInfo, UsageInfo};

use super::*;

/// How a program behaves: instructions, page faults and seconds by its size.
struct Program {
    instructions: fn(f64) -> f64,
    faults: fn(f64) -> f64,
    seconds: fn(f64) -> f64,
}

/// Sorting: 2 n log n instructions, a page for 512 numbers; 1 ms to start, 0.4 ns an instruction, 200 ns a fault.
const SORT: Program = Program {
    instructions: |n| 5e4 + 2.0 * n * n.log2(),
    faults: |n| 90.0 + n / 512.0,
    seconds: |n| 1e-3 + 0.4e-9 * (5e4 + 2.0 * n * n.log2()) + 2e-7 * (90.0 + n / 512.0),
};

const SIZES: [f64; 8] = [1e4, 2e4, 4e4, 8e4, 16e4, 32e4, 64e4, 128e4];

/// Deviations of times from what the program takes, in turn.
const NOISE: [f64; 5] = [0.0, 0.008, -0.008, 0.012, -0.012];

fn of(program: &Program, parameters: &[(&str, f64)], round: usize, native: bool) -> Manifest {
    let n = parameters[0].1;
    noisy(program, parameters, 1.0 + NOISE[(round + n.log2() as usize) % NOISE.len()], native)
}

/// A run that takes this many times as long as it should.
fn noisy(program: &Program, parameters: &[(&str, f64)], noise: f64, native: bool) -> Manifest {
    let n = parameters[0].1;
    let parameters = parameters
        .iter()
        .map(|(name, value)| ParameterInfo { name: (*name).to_owned(), value: value.to_string() })
        .collect();
    let instructions = (program.instructions)(n) as u64;
    let counts = ThreadCounts {
        instructions: Some(instructions),
        loads: Some(instructions / 4),
        system_calls: Some(12),
        atomics: Some(0),
        ..ThreadCounts::default()
    };
    let usage = UsageInfo {
        elapsed_ns: ((program.seconds)(n) * noise * 1e9) as u64,
        minor_faults: (program.faults)(n) as u64,
        ..UsageInfo::default()
    };
    let l2 = CacheInfo { level: 2, kind: "unified".into(), bytes: 1 << 20, ..CacheInfo::default() };
    Manifest {
        series: Some(SeriesInfo { parameters, ..SeriesInfo::default() }),
        machine: MachineInfo { caches: vec![l2], ..MachineInfo::default() },
        threads: if native {
            vec![]
        } else {
            vec![ThreadInfo { counts: Some(counts), ..ThreadInfo::default() }]
        },
        usage: native.then_some(usage),
        ..Manifest::default()
    }
}

fn runs(program: &Program, sizes: &[f64]) -> Vec<Manifest> {
    let at = |n: f64| {
        (0..3).flat_map(move |round| [true, false].map(move |native| of(program, &[("n", n)], round, native)))
    };
    sizes.iter().flat_map(|n| at(*n).collect::<Vec<_>>()).collect()
}

fn forecast(program: &Program, sizes: &[f64], at: f64) -> Result<Forecast, PredictError> {
    predict(&runs(program, sizes).iter().collect::<Vec<_>>(), &[("n".into(), at)], &[])
}

#[test]
fn a_sort_of_eight_times_the_size() {
    let at = 8.0 * 128e4;
    let found = forecast(&SORT, &SIZES, at).unwrap();
    let truth = (SORT.seconds)(at);
    let time = found.time.unwrap();
    assert!((time.value / truth - 1.0).abs() < 0.03, "{time:?} instead of {truth}");
    assert!(time.low < truth && truth < time.high && time.high < 1.3 * time.low, "{time:?}");
    let instructions = &found.indicators[0];
    assert_eq!(instructions.quantity.name(), "instructions");
    assert!((instructions.there.value / (SORT.instructions)(at) - 1.0).abs() < 1e-3, "{instructions:?}");
    assert!((instructions.rate.unwrap() / 0.4e-9 - 1.0).abs() < 0.05, "{instructions:?}");
    // A quarter of the instructions are loads: they tell nothing more.
    let loads = found.indicators.iter().find(|each| each.quantity.name() == "loads").unwrap();
    assert_eq!(loads.like.map(Quantity::name), Some("instructions"));
    assert_eq!(
        found.zero.iter().map(|each| each.name()).collect::<Vec<_>>(),
        ["atomics", "major-faults", "bytes-read", "bytes-written"]
    );
    assert_eq!(found.left_out.iter().map(|each| each.name()).collect::<Vec<_>>(), ["system-calls"]);
    assert!(found.components[0] > 0.99 && found.held_out.len() == 6, "{found:?}");
    assert_eq!(found.curve.len(), CURVE);
}

#[test]
fn a_size_that_ran_is_told_too() {
    let found = forecast(&SORT, &SIZES, 64e4).unwrap();
    let time = found.time.unwrap();
    assert!((time.value / (SORT.seconds)(64e4) - 1.0).abs() < 0.02, "{time:?}");
    assert!(found.doubts.iter().all(|doubt| !matches!(doubt, Doubt::Far { .. })));
}

#[test]
fn what_may_go_wrong_is_said() {
    // 40 times beyond sizes that span a factor of 32; pages for 5 MiB do not fit into 1 MiB.
    let small: Vec<f64> = SIZES[..6].iter().map(|n| n / 8.0).collect();
    let found = forecast(&SORT, &small, 40.0 * small[5]).unwrap();
    assert!(
        matches!(found.doubts[0], Doubt::Far { times, range } if (times, range) == (40.0, 32.0)),
        "{:?}",
        found.doubts
    );
    assert!(
        found.doubts.iter().any(|doubt| matches!(doubt, Doubt::Cache { level: 2, .. })),
        "{:?}",
        found.doubts
    );
}

/// From 16e4 on an instruction costs five times as much: what the smaller sizes tell of the larger ones is wrong, and no time is
/// predicted far beyond.
#[test]
fn what_the_fits_do_not_support_is_not_predicted() {
    let broken = Program { seconds: |n| (SORT.seconds)(n) * if n > 10e4 { 5.0 } else { 1.0 }, ..SORT };
    let found = forecast(&broken, &SIZES, 64.0 * 128e4).unwrap();
    assert_eq!(found.time, None, "{:?}", found.held_out);
    assert!(found.curve.is_empty() && !found.indicators.is_empty());
}

#[test]
fn what_cannot_be_predicted_says_why() {
    let error = |runs: &[Manifest], at: &[(&str, f64)]| {
        let at: Vec<(String, f64)> = at.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        predict(&runs.iter().collect::<Vec<_>>(), &at, &[]).unwrap_err()
    };
    let sort = runs(&SORT, &SIZES);
    assert_eq!(error(&[Manifest::default()], &[("n", 1e7)]), PredictError::NoParameter);
    assert!(matches!(error(&sort, &[("m", 1e7)]), PredictError::Unknown { .. }));
    assert!(matches!(
        error(&runs(&SORT, &SIZES[..5]), &[("n", 1e7)]),
        PredictError::FewSizes { sizes: 5, .. }
    ));
    assert_eq!(error(&sort, &[("n", -1.0)]), PredictError::NotPositive("n".into()));
    let counted: Vec<Manifest> = sort.into_iter().filter(|run| run.usage.is_none()).collect();
    assert_eq!(error(&counted, &[("n", 1e7)]), PredictError::NoTime);
    let flat = Program { instructions: |_| 1e6, faults: |_| 90.0, ..SORT };
    assert_eq!(error(&runs(&flat, &SIZES), &[("n", 1e7)]), PredictError::NothingVaries("n".into()));
}

#[test]
fn other_parameters_stay() {
    let all: Vec<Manifest> = SIZES
        .iter()
        .flat_map(|n| {
            [1.0, 2.0, 4.0].map(|t| [true, false].map(|native| of(&SORT, &[("n", *n), ("t", t)], 0, native)))
        })
        .flatten()
        .collect();
    let all: Vec<&Manifest> = all.iter().collect();
    let at = |values: &[(&str, f64)]| {
        let values: Vec<(String, f64)> =
            values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        predict(&all, &values, &[])
    };
    assert_eq!(at(&[("n", 1e7)]).unwrap().fixed, [("t".to_owned(), 1.0)]);
    assert_eq!(at(&[("n", 1e7), ("t", 4.0)]).unwrap().fixed, [("t".to_owned(), 4.0)]);
    assert_eq!(at(&[("n", 1e7), ("t", 4.0)]).unwrap().times.len(), SIZES.len());
    assert!(matches!(at(&[("n", 1e7), ("t", 3.0)]), Err(PredictError::OneSize { outside: 2, .. })));
    assert!(matches!(at(&[]), Err(PredictError::OneSize { outside: 0, .. })));
}

/// Of 60 forecasts of three programs whose times vary by 3%, to eight times the largest size, at least 54 intervals hold a further
/// run, and the median is within 5% of it.
#[test]
fn the_interval_holds_a_further_run() {
    let cubic = Program {
        instructions: |n| 2e6 + 3.0 * n.powi(3) / 1e9,
        faults: |n| 90.0 + n * n / 1e6,
        seconds: |n| 5e-4 + 1e-9 * (2e6 + 3.0 * n.powi(3) / 1e9),
    };
    let linear = Program {
        instructions: |n| 4e5 + 30.0 * n,
        faults: |n| 200.0 + n / 100.0,
        seconds: |n| 1e-3 + 0.3e-9 * (4e5 + 30.0 * n) + 3e-7 * (200.0 + n / 100.0),
    };
    let mut state = 5_u64;
    let mut deviation = || {
        let mut sum = -6.0;
        for _ in 0..12 {
            // Knuth's linear congruential generator: enough for noise, and the same everywhere.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            sum += (state >> 11) as f64 / (1_u64 << 53) as f64;
        }
        1.0 + 0.03 * sum
    };
    let (mut held, mut off) = (0, Vec::new());
    for round in 0..60 {
        let program = [&SORT, &cubic, &linear][round % 3];
        let mut all = Vec::new();
        for n in SIZES {
            for native in [true, false, true, false, true, false] {
                all.push(noisy(program, &[("n", n)], deviation(), native));
            }
        }
        let at = 8.0 * SIZES[7];
        let found = predict(&all.iter().collect::<Vec<_>>(), &[("n".into(), at)], &[]).unwrap();
        let truth = (program.seconds)(at) * deviation();
        if let Some(time) = found.time {
            held += usize::from(time.low <= truth && truth <= time.high);
            off.push((time.value / truth - 1.0).abs());
        }
    }
    off.sort_by(f64::total_cmp);
    assert!(held >= 54 && off.len() == 60 && off[30] < 0.05, "{held} of {}, {off:?}", off.len());
}
