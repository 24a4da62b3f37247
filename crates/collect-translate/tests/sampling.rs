//! Which accesses are sampled, how often, and whether samples are reported correctly.
#![allow(clippy::unwrap_used)] // What a test cannot have fails it.

#[path = "sampling/branches.rs"]
mod branches;
#[path = "sampling/kernels.rs"]
mod kernels;
#[path = "sampling/lanes.rs"]
mod lanes;
#[path = "sampling/recorder.rs"]
mod recorder;
#[path = "sampling/statistics.rs"]
mod statistics;
mod support;
#[path = "sampling/ways.rs"]
mod ways;
#[path = "sampling/zoo.rs"]
mod zoo;

use carom_base::{
    Access,
    AccessKind::{self, Load, ReadModifyWrite, Store},
};

use self::{
    kernels::{ELEMENTS, STEP_BYTES},
    recorder::{Run, Sampled, sample, sample_changing, sample_when},
    statistics::{ChiSquare, tally},
    support::Function,
    zoo::{KNOWN, NODES, Place, RETURN},
};

/// The number of samples in the run of each loop.
const SAMPLES: u64 = 3000;

/// A multiple of every number of accesses from 1 to 8: a sampler that took every n-th access would always pick the
/// same one.
const MULTIPLE: u64 = 840;

/// Each stratum of one period has one sample. The accesses of one kind belong to `streams` blocks and repeated
/// instructions, each of which has strata of its own, the last one incomplete. In a superblock some have none, and it is so in the
/// mean: the variance is at most that of independent draws.
fn assert_number(run: &Run, kind: AccessKind, accesses: u64, period: u64, streams: u64) {
    let samples = run.of(kind).count() as u64;
    let off = if env!("CARGO_CRATE_NAME").contains("superblocks") {
        streams + 5 * (accesses / period).isqrt()
    } else {
        streams
    };
    let least = (accesses / period + 1).saturating_sub(off);
    let range = least..=accesses / period + off;
    assert!(range.contains(&samples), "{samples} samples of {accesses} accesses, wanted {range:?}");
}

/// Runs the loops of 1 to 8 accesses, which access the words from the buffer's start on.
fn sample_loops(loops: [Function; 8], periods: [u64; 2], period: u64) -> Vec<(u64, Function, Run)> {
    let buffer = [0u64; 8];
    let lengths = 1..=loops.len() as u64;
    let calls: Vec<_> = lengths
        .clone()
        .zip(loops)
        .map(|(n, function)| (function, buffer.as_ptr() as u64, (SAMPLES * period).div_ceil(n)))
        .collect();
    let runs = sample(periods, &calls);
    for run in &runs {
        for found in &run.samples {
            let step = (found.access.addr.0 - buffer.as_ptr() as u64) / 8;
            // The last `ret` of the loop may be sampled, too: it lies behind them.
            assert!(step < 8 || found.access.kind == Load, "{found:?}");
        }
    }
    lengths.zip(loops).zip(runs).map(|((n, function), run)| (n, function, run)).collect()
}

/// Checks the samples of one kind in a loop of `n` accesses. The loop begins with its function, so it is one block;
/// the return after it is another, with one load.
fn check_loop(
    n: u64,
    function: Function,
    run: &Run,
    kind: AccessKind,
    period: u64,
    done: AccessKind,
) -> ChiSquare {
    let start = function as *const () as u64;
    let base = run.samples.iter().map(|found| found.access.addr.0).min().unwrap_or_default();
    let accesses = n * (SAMPLES * period).div_ceil(n);
    assert_number(run, kind, accesses, period, 2);
    let in_loop = run.of(kind).filter(|found| found.access.ip.0 < start + n * STEP_BYTES);
    let places = tally(in_loop.map(|found| {
        let step = (found.access.ip.0 - start) / STEP_BYTES;
        assert_eq!(found.access.ip.0, start + step * STEP_BYTES, "an access is where its instruction is");
        assert_eq!(found.access.addr.0, base + 8 * step);
        assert_eq!((found.access.width, found.access.kind), (8, done));
        step
    }));
    ChiSquare::of(&places, n as usize)
}

macro_rules! lengths {
    ($kernel:ident) => {
        [
            kernels::$kernel::<1>,
            kernels::$kernel::<2>,
            kernels::$kernel::<3>,
            kernels::$kernel::<4>,
            kernels::$kernel::<5>,
            kernels::$kernel::<6>,
            kernels::$kernel::<7>,
            kernels::$kernel::<8>,
        ]
    };
}

