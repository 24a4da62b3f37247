//! Every access is handed over, once and in order.
#![allow(clippy::unwrap_used)] // What a test cannot have fails it.

#[path = "sampling/kernels.rs"]
#[allow(dead_code)]
mod kernels;
#[path = "sampling/lanes.rs"]
#[allow(dead_code)]
mod lanes;
#[path = "streaming/recorder.rs"]
mod recorder;
mod support;
#[path = "sampling/zoo.rs"]
#[allow(dead_code)]
mod zoo;

use std::{
    arch::naked_asm,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use carom_base::{Access, AccessKind};
use carom_collect_translate::{Mode, flush_streams, set_mode};

use self::{
    kernels::ELEMENTS,
    recorder::{Run, so_far, stream_as},
    zoo::{KNOWN, NODES, Place, RETURN},
};
use crate::support::{Function, unsignalled};

/// Names belong to one thread at a time: tests take turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn stream(function: Function, a: u64, b: u64) -> Run {
    stream_as(1, function, a, b)
}

/// Address, bytes and kind.
type What = (u64, u32, AccessKind);

fn what(accesses: &[Access]) -> Vec<What> {
    accesses.iter().map(|access| (access.addr.0, access.width, access.kind)).collect()
}

/// All loads and stores that were counted.
fn assert_counted(run: &Run) {
    let totals = run.totals.unwrap();
    let loads = run.accesses.iter().filter(|access| access.kind.reads()).count() as i64;
    let stores = run.accesses.iter().filter(|access| access.kind.writes()).count() as i64;
    assert_eq!((loads, stores), (totals.loads, totals.stores));
    let bytes = |wanted: fn(AccessKind) -> bool| -> i64 {
        let of_kind = run.accesses.iter().filter(|access| wanted(access.kind));
        of_kind.map(|access| i64::from(access.width)).sum()
    };
    assert_eq!(bytes(AccessKind::reads), totals.loaded_bytes);
    assert_eq!(bytes(AccessKind::writes), totals.stored_bytes);
}

/// The accesses of [`zoo::walk`] in `visits`, with the stack pointer `stack` in front of its last return.
fn walked(nodes: &[zoo::Node; NODES], visits: u64, stack: u64) -> Vec<(u64, What)> {
    let places = zoo::instructions();
    let mut expected = Vec::new();
    let mut node = 0;
    for _ in 0..visits {
        let base = std::ptr::from_ref(&nodes[node]) as u64;
        // The call's return is its last access but one.
        let (last, before) = KNOWN.split_last().unwrap();
        for &(instruction, place, width, kind) in before.iter().chain([&RETURN, last]) {
            let addr = match place {
                Place::Node(offset) => base + offset,
                // All pushes are to the one word below, and are popped from there.
                Place::Stack(_) => stack - 8,
            };
            expected.push((places[instruction], (addr, width, kind)));
        }
        node = (node + 5) % NODES;
    }
    expected
}

fn assert_walked(run: &Run, nodes: &[zoo::Node; NODES], visits: u64) {
    let (last, before) = run.accesses.split_last().unwrap();
    let found: Vec<_> = before.iter().map(|access| (access.ip.0, what(&[*access])[0])).collect();
    let expected = walked(nodes, visits, last.addr.0);
    let different = found.iter().zip(&expected).position(|(found, expected)| found != expected);
    assert_eq!(different.map(|at| (at, found[at], expected[at])), None);
    assert_eq!(found.len(), expected.len());
    assert_counted(run);
}

/// Bytes and words, vectors, stack and memory, atomics, bit strings: 25 accesses per visit fill the buffer over and
/// over.
#[test]
fn every_form_of_access_is_handed_over_in_order() {
    let _turn = turn();
    let nodes = zoo::ring();
    for visits in [1, 50_000] {
        let run = stream(zoo::walk, nodes.as_ptr() as u64, visits);
        assert_walked(&run, &nodes, visits);
    }
}

