use crate::{
    model::{ObjectKind, Real, ReuseLoop, ReusePair, ReuseQuantiles},
    reuse, sample,
};

const MIB: f64 = 1_048_576.0;

/// The remedy of a pair whose reuses miss at 3.1 MiB, in a cache of 1 MiB, after it was changed.
fn told(change: impl Fn(&mut ReusePair)) -> Option<String> {
    let (run, findings) = sample::relaxed();
    let report = reuse::report(&run, &findings);
    let reuse = report.reuse.unwrap();
    let mut pair = reuse.pairs[0].clone();
    change(&mut pair);
    super::remedy(&reuse, &pair)
}

#[track_caller]
fn check(change: impl Fn(&mut ReusePair), expect: &str) {
    assert_eq!(told(change).as_deref(), Some(expect));
}

fn between(pair: &mut ReusePair, low: f64, median: f64, high: f64) {
    let [p10, median, p90] = [low, median, high].map(Real);
    pair.stack_bytes = Some(ReuseQuantiles { p10, median, p90 });
}

#[test]
fn two_places_are_brought_together() {
    check(
        |_| {},
        "Between the two lies 3.1 times what 1 MiB of private L2 holds. Do both to a block of at most 1/4 of that before the \
         next block, or in one loop.",
    );
}

/// The loops of a library that was built elsewhere are not the reader's; those of the program's own libraries are.
#[test]
fn nobody_can_change_a_library_without_source() {
    let in_library = |pair: &mut ReusePair, has_source: bool| {
        for frame in &mut pair.reuse.call_path {
            frame.module = Some("/usr/lib/libopenblas.so.0".into());
            frame.file = frame.file.take().filter(|_| has_source);
        }
    };
    assert_eq!(told(|pair| in_library(pair, false)), None);
    assert_eq!(told(|pair| in_library(pair, true)), told(|_| {}));
}

/// Of the reuses by one instruction, those of the next bytes come from afar where it walks across the lines, and from near
/// where it walks along them.
#[test]
fn one_instruction_walks_across_the_lines_or_along_them() {
    let same = |pair: &mut ReusePair| pair.reuse = pair.earlier.clone();
    check(
        same,
        "One instruction walks across the lines and comes to the next bytes of a line only after 3.1 times what 1 MiB of \
         private L2 holds. Let the inner loop walk along the lines (swap the loops, or transpose `grid`).",
    );
    let around =
        |step| Some(ReuseLoop { file: Some("/src/relax.c".into()), line: Some(76), step_bytes: Some(step) });
    check(
        |pair| {
            same(pair);
            pair.around = around(-4096);
            // By the code it walks across the lines, wherever most of its reuses are.
            pair.miss_ratio = Real(0.25);
        },
        "The loop at relax.c:76 walks across the lines in steps of 4,096 bytes and comes to the next bytes of a line only \
         after 3.1 times what 1 MiB of private L2 holds. Let the inner loop walk along the lines (swap the loops, or transpose \
         `grid`).",
    );
    let again = "Each pass goes over 3.1 times what 1 MiB of private L2 holds. Cut `grid` into blocks of at most 1/4 of that, \
                 and make all passes over one block before the next.";
    check(
        |pair| {
            same(pair);
            pair.miss_ratio = Real(0.125);
            between(pair, 0.0, 3.1 * MIB, 3.1 * MIB);
        },
        again,
    );
    check(
        |pair| {
            same(pair);
            pair.miss_ratio = Real(0.125);
            pair.around = around(8);
        },
        again,
    );
    // A matrix down its columns: seven in eight come to the next bytes after a column, one in eight after the whole matrix.
    check(
        |pair| {
            same(pair);
            pair.miss_ratio = Real(0.125);
            between(pair, 0.034 * MIB, 0.034 * MIB, 2.0 * MIB);
        },
        again,
    );
    // On the heap, without a name.
    check(
        |pair| {
            same(pair);
            pair.miss_ratio = Real(0.125);
            let object = pair.object.as_mut().unwrap();
            (object.kind, object.declared) = (ObjectKind::Heap, None);
        },
        &again.replace("`grid`", "the data"),
    );
    // An access to each line only.
    check(
        |pair| {
            same(pair);
            pair.temporal = Some(Real(1.0));
        },
        again,
    );
}

/// Of a table of N lines that is accessed at random, a tenth of the reuses come after 0.1 N other lines, and a tenth after
/// more than 0.9 N.
#[test]
fn accesses_in_no_order_are_sorted() {
    check(
        |pair| between(pair, 0.6 * MIB, 3.1 * MIB, 5.4 * MIB),
        "Distances from 614 KiB to 5.4 MiB are those of accesses in no order. Sort or partition them so that accesses to one \
         part of at most 1 MiB follow each other, or make `grid` smaller.",
    );
}

#[test]
fn what_fits_or_explains_little_has_no_remedy() {
    assert_eq!(told(|pair| pair.missing_bytes = None), None);
    assert_eq!(told(|pair| pair.missing_bytes = Some(Real(MIB))), None);
    assert_eq!(told(|pair| pair.share_of_misses = Real(0.04)), None);
    assert_eq!(told(|pair| pair.seen = 4), None);
}