/// Loops of one kind at one period, the other kind's being `other`.
fn check_loops(loops: [Function; 8], kind: AccessKind, period: u64, other: u64, done: AccessKind) {
    let periods = if kind == Load { [period, other] } else { [other, period] };
    let mut all = ChiSquare::default();
    for (n, function, run) in sample_loops(loops, periods, period) {
        all = all.and(check_loop(n, function, &run, kind, period, done));
        let others = run.samples.len() - run.of(kind).count();
        assert!(other != 0 || others == 0, "{others} samples of a kind that has no period");
    }
    assert!(all.is_likely(), "period {period}: {all:?}");
}

/// The periods change all the time, and what is sampled has its part in it. A sample weighs as much as the period with
/// which it was drawn: the weights add up to the accesses of each kind, but for the last strata of the loop, of its
/// return, and of the code around them. Each of the loop's accesses has an equal part of the weight.
#[test]
fn weights_add_up_while_the_periods_change() {
    const PERIOD: u64 = 100;
    const LONGEST: u64 = PERIOD << 3;
    let buffer = [0u64; 8];
    for early in [false, true] {
        let calls = [
            (kernels::loads::<6> as Function, buffer.as_ptr() as u64, SAMPLES * PERIOD),
            (kernels::stores::<6> as Function, buffer.as_ptr() as u64, SAMPLES * PERIOD),
        ];
        for (run, kind) in sample_changing(early, [PERIOD; 2], &calls).iter().zip([Load, Store]) {
            let weight = |found: &Sampled| (PERIOD << found.doublings) as f64;
            let counted = if kind == Load { run.totals.loads } else { run.totals.stores };
            let sum: f64 = run.of(kind).map(weight).sum();
            let off = (sum - counted as f64).abs();
            assert!(off <= 3.0 * LONGEST as f64, "{sum} of {counted} accesses of kind {kind:?}");
            let doubled = (0..4).all(|doublings| run.of(kind).any(|found| found.doublings == doublings));
            assert!(doubled, "all periods were in force");
            // A sixth of the whole each. One stratum of length L adds at most L * L to the variance, and all of them
            // together the longest times the whole.
            let five_sigma = 5.0 * (LONGEST as f64 * counted as f64).sqrt();
            for step in 0..6 {
                let at = buffer.as_ptr() as u64 + 8 * step;
                let sum: f64 = run.of(kind).filter(|found| found.access.addr.0 == at).map(weight).sum();
                assert!((sum - counted as f64 / 6.0).abs() < five_sigma, "{step}: {sum} of {counted}");
            }
        }
    }
}

#[test]
fn loads_are_sampled_equally() {
    for period in [100, MULTIPLE, 1000] {
        check_loops(lengths!(loads), Load, period, 0, Load);
    }
}

#[test]
fn stores_are_sampled_equally() {
    for period in [100, MULTIPLE, 1000] {
        check_loops(lengths!(stores), Store, period, 0, Store);
    }
}

/// An instruction that reads and writes may be drawn as a load and as a store of the same execution.
#[test]
fn updates_are_sampled_as_loads_and_as_stores() {
    check_loops(lengths!(updates), Load, 100, 100, ReadModifyWrite);
    check_loops(lengths!(updates), Store, 100, 100, ReadModifyWrite);
    check_loops(lengths!(updates), Store, MULTIPLE, 300, ReadModifyWrite);
}

/// Threads that run code which another one had translated have no countdowns yet, and begin their own. Each has its
/// own draws, and its first accesses are as likely to be sampled as any.
#[test]
fn every_thread_has_strata_of_its_own() {
    const THREADS: usize = 400;
    const PERIOD: u64 = 100;
    let words = [0u64; 8];
    let calls = [(kernels::loads::<5> as Function, words.as_ptr() as u64, PERIOD / 5); THREADS];
    let runs = sample([PERIOD, 0], &calls);
    let start = kernels::loads::<5> as *const () as u64;
    let first_access = |run: &Run| {
        let found: Vec<_> = run.of(Load).filter(|found| found.access.ip.0 < start + 5 * STEP_BYTES).collect();
        // One stratum, with one sample.
        assert_eq!(found.len(), 1);
        // The kernel counts down in RSI: which of the 20 executions.
        let execution = PERIOD / 5 - found[0].registers[6];
        execution * 5 + (found[0].access.ip.0 - start) / STEP_BYTES
    };
    let numbers = tally(runs.iter().map(first_access));
    assert!(ChiSquare::of(&numbers, PERIOD as usize).is_likely(), "{numbers:?}");
}