/// Between two times there are at most 64 accesses; the first time precedes all accesses, and times never decrease.
#[test]
fn times_lie_densely_among_accesses() {
    let _turn = turn();
    let nodes = zoo::ring();
    let run = stream(zoo::walk, nodes.as_ptr() as u64, 50_000);
    assert_eq!(run.stamps[0].0, 0);
    let end = (run.accesses.len(), u64::MAX);
    let mut before = run.stamps[0];
    for &stamp in run.stamps.iter().chain([&end]) {
        assert!(stamp.0 - before.0 <= 64 && stamp.1 >= before.1, "{before:?} {stamp:?}");
        before = stamp;
    }
    let mut numbers: Vec<u32> = (0..5000u32).map(|n| n.wrapping_mul(2_654_435_761) % 1000).collect();
    let run = stream(support::sort, numbers.as_mut_ptr() as u64, numbers.len() as u64);
    // Loops without locked instructions: seldom more often than needed.
    let words = run.accesses.len() * 2;
    assert!(run.stamps.len() < words / 64 * 2, "{} in {} accesses", run.stamps.len(), run.accesses.len());
}

/// Five accesses a round, of which three are locked, with all arithmetic flags set across one, and a result that depends on
/// RAX, RCX, RDX and them.
#[unsafe(naked)]
unsafe extern "C" fn locked(_: u64, _: u64) -> u64 {
    naked_asm!(
        "mov ecx, 1000",
        "xor eax, eax",
        "2:",
        "mov edx, 3",
        "lock xadd [rdi], rdx",
        "adc rax, rdx",
        "mov [rdi + 8], rax",
        "xchg [rdi + 16], rdx",
        "add rax, rdx",
        "lea r8, [rcx + rcx]",
        "stc",
        "lock inc qword ptr [rdi + 24]",
        "adc rax, 0",
        "add rax, [rdi + 32]",
        "dec ecx",
        "jnz 2b",
        "ret",
    )
}

/// A time follows each locked instruction, and registers and flags are the program's.
#[test]
fn times_follow_locked_instructions() {
    use AccessKind::{Load, ReadModifyWrite, Store};
    let _turn = turn();
    let mut words = [0u64; 5];
    words[4] = 5;
    let mut natively = words;
    // SAFETY: it works on five words.
    let expected = unsafe { locked(natively.as_mut_ptr() as u64, 0) };
    let base = words.as_mut_ptr() as u64;
    let run = stream(locked, base, 0);
    assert_eq!((run.result, words), (expected, natively));
    let once = [
        (base, 8, ReadModifyWrite),
        (base + 8, 8, Store),
        (base + 16, 8, ReadModifyWrite),
        (base + 24, 8, ReadModifyWrite),
        (base + 32, 8, Load),
    ];
    let (_, before) = run.accesses.split_last().unwrap();
    assert_eq!(what(before), once.repeat(1000));
    for round in 0..1000 {
        for behind in [1, 3, 4].map(|nth| 5 * round + nth) {
            assert!(run.stamps.iter().any(|stamp| stamp.0 == behind), "none behind access {behind}");
        }
    }
    assert!(run.stamps.is_sorted_by_key(|stamp| stamp.1));
}

/// The iterations of repeated instructions, forwards, backwards and up to a difference.
#[test]
fn iterations_are_accesses() {
    use AccessKind::{Load, Store};
    let _turn = turn();
    let mut buffer = [7u64; 2 * ELEMENTS];
    let base = buffer.as_mut_ptr() as u64;
    let middle = base + 8 * ELEMENTS as u64;
    let elements = || (0..ELEMENTS as u64).map(|element| 8 * element);

    let run = stream(kernels::copy_backwards, base, 3);
    let once: Vec<What> =
        elements().rev().flat_map(|at| [(base + at, 8, Load), (middle + at, 8, Store)]).collect();
    let (_, before) = run.accesses.split_last().unwrap();
    assert_eq!(what(before), once.repeat(3));
    assert_counted(&run);

    let run = stream(kernels::fill, base, 2);
    let once: Vec<What> = elements().map(|at| (base + at, 8, Store)).collect();
    let (_, before) = run.accesses.split_last().unwrap();
    assert_eq!(what(before), once.repeat(2));
    assert_counted(&run);

    // The tenth half word differs from that behind the last one.
    buffer.fill(0);
    buffer[4] = 1 << 32;
    std::hint::black_box(&mut buffer);
    let run = stream(kernels::compare, base, 2);
    let half = base + 4 * ELEMENTS as u64;
    let once: Vec<What> = (0..10).flat_map(|n| [(base + 4 * n, 4, Load), (half + 4 * n, 4, Load)]).collect();
    let (_, before) = run.accesses.split_last().unwrap();
    assert_eq!(what(before), once.repeat(2));
    assert_counted(&run);
}

