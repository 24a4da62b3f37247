use crate::{
    reuse, sample,
    text::{Options, render},
};

fn text(sample: (crate::RunInfo, carom_study::reuse::ReuseFindings), options: &Options) -> String {
    render(&reuse::report(&sample.0, &sample.1), options)
}

#[track_caller]
fn check(text: &str, expect: &str) {
    let expect = expect.trim_matches('\n');
    assert!(text.contains(expect), "expected\n{expect}\nin\n{text}");
}

/// 66 columns hold 1 KiB to 96 MiB, 16.6 doublings of 4 columns each: 48 KiB are 5.6 doublings behind the first, 1 MiB
/// ten, 32 MiB fifteen.
#[test]
fn a_curve_with_the_machines_caches() {
    check(
        &text(sample::relaxed(), &Options { width: 73, ..Options::default() }),
        "
Misses by cache size
all threads, each in a cache of its own; fully associative, LRU; exact
 100% ████
      ████
      ████
      ████
  50% ████
      ████
      ████
      ████▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
      1 KiB       8 KiB       64 KiB     512 KiB     4 MiB       32 MiB
                            ↑L1              ↑L2                 ↑L3
",
    );
}

#[test]
fn misses_at_the_machines_caches_and_what_would_do() {
    check(
        &text(sample::sampled_reuse(), &Options::default()),
        "
                              L1 48 KiB     L2 1 MiB    L3 32 MiB  unavoidable  size needed
all threads                    11% (±2)     11% (±2)      1% (±2)           1%        4 MiB
  set-associative (model)                        12%
worker-2                       21% (±2)     21% (±2)      1% (±2)           1%        4 MiB
worker-1                        2% (±2)      2% (±2)      1% (±2)           1%            -
",
    );
}

/// 99 uses of worker 1 say nothing about it; the exact ratios of as few accesses would.
#[test]
fn threads_that_were_hardly_followed_have_no_row() {
    let few = |mut sample: (crate::RunInfo, carom_study::reuse::ReuseFindings)| {
        let thread = sample.1.fits[2].scope;
        for curve in sample.1.curves.iter_mut().filter(|curve| curve.scope == thread) {
            curve.observations = 99;
        }
        text(sample, &Options::default())
    };
    let sampled = few(sample::sampled_reuse());
    check(&sampled, "\n… and 1 more thread with fewer than 100 uses\n");
    assert!(!sampled.contains("worker-1    "), "{sampled}");
    check(&few(sample::relaxed()), "worker-1       ");
}

/// What was seen four times may be chance.
#[test]
fn pairs_that_were_hardly_seen_come_last() {
    let (run, mut findings) = sample::relaxed();
    findings.pairs[0].seen = 4;
    let text = text((run, findings), &Options::default());
    check(&text, " 1.  0% of the misses  70% of the accesses\n");
    check(&text, " 2.  80% of the misses");
}

/// Of 99 reuses 22.25 are at 2 lines, 66.75 at 14 and 15, 10 at 49,152 and more: 22%, 67%, 10%.
#[test]
fn a_histogram_leaves_out_empty_doublings() {
    check(
        &text(sample::relaxed(), &Options { verbose: true, ..Options::default() }),
        "
Stack distances
all threads, 64-byte lines, exact; 99% reused, 0% invalidated, 1% never reused
        128 B to 256 B    22% ████████████████▋
                     ⋮
        512 B to 1 KiB    67% ██████████████████████████████████████████████████
                     ⋮     ←L1, L2
        2 MiB to 4 MiB    10% ███████▌
",
    );
}

#[test]
fn pairs_with_their_places_and_distances() {
    check(
        &text(sample::relaxed(), &Options { width: 120, ..Options::default() }),
        "
 1.  80% of the misses  17% of the accesses  global grid  relax.c:12
     use       relax relax.c:40 ← main relax.c:99
     reuse     relax relax.c:77 ← main relax.c:99
     distance  3.1 MiB (3 MiB to 3.4 MiB); 412 k accesses; 100% miss
               worker-2; read after read 80%, read after write 20%; 25% of the same bytes; followed 67,200,000 times
     remedy    Between the two lies 3.1 times what 1 MiB of private L2 holds. Do both to a block of at most 1/4 of that
               before the next block, or in one loop.
",
    );
}

#[test]
fn modelled_numbers_say_so_and_losses_are_shown() {
    let text = text(sample::sampled_reuse(), &Options { width: 200, verbose: true, ..Options::default() });
    check(&text, "fully associative, LRU; modelled by StatStack");
    check(&text, "3.1 MiB (3 MiB to 3.4 MiB, model)");
    check(
        &text,
        "
uses      4,000 sampled, 3,900 followed: 92% reused, 2.6% invalidated, 1% never reused, 4.1% dropped for newer samples; \
         1,000 samples left out to keep to the budget; accesses looked up at first, later
          in a tenth of the run
lost      3 records dropped; 2.4 us from sample to watch on average; 10 of 7,800 watches in other threads not set; \
         7 uses touched by others only while their thread was held; 1 thread not observed
",
    );
    check(
        &text,
        "\nwarning   Invalidations of lines that threads write often may be several times too many or too few",
    );
    check(&text, " 1.  62% of the moves  3% of the accesses  stats\n");
    check(
        &text,
        "     bytes     0-7 stats.hits against 8-15 stats.misses\n     use       count relax.c:31\n",
    );
    check(&text, "is predicted to cost more than it brings: G = -0.35 s of latencies; 1.0M spatial reuses");
}

#[test]
fn too_little_is_no_chart() {
    let text = text(sample::hardly_reused(), &Options::default());
    assert!(!text.contains("Misses by cache size") && !text.contains("Stack distances"), "{text}");
}

#[test]
fn nothing_wider_than_asked() {
    for (width, verbose) in [(80, false), (100, true), (140, true)] {
        let text = text(sample::sampled_reuse(), &Options { width, verbose, ..Options::default() });
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width} columns: {line}");
        }
    }
}

#[test]
fn colours_only_where_asked() {
    let plain = text(sample::relaxed(), &Options::default());
    assert!(!plain.contains('\x1b'));
    let colour = text(sample::relaxed(), &Options { colour: true, ..Options::default() });
    assert!(colour.contains("\x1b[34m") && colour.contains("\x1b[32m"));
}
