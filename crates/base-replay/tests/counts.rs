//! Counts of streams that are short enough to be counted by hand.

use carom_base::ThreadId;
use carom_base_replay::{Counts, ThreadCounts, replay};
use carom_base_stream::text;

/// Thread 0 reads 8 + 2 + 16 bytes in three accesses, and writes 4 + 2 + 16 bytes in three: a read-modify-write is
/// both. One of its instructions is locked. Thread 1 reads a line.
#[test]
fn what_reads_and_writes_is_both() {
    let stream = text::parse(
        "
        0   load   8  @0x1000
        0   store  4  @0x1008
        0   rmw    2  @0x100c
        0   atomic 16 @0x1010
        1.1 load   64 @0x2000
        0   end
    ",
    );
    let mut counts = Counts::default();
    replay(&stream.expect("a stream"), &mut counts);
    let first = ThreadCounts { loads: 3, stores: 3, atomics: 1, load_bytes: 26, store_bytes: 22 };
    let second = ThreadCounts { loads: 1, load_bytes: 64, ..ThreadCounts::default() };
    assert_eq!(counts.threads().collect::<Vec<_>>(), [(ThreadId(0), first), (ThreadId(1), second)]);
    assert_eq!(counts.of(ThreadId(2)), ThreadCounts::default());
}