/// Active lanes, the lowest first.
#[test]
fn lanes_are_accesses() {
    let _turn = turn();
    let has_masks = is_x86_feature_detected!("avx512vl") && is_x86_feature_detected!("avx512bw");
    let loops = [
        (
            is_x86_feature_detected!("avx2"),
            lanes::signs as Function,
            lanes::of_signs(),
            lanes::SIGNS_PREPARES,
        ),
        (has_masks, lanes::opmasks, lanes::of_opmasks(), lanes::OPMASKS_PREPARES),
    ];
    for (possible, function, round, prepares) in loops {
        if !possible {
            eprintln!("skipped: processor: no AVX2 or no AVX-512");
            continue;
        }
        let vectors = lanes::Vectors::new();
        let base = std::ptr::from_ref(&*vectors) as u64;
        let places = lanes::instructions(function);
        let run = stream(function, base, 2);
        let in_round = &run.accesses[prepares as usize..][..2 * round.len()];
        let found: Vec<_> = in_round.iter().map(|access| (access.ip.0, what(&[*access])[0])).collect();
        let once = round.iter().map(|&(number, at, width, kind)| (places[number], (base + at, width, kind)));
        assert_eq!(found, once.collect::<Vec<_>>().repeat(2));
        assert_counted(&run);
    }
}

/// Library functions: as many accesses as are counted.
#[test]
fn library_code_is_handed_over() {
    let _turn = turn();
    let mut numbers: Vec<u32> = (0..5000u32).map(|n| n.wrapping_mul(2_654_435_761) % 1000).collect();
    assert_counted(&stream(support::sort, numbers.as_mut_ptr() as u64, numbers.len() as u64));
    assert!(numbers.is_sorted());
    let mut text = [0u8; 64];
    assert_counted(&stream(support::format, text.as_mut_ptr() as u64, 42));
}

/// Eight threads at once, while another one makes them hand over their buffers: nothing is missing or reported twice.
#[test]
fn threads_have_streams_of_their_own() {
    const VISITS: u64 = 20_000;
    let _turn = turn();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (1..=8)
            .map(|name| {
                scope.spawn(move || {
                    let nodes = zoo::ring();
                    let run = stream_as(name, zoo::walk, nodes.as_ptr() as u64, VISITS);
                    assert_walked(&run, &nodes, VISITS);
                })
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Relaxed) {
                unsignalled(flush_streams);
            }
        });
        let results: Vec<_> = threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        done.store(true, Relaxed);
        assert!(results.iter().all(Result::is_ok));
    });
}

/// The mode changes while a thread runs: the reported accesses are right, and the counts are complete.
#[test]
fn streams_begin_and_end_with_the_mode() {
    const VISITS: u64 = 400_000;
    const WATCH: Mode = Mode::Watch { loads: 1000, stores: 1000 };
    let _turn = turn();
    let nodes = zoo::ring();
    let base = nodes.as_ptr() as u64;
    let over = AtomicBool::new(false);
    let run = std::thread::scope(|scope| {
        scope.spawn(|| {
            for mode in [Mode::Count, Mode::Stream, WATCH, Mode::Stream].into_iter().cycle() {
                unsignalled(|| set_mode(mode));
                std::thread::sleep(Duration::from_millis(1));
                if over.load(Relaxed) && mode == Mode::Stream {
                    return;
                }
            }
        });
        let run = stream(zoo::walk, base, VISITS);
        over.store(true, Relaxed);
        run
    });
    let once = KNOWN.len() as i64 + 1;
    let totals = run.totals.unwrap();
    // Of the 25 accesses five are read-modify-writes.
    let updates = KNOWN.iter().filter(|known| known.3 == AccessKind::ReadModifyWrite).count() as i64;
    assert_eq!(totals.loads + totals.stores, VISITS as i64 * (once + updates) + 1);
    let streamed = run.accesses.len() as i64;
    assert!(streamed > 1000 && streamed < VISITS as i64 * once, "{streamed} accesses");
    let places = zoo::instructions();
    let known = |access: &Access| {
        KNOWN.iter().chain([&RETURN]).any(|known| {
            let in_node = access.addr.0.wrapping_sub(base) % size_of::<zoo::Node>() as u64;
            let there = !matches!(known.1, Place::Node(offset) if offset != in_node);
            (places[known.0], known.2, known.3) == (access.ip.0, access.width, access.kind) && there
        })
    };
    let last = run.accesses.last().unwrap();
    let strange = run.accesses.iter().find(|access| !known(access) && access.ip != last.ip);
    assert_eq!(strange, None);
}