/// How often each repeated instruction runs below.
const REPETITIONS: u64 = 5000;

/// Checks that the elements at `range` were accessed equally often, and no others.
fn check_elements(run: &Run, kind: AccessKind, range: std::ops::Range<u64>, width: u32) {
    let in_range = run.of(kind).filter(|found| range.contains(&found.access.addr.0));
    let elements = tally(in_range.map(|found| {
        assert_eq!((found.access.width, found.access.kind), (width, kind));
        assert_eq!((found.access.addr.0 - range.start) % u64::from(width), 0);
        found.access.addr.0
    }));
    let all = ChiSquare::of(&elements, ((range.end - range.start) / u64::from(width)) as usize);
    assert!(all.is_likely(), "{all:?}: {elements:x?}");
}

/// Each iteration of a repeated store is an access of its own. The period is also a multiple of the iterations.
#[test]
fn iterations_of_repeated_stores_are_sampled_equally() {
    let buffer = [0u64; ELEMENTS];
    let base = buffer.as_ptr() as u64;
    for period in [100, 10 * ELEMENTS as u64] {
        let run = &sample([0, period], &[(kernels::fill, base, REPETITIONS)])[0];
        assert_number(run, Store, REPETITIONS * ELEMENTS as u64, period, 2);
        check_elements(run, Store, base..base + 8 * ELEMENTS as u64, 8);
        assert_eq!(run.of(Load).count(), 0);
    }
}

/// From the last element to the first; the source lies before the destination.
#[test]
fn iterations_of_copies_are_sampled_in_either_direction() {
    let buffer = [0u64; 2 * ELEMENTS];
    let base = buffer.as_ptr() as u64;
    let middle = base + 8 * ELEMENTS as u64;
    for periods in [[100, 300], [10 * ELEMENTS as u64, 100]] {
        let run = &sample(periods, &[(kernels::copy_backwards, base, REPETITIONS)])[0];
        assert_number(run, Load, REPETITIONS * ELEMENTS as u64, periods[0], 3);
        assert_number(run, Store, REPETITIONS * ELEMENTS as u64, periods[1], 2);
        check_elements(run, Load, base..middle, 8);
        check_elements(run, Store, middle..middle + 8 * ELEMENTS as u64, 8);
    }
}

/// The halves differ in one element, so only elements up to that one are compared.
#[test]
fn iterations_of_comparisons_are_sampled_up_to_the_difference() {
    const DIFFERENT: usize = 40;
    let mut buffer = [7u32; 2 * ELEMENTS];
    buffer[DIFFERENT] = 8;
    let base = buffer.as_ptr() as u64;
    let compared = DIFFERENT as u64 + 1;
    for period in [100, 10 * 2 * compared] {
        let run = &sample([period, 100], &[(kernels::compare, base, REPETITIONS)])[0];
        assert_number(run, Load, REPETITIONS * 2 * compared, period, 3);
        for start in [base, base + 4 * ELEMENTS as u64] {
            check_elements(run, Load, start..start + 4 * compared, 4);
            let behind = start + 4 * compared..start + 4 * ELEMENTS as u64;
            assert!(!run.samples.iter().any(|found| behind.contains(&found.access.addr.0)));
        }
        assert_eq!(run.of(Store).count(), 0);
    }
}

