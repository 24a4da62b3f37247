//! Many threads on few slots: every entry that a reader gets was written by one writer at one time.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use carom_base::{Access, AccessKind, Addr, Cpu, EarlierWrite, Ip, Nanos, StackId, ThreadId};
use carom_base_detect::{Board, Entry, Publisher, Slot};

/// An entry all of whose fields are different functions of one number.
fn entry(n: u64) -> Entry {
    let mixed = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    Entry {
        write: EarlierWrite {
            thread: ThreadId(n as u32),
            time: Nanos(n),
            cpu: Cpu(mixed as u32),
            access: Access {
                ip: Ip(!mixed),
                addr: Addr(mixed),
                width: (mixed >> 40) as u32,
                kind: AccessKind::from_u8((n % 3) as u8).expect("a kind"),
            },
            stack: StackId(mixed.rotate_left(17)),
        },
        epoch: (mixed >> 32) as u32,
        weight: 1.0,
    }
}

#[test]
fn no_reader_sees_a_torn_entry() {
    const WRITERS: u64 = 3;
    const WRITES: u64 = if cfg!(miri) { 100 } else { 100_000 };
    let slots: Vec<Slot> = (0..3).map(|_| Slot::default()).collect();
    let threads = AtomicU32::new(0);
    let board = Board::new(&slots, &[], &threads);
    let done = AtomicBool::new(false);
    let (written, read) = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|w| {
                scope.spawn(move || (0..WRITES).filter(|i| board.try_put(&entry(w * WRITES + i))).count())
            })
            .collect();
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut read = 0;
                    while !done.load(Ordering::Relaxed) {
                        for seen in board.entries() {
                            assert_eq!(seen, entry(seen.write.time.0));
                            read += 1;
                        }
                    }
                    read
                })
            })
            .collect();
        let written: usize = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
        done.store(true, Ordering::Relaxed);
        (written, readers.into_iter().map(|reader| reader.join().unwrap()).sum::<usize>())
    });
    assert!(written > 0 && read > 0, "{written} written, {read} read");
    // No thread is writing any more, so every slot that was ever written can be read and written again.
    assert!(board.entries().count() >= 1);
    assert!(board.entries().all(|last| board.try_put(&last)));
}

#[test]
fn store_samples_of_all_threads_are_counted() {
    let (slots, publishers, threads): ([Slot; 1], [Publisher; 2], _) = Default::default();
    let board = Board::new(&slots, &publishers, &threads);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..1000).for_each(|_| _ = board.note_store(ThreadId(1))));
        }
    });
    let mut published = entry(1);
    published.epoch = 1;
    assert_eq!(board.store_samples_since(&published), 3999);
    published.epoch = u32::MAX - 1;
    assert_eq!(board.store_samples_since(&published), 4002, "also across the end of the counter");
}

/// Threads 3 and 7 publish twice each, and the second time 7 takes 3's slot: 3's first entry is in no slot that a
/// thread wrote last.
#[test]
fn the_latest_entries_are_those_in_the_slots_that_threads_wrote_last() {
    let slots: Vec<Slot> = (0..16).map(|_| Slot::default()).collect();
    let (publishers, threads): ([Publisher; 8], _) = Default::default();
    let board = Board::new(&slots, &publishers, &threads);
    let write = |thread, time, line: u64| {
        let mut write = entry(time).write;
        (write.thread, write.access.addr) = (ThreadId(thread), Addr(64 * line));
        assert!(board.try_put(&Entry { write, ..entry(time) }));
    };
    write(3, 1, 1);
    write(7, 2, 2);
    write(3, 3, 3);
    write(7, 4, 3);
    assert_eq!(board.entries().count(), 3);
    let latest: Vec<_> = board.latest().map(|entry| (entry.write.thread.0, entry.write.time.0)).collect();
    // Both wrote slot 3 last.
    assert_eq!(latest, [(7, 4), (7, 4)]);
}

#[test]
fn a_cleared_board_is_empty() {
    let (slots, threads) = ([Slot::default()], AtomicU32::new(0));
    let board = Board::new(&slots, &[], &threads);
    assert!(board.try_put(&entry(5)));
    assert_eq!(board.entries().count(), 1);
    board.clear();
    assert_eq!(board.entries().count(), 0);
}
