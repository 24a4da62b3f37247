use carom_base::{DistanceKind, ProcessId};

use super::*;
use crate::diff::Trend;
use crate::reuse::{Basis, Curve, CurveKind, Fit, MissRatio, Model, Outcomes, ReusedBy, Unit};

const L2: u64 = 1 << 20;

/// A run whose pairs of places (line of the use, line of the reuse) miss in these parts of all accesses.
fn run(pairs: &[(u32, u32, f64)]) -> ReuseFindings {
    let all: f64 = pairs.iter().map(|pair| pair.2).sum();
    let ratio = proportion(all, 5_000.0);
    ReuseFindings {
        chosen_bytes: L2,
        curves: vec![curve(ratio, Basis::Modelled(Model::StatStack))],
        pairs: pairs.iter().map(|pair| made(*pair, all)).collect(),
        fits: vec![Fit {
            scope: CurveScope::All,
            cache_bytes: L2,
            ratio,
            compulsory: 0.0,
            enough_bytes: None,
            worst_pair: None,
            worst_share: 0.0,
            by_geometry: Vec::new(),
        }],
        ..ReuseFindings::default()
    }
}

fn curve(ratio: Estimate, basis: Basis) -> Curve {
    Curve {
        scope: CurveScope::All,
        reused_by: ReusedBy::SameThread,
        kind: CurveKind::Any,
        distance: DistanceKind::Stack,
        unit: Unit::Places,
        granularity: 64,
        basis,
        accesses: 1e9,
        observations: 5_000,
        outcomes: Outcomes::default(),
        histogram: Vec::new(),
        miss_ratio: vec![MissRatio { bytes: L2, ratio }],
    }
}

fn made((earlier, later, misses): (u32, u32, f64), all: f64) -> Pair {
    let at = |line| {
        let (function, file) = (Some("relax".into()), Some("relax.c".into()));
        vec![Frame { function, file, line: Some(line), ..Frame::default() }]
    };
    Pair {
        process: ProcessId(0),
        scope: Scope::Private,
        earlier: at(earlier),
        later: at(later),
        threads: Vec::new(),
        share_by_cache: Vec::new(),
        object: None,
        around: None,
        by_kind: [1.0, 0.0, 0.0, 0.0],
        temporal: None,
        share: 2.0 * misses,
        share_of_misses: misses / all,
        miss_ratio: 0.5,
        time: None,
        unit: Unit::Accesses,
        stack_bytes: None,
        missing_bytes: None,
        basis: Basis::Modelled(Model::StatStack),
        seen: 100,
    }
}

#[test]
fn misses_go_while_others_stay() {
    let before = run(&[(40, 77, 0.4), (50, 51, 0.1), (1, 2, 0.001)]);
    let after = run(&[(50, 51, 0.1)]);
    let diff = reuse(&[before], &[after]).unwrap();
    assert_eq!(diff.miss_ratio.trend(), Trend::Down);
    let fates: Vec<_> = diff.pairs.iter().map(|pair| (pair.later[0].line, pair.fate)).collect();
    assert_eq!(fates, [(Some(77), Fate::Gone), (Some(51), Fate::Left)]);
    assert_eq!(diff.too_small, 1, "a five-hundredth of the misses");
}

#[test]
fn code_that_moved_is_the_same_code() {
    let diff = reuse(&[run(&[(40, 77, 0.4)])], &[run(&[(43, 80, 0.1)])]).unwrap();
    assert_eq!(diff.pairs.len(), 1);
    assert_eq!((diff.pairs[0].fate, diff.pairs[0].later[0].line), (Fate::Smaller, Some(80)));
}

#[test]
fn only_like_is_compared() {
    let one = run(&[(1, 2, 0.1)]);
    let refused = |other: ReuseFindings| reuse(std::slice::from_ref(&one), &[other]).unwrap_err();
    assert_eq!(refused(ReuseFindings { chosen_bytes: 2 * L2, ..one.clone() }), Incomparable::Caches);
    let exact = curve(proportion(0.1, 1e3), Basis::Exact);
    assert_eq!(refused(ReuseFindings { curves: vec![exact], ..one.clone() }), Incomparable::Bases);
    assert_eq!(refused(ReuseFindings { fits: Vec::new(), ..one.clone() }), Incomparable::TooFewUses);
}