/// Ten loads, fork(2), ten more, and a return, or in the child exit(2) with a status.
#[unsafe(naked)]
unsafe extern "C" fn load_fork_load(_: u64, _: u64) -> u64 {
    naked_asm!(
        "mov ecx, 10",
        "2:",
        "mov rax, [rdi]",
        "dec ecx",
        "jnz 2b",
        "mov eax, 57",
        "syscall",
        "mov r8, rax",
        "mov ecx, 10",
        "2:",
        "mov rax, [rdi + 8]",
        "dec ecx",
        "jnz 2b",
        "test r8, r8",
        "jz 3f",
        "mov rax, r8",
        "ret",
        "3:",
        "mov edi, 42",
        "mov eax, 231",
        "syscall",
        "ud2",
    )
}

/// The child's stream begins after the fork, and the parent's continues.
#[test]
fn a_forked_child_hands_over_its_own() {
    use AccessKind::Load;
    let _turn = turn();
    let words = [0u64; 2];
    let base = words.as_ptr() as u64;
    let run = stream(load_fork_load, base, 0);
    let mut status = 0;
    // SAFETY: a valid place.
    assert_eq!(unsafe { libc::waitpid(run.result as i32, &raw mut status, 0) }, run.result as i32);
    assert_eq!(libc::WEXITSTATUS(status), 42);
    let (before, behind) = ([(base, 8, Load)].repeat(10), [(base + 8, 8, Load)].repeat(10));
    assert_eq!(what(&run.accesses)[..20], [before, behind.clone()].concat());
    assert_counted(&run);
    // It had not ended when its parent's run had.
    assert!(run.of_child.is_empty() || what(&run.of_child) == behind);
}

/// Ten loads, then read(2) from `b`, which waits; then a return.
#[unsafe(naked)]
unsafe extern "C" fn load_and_read(_: u64, _: u64) -> u64 {
    naked_asm!(
        "mov ecx, 10",
        "2:",
        "mov rax, [rdi]",
        "dec ecx",
        "jnz 2b",
        "mov rax, rsi",
        "mov rsi, rdi",
        "mov rdi, rax",
        "mov edx, 1",
        "xor eax, eax",
        "syscall",
        "ret",
    )
}

/// Ten loads, then a futex that waits while the word at `b` is 0; then a return.
#[unsafe(naked)]
unsafe extern "C" fn load_and_wait(_: u64, _: u64) -> u64 {
    naked_asm!(
        "mov ecx, 10",
        "2:",
        "mov rax, [rdi]",
        "dec ecx",
        "jnz 2b",
        "mov rdi, rsi",
        "mov esi, 128",
        "xor edx, edx",
        "xor r10d, r10d",
        "mov eax, 202",
        "syscall",
        "ret",
    )
}

/// The accesses of a thread are known while it waits: at once if it waits for a futex, when flushed if it reads.
#[test]
fn waiting_threads_do_not_keep_their_accesses() {
    let _turn = turn();
    let word = 0u64;
    let base = &raw const word as u64;
    let wait_for = |accesses| {
        while so_far(1) != accesses {
            std::thread::yield_now();
        }
    };
    std::thread::scope(|scope| {
        let futex = std::sync::atomic::AtomicU32::new(0);
        let place = futex.as_ptr() as u64;
        let thread = scope.spawn(move || assert_counted(&stream(load_and_wait, base, place)));
        wait_for(10);
        futex.store(1, Relaxed);
        // It may still be on its way to wait.
        while !thread.is_finished() {
            // SAFETY: a word that lives on.
            unsafe { libc::syscall(libc::SYS_futex, place, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1) };
        }
        thread.join().unwrap();
    });
    let mut ends = [0i32; 2];
    // SAFETY: room for two.
    unsafe { libc::pipe(ends.as_mut_ptr()) };
    std::thread::scope(|scope| {
        let thread = scope.spawn(move || assert_counted(&stream(load_and_read, base, ends[0] as u64)));
        while so_far(1) < 10 {
            unsignalled(flush_streams);
        }
        // SAFETY: an open pipe.
        unsafe { libc::write(ends[1], c"x".as_ptr().cast(), 1) };
        thread.join().unwrap();
    });
}