/// Bytes and words, vectors, stack and memory, atomics, bit strings, a base that its own load replaces: everything in
/// a sample follows from the instruction and from the registers in front of it.
#[test]
fn every_form_of_access_is_told_right() {
    const VISITS: u64 = 60_000;
    let nodes = zoo::ring();
    let first = nodes.as_ptr() as u64;
    let places = zoo::instructions();
    let known: Vec<_> = KNOWN.into_iter().chain([RETURN]).collect();
    for periods in [[100, 100], [1000, 300]] {
        let run = &sample(periods, &[(zoo::walk, first, VISITS)])[0];
        for (kind, period) in [(Load, periods[0]), (Store, periods[1])] {
            let reads = kind == Load;
            let of_kind: Vec<_> =
                known.iter().filter(|known| if reads { known.3.reads() } else { known.3.writes() }).collect();
            assert_number(run, kind, VISITS * of_kind.len() as u64, period, 5);
            let last = places[RETURN.0 - 1];
            let met = tally(run.of(kind).filter(|found| found.access.ip.0 != last).map(|found| {
                let node = found.registers[9];
                let matches = |known: &&&zoo::Known| {
                    let addr = match known.1 {
                        Place::Node(offset) => node + offset,
                        Place::Stack(offset) => found.registers[4].wrapping_add_signed(offset),
                    };
                    let access = found.access;
                    (access.ip.0, access.addr.0) == (places[known.0], addr)
                        && (access.width, access.kind) == (known.2, known.3)
                };
                let index = (0..of_kind.len()).find(|&index| matches(&&of_kind[index]));
                index.unwrap_or_else(|| panic!("no such access: {found:x?}")) as u64
            }));
            let accesses = ChiSquare::of(&met, of_kind.len());
            let visited =
                tally(run.of(kind).map(|found| (found.registers[9] - first) / size_of::<zoo::Node>() as u64));
            let all = accesses.and(ChiSquare::of(&visited, NODES));
            assert!(all.is_likely(), "{all:?}: {met:?} {visited:?}");
        }
    }
}

/// The draws are the same, and so are the reports, whether they come at once or in front of the access. Within one
/// execution the order may differ.
#[test]
fn early_samples_are_the_same_samples() {
    const VISITS: u64 = 60_000;
    let nodes = zoo::ring();
    let calls = [(zoo::walk as Function, nodes.as_ptr() as u64, VISITS)];
    for periods in [[100, 100], [1000, 300]] {
        let [late, early] = [false, true].map(|early| {
            let mut samples: Vec<_> = sample_when(early, 1, periods, &calls)[0]
                .samples
                .iter()
                .map(|found| {
                    let Access { ip, addr, width, kind } = found.access;
                    let said = (found.position, found.drawn_as as u8, ip.0, addr.0, width, kind as u8);
                    (said, found.registers)
                })
                .collect();
            samples.sort_unstable();
            samples
        });
        let said = |samples: &[(_, _)]| samples.iter().map(|(said, _)| *said).collect::<Vec<_>>();
        assert_eq!(said(&early), said(&late));
        // What locates the frame.
        let frames =
            |samples: &[(_, [u64; 16])]| samples.iter().map(|(_, of)| [of[4], of[5]]).collect::<Vec<_>>();
        assert_eq!(frames(&early), frames(&late));
        // Registers that instructions in between have written.
        let differ = early.iter().zip(&late).filter(|(early, late)| early.1 != late.1).count();
        assert!(differ > 100, "{differ} of {} were told ahead of their instruction", late.len());
    }
}

/// Samples that are not wanted are not reported. The others have the weight that was asked for: in total the weight
/// of all that were drawn.
#[test]
fn of_some_samples_nothing_is_told() {
    const VISITS: u64 = 60_000;
    const ONE_IN: u64 = 3;
    let nodes = zoo::ring();
    let calls = [(zoo::walk as Function, nodes.as_ptr() as u64, VISITS)];
    for early in [false, true] {
        let [all, some] = [1, ONE_IN].map(|one_in| {
            let run = &sample_when(early, one_in, [100, 100], &calls)[0];
            assert!(run.samples.iter().all(|sample| sample.weight == one_in as f32));
            run.samples.len() as u64
        });
        // Mostly one is drawn at a time, and every third is reported.
        assert!((some * ONE_IN).abs_diff(all) < all / 20, "{some} of {all}");
    }
}

/// Rounds of each loop of lanes below.
const ROUNDS: u64 = 60_000;

