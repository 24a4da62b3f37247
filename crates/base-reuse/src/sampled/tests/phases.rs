//! A program with phases of different distances, like RIBench, under the thesis' replacement and the balanced one.

use carom_base::{ReuseEvent, ReuseOutcome};

use super::program::{Setup, Step, distances, load, run};
use crate::sampled::*;

/// Passes and lengths of the five loops of "Long-RD Decreasing" and "Bell-Shaped" (thesis, table 6.5), at a
/// thousandth of their lengths.
const DECREASING: [(usize, u64); 5] = [(100, 100), (30, 200), (12, 400), (5, 800), (2, 1600)];
const BELL: [(usize, u64); 5] = [(50, 100), (40, 200), (40, 400), (10, 800), (3, 1600)];

fn program(loops: [(usize, u64); 5], outer: usize) -> Vec<Step> {
    let mut trace = Vec::new();
    for _ in 0..outer {
        for ((passes, length), array) in loops.into_iter().zip(0..) {
            for _ in 0..passes {
                trace.extend((0..length).map(|place| load((array << 32) + place * 8)));
            }
        }
    }
    trace
}

/// Bins below 110, 220, 440, … (thesis 6.5.1).
const EDGES: [u64; 6] = [110, 220, 440, 880, 1760, u64::MAX];

/// The fraction of the reuses in each bin.
fn histogram(distances: impl Iterator<Item = (u64, f64)>) -> [f64; 6] {
    let mut bins = [0.0; 6];
    for (distance, weight) in distances {
        bins[EDGES.iter().position(|edge| distance < *edge).unwrap_or(5)] += weight;
    }
    let total: f64 = bins.iter().sum();
    bins.map(|bin| bin / total)
}

/// S of thesis 6.5.1.
fn accuracy(is: [f64; 6], found: [f64; 6]) -> f64 {
    1.0 - is.iter().zip(found).map(|(is, found)| (is - found).abs()).sum::<f64>() / 2.0
}

fn sampled(trace: &[Step], replacement: Replacement, slots: usize) -> Vec<ReuseEvent> {
    let odds = Odds { private_temporal: 1, ..Odds::NONE };
    let config = Config { replacement, odds, ..Config::default() };
    let of_seed = |seed| run(Setup { config, slots, rate: 1.0 / 50.0, seed }, &[0], trace).0;
    (0..3).flat_map(of_seed).collect()
}

fn as_found(events: &[ReuseEvent]) -> impl Iterator<Item = (u64, f64)> {
    let reused = events.iter().filter(|event| event.outcome == ReuseOutcome::Reused);
    reused.map(|event| (event.distance, f64::from(event.weight)))
}

/// The product-limit estimate, in which a replaced use counts as censored.
fn as_censored(events: &[ReuseEvent]) -> impl Iterator<Item = (u64, f64)> {
    let mut sorted: Vec<_> = events.iter().map(|event| (event.distance, event.later.is_some())).collect();
    sorted.sort_unstable();
    let (count, mut survival) = (sorted.len(), 1.0);
    sorted.into_iter().enumerate().filter(|(_, (_, reused))| *reused).map(move |(index, (distance, _))| {
        let mass = survival / (count - index) as f64;
        survival -= mass;
        (distance, mass)
    })
}

/// The table in the module's documentation. Both estimates for Algorithm 2 are far off with four slots.
#[test]
fn phases_need_balance() {
    for loops in [DECREASING, BELL] {
        let trace = program(loops, 3);
        let is = histogram(distances(&trace).into_iter().map(|distance| (distance, 1.0)));
        for slots in [4, 16, 64] {
            let thesis = sampled(&trace, Replacement::Reservoir, slots);
            let counted = accuracy(is, histogram(as_found(&thesis)));
            let censored = accuracy(is, histogram(as_censored(&thesis)));
            let balanced = sampled(&trace, Replacement::Balanced, slots);
            let balanced = accuracy(is, histogram(as_found(&balanced)));
            println!("{slots} slots: counted {counted:.3}, censored {censored:.3}, balanced {balanced:.3}");
            assert!(balanced > 0.95, "{slots} slots: {balanced}");
            assert!(slots > 4 || counted < 0.85 && censored < 0.95, "{counted} {censored}");
        }
    }
}