/// Checks that each lane of a round was sampled equally often, in its place among the accesses. The counts are exact.
fn check_lanes(function: Function, round: &[lanes::Lane], prepares: u64, periods: [u64; 2]) {
    let vectors = lanes::Vectors::new();
    let base = std::ptr::from_ref(&*vectors) as u64;
    let places = lanes::instructions(function);
    let run = &sample(periods, &[(function, base, ROUNDS)])[0];
    let of_kind = |kind: AccessKind| round.iter().filter(move |lane| lane.3 == kind).count() as u64;
    // And the return address.
    let loads = (ROUNDS * of_kind(Load) + prepares + 1) as i64;
    assert_eq!((run.totals.loads, run.totals.stores), (loads, (ROUNDS * of_kind(Store)) as i64));
    let bytes: u64 = round.iter().filter(|lane| lane.3 == Store).map(|lane| u64::from(lane.2)).sum();
    assert_eq!(run.totals.stored_bytes, (ROUNDS * bytes) as i64);
    let mut all = ChiSquare::default();
    for (kind, period) in [(Load, periods[0]), (Store, periods[1])] {
        // Each instruction has strata of its own, and so have the blocks in front and behind.
        assert_number(run, kind, ROUNDS * of_kind(kind), period, 5);
        let in_loop = run.of(kind).filter(|found| found.access.ip.0 >= places[round[0].0]);
        let in_loop = in_loop.filter(|found| found.access.ip.0 <= places[round[round.len() - 1].0]);
        let met = tally(in_loop.map(|found| {
            let is_it = |lane: &lanes::Lane| {
                let &(number, offset, width, kind) = lane;
                let access = found.access;
                (access.ip.0, access.addr.0) == (places[number], base + offset)
                    && (access.width, access.kind) == (width, kind)
            };
            let index = round.iter().position(is_it);
            let index = index.unwrap_or_else(|| panic!("no such lane: {found:x?}")) as u64;
            // The loop counts down in RSI.
            let before = (ROUNDS - found.registers[6]) * round.len() as u64;
            assert_eq!(found.position, prepares + before + index, "{found:x?}");
            index
        }));
        all = all.and(ChiSquare::of(&met, of_kind(kind) as usize));
    }
    assert!(all.is_likely(), "{all:?}");
}

/// Each active lane is an access. The second period of loads is a multiple of the lanes of each instruction.
#[test]
fn lanes_by_sign_are_sampled_equally() {
    if !is_x86_feature_detected!("avx2") {
        return eprintln!("skipped: processor: no AVX2");
    }
    for function in [lanes::signs as Function, lanes::signs_among_flags] {
        for periods in [[100, 300], [30 * 16, 100]] {
            check_lanes(function, &lanes::of_signs(), lanes::SIGNS_PREPARES, periods);
        }
    }
}

/// The same with mask registers, of four to 64 lanes.
#[test]
fn lanes_by_mask_register_are_sampled_equally() {
    if !is_x86_feature_detected!("avx512vl") || !is_x86_feature_detected!("avx512bw") {
        return;
    }
    for function in [lanes::opmasks as Function, lanes::opmasks_among_flags] {
        for periods in [[100, 300], [24 * 20, 100]] {
            check_lanes(function, &lanes::of_opmasks(), lanes::OPMASKS_PREPARES, periods);
        }
    }
}

/// A repeated store is reported before it happens: its words are those of the round before. The report comes after
/// the elements before it.
#[test]
fn repeated_stores_are_sampled_before_they_happen() {
    let buffer = [0u64; ELEMENTS];
    let base = buffer.as_ptr() as u64;
    let run = &sample([0, 100], &[(kernels::fill, base, REPETITIONS)])[0];
    assert_eq!(run.totals.stores, (REPETITIONS * ELEMENTS as u64) as i64);
    for found in run.of(Store) {
        let left = found.registers[6];
        assert_eq!(found.registers[0], left, "what is to be stored");
        assert_eq!(found.word, if left == REPETITIONS { 0 } else { left + 1 });
        let element = (found.access.addr.0 - base) / 8;
        assert_eq!(found.position, (REPETITIONS - left) * ELEMENTS as u64 + element);
    }
}

/// A search that may continue for 2^64 bytes ends at the 38th. Its samples are reported after it, in order.
#[test]
fn searches_without_a_bound_are_sampled_up_to_what_they_find() {
    const LENGTH: u64 = 37;
    let mut bytes = [1u8; 64];
    bytes[LENGTH as usize] = 0;
    let base = bytes.as_ptr() as u64;
    for period in [100, 10 * (LENGTH + 1)] {
        let run = &sample([period, 100], &[(kernels::length, base, REPETITIONS)])[0];
        assert_eq!(run.totals.loads, (REPETITIONS * (LENGTH + 1) + 1) as i64);
        assert_number(run, Load, REPETITIONS * (LENGTH + 1), period, 2);
        check_elements(run, Load, base..base + LENGTH + 1, 1);
        let in_search = run.of(Load).filter(|found| (base..base + LENGTH + 1).contains(&found.access.addr.0));
        for found in in_search {
            let before = (REPETITIONS - found.registers[6]) * (LENGTH + 1);
            assert_eq!(found.position, before + found.access.addr.0 - base);
        }
    }
}
