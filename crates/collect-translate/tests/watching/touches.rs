//! What is told of accesses to watched lines, and of samples.

use std::{
    arch::naked_asm,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use carom_base::AccessKind;
use carom_collect_translate::{
    Watched, Watches, accesses_at, accesses_of, defer_signal, original_registers, reserve_signals, watches,
    watches_of,
};

use crate::{
    kernels::{self, ELEMENTS},
    lanes,
    recorder::{ARM, Told, run, told_so_far},
    support::{self, unsignalled},
    zoo::{self, KNOWN, NODES, Place, RETURN},
};

fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    reserve_signals(1 << (libc::SIGUSR2 - 1));
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

const LINE: u64 = 64;

/// The accesses of one visit of [`zoo::walk`]: the instruction, its access, and the number of loads and stores before
/// it in the visit.
fn visit() -> Vec<(zoo::Known, u64)> {
    let (last, before) = KNOWN.split_last().unwrap();
    let order = before.iter().chain([&RETURN, last]);
    let number = |kind: AccessKind| u64::from(kind.reads()) + u64::from(kind.writes());
    order
        .scan(0, |done, known| {
            let before = *done;
            *done += number(known.3);
            Some((*known, before))
        })
        .collect()
}

/// Loads and stores of one visit: 24 accesses and a return, four of them read-modify-writes, and a fifth, `bts`.
const OF_A_VISIT: u64 = 25 + 5;

/// The number of loads and stores before an access of the walk in this visit.
fn expected_position(told: &Told, visits: u64) -> Option<u64> {
    let places = zoo::instructions();
    let done = visits - told.r8;
    let same = |known: &zoo::Known| places[known.0] == told.access.ip.0 && known.3 == told.access.kind;
    // `push [m]` and `pop [m]` have a load and a store, `movsq` too; else one access is all.
    let (_, before) = visit().into_iter().find(|(known, _)| same(known))?;
    Some(done * OF_A_VISIT + before)
}

/// Samples of all forms of accesses come with the exact number of accesses before them.
#[test]
fn samples_know_their_position() {
    const VISITS: u64 = 20_000;
    let _turn = turn();
    let nodes = zoo::ring();
    let (told, totals) = run(|| {}, zoo::walk, nodes.as_ptr() as u64, VISITS);
    assert_eq!(totals.loads + totals.stores, (VISITS * OF_A_VISIT + 1) as i64);
    // One in a hundred of 600,000.
    assert!(told.len() > 5000, "{}", told.len());
    let last = zoo::instructions()[RETURN.0 - 1];
    for found in told.iter().filter(|found| found.access.ip.0 != last) {
        assert_eq!(Some(found.position), expected_position(found, VISITS), "{found:x?}");
    }
}

/// A handler of the embedder gets the number of accesses of the program up to the interrupted instruction.
#[test]
fn handlers_know_the_position() {
    const VISITS: u64 = 100_000;
    let _turn = turn();
    let nodes = zoo::ring();
    let handler = asks as extern "C" fn(_, _, _);
    // SAFETY: plain data.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    // SAFETY: a handler of this type, natively installed.
    assert_eq!(unsafe { libc::sigaction(libc::SIGUSR2, &raw const action, std::ptr::null_mut()) }, 0);
    let process = std::process::id();
    // SAFETY: no arguments.
    let walker = unsafe { libc::gettid() };
    let over = AtomicU32::new(0);
    let (first, mut found) = (nodes.as_ptr() as u64, Vec::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while over.load(Relaxed) == 0 {
                // SAFETY: to a thread that waits for this one.
                unsafe { libc::syscall(libc::SYS_tgkill, process, walker, libc::SIGUSR2) };
                std::thread::sleep(Duration::from_micros(300));
            }
        });
        let _ = run(|| {}, zoo::walk, first, VISITS);
        over.store(1, Relaxed);
    });
    let length = ASKED.swap(0, Relaxed).min(ANSWERS.len() as u64) as usize;
    found.extend(ANSWERS.iter().take(length).map(|answer| answer.each_ref().map(|word| word.load(Relaxed))));
    let places = zoo::instructions();
    let index = |ip| places.iter().position(|place| *place == ip);
    // Behind the loop's first instruction R8 holds the visits left; it is counted down in the third from the end.
    let (decremented, call) = (places.len() - 3, 25);
    let mut checked = 0;
    for [rip, r8, position] in found {
        let Some(at) = index(rip).filter(|&at| at > 0) else { continue };
        let is_before = |known: usize| match (known, at) {
            // The return of the call runs between it and what follows.
            (30, at) => (call + 1..30).contains(&at),
            (known, 30) => known <= call,
            (known, at) => known < at,
        };
        let number = |kind: AccessKind| u64::from(kind.reads()) + u64::from(kind.writes());
        let before: u64 =
            visit().iter().filter(|(known, _)| is_before(known.0)).map(|(known, _)| number(known.3)).sum();
        let counted_down = at != 30 && at >= decremented;
        let before = if counted_down { 0 } else { before };
        assert_eq!(position, (VISITS - r8) * OF_A_VISIT + before, "instruction {at}");
        checked += 1;
    }
    assert!(checked > 100, "{checked}");
}

/// Instruction, R8, and accesses up to there, of each signal.
static ANSWERS: [[AtomicU64; 3]; 4096] = [const { [const { AtomicU64::new(0) }; 3] }; 4096];
static ASKED: AtomicU64 = AtomicU64::new(0);

extern "C" fn asks(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::ucontext_t) {
    if defer_signal(libc::SIGUSR2, context, asks as *const () as u64) {
        return;
    }
    // SAFETY: the kernel's argument.
    let context = unsafe { &*context };
    let answer = unsignalled(|| original_registers(context).zip(accesses_at(context)));
    if let Some((original, position)) = answer {
        let index = ASKED.fetch_add(1, Relaxed) as usize;
        if let Some(answer) = ANSWERS.get(index) {
            answer[0].store(original.rip, Relaxed);
            answer[1].store(original.gpr[8], Relaxed);
            answer[2].store(position, Relaxed);
        }
    }
}

/// The line of one node's first 64 bytes is watched, for loads, for stores, or for both.
#[test]
fn touches_are_those_of_the_line() {
    const VISITS: u64 = 160;
    let _turn = turn();
    let nodes = zoo::ring();
    let node = std::ptr::from_ref(&nodes[3]) as u64;
    for (loads, stores) in [(true, false), (false, true), (true, true)] {
        let watch = || {
            let watches = watches().unwrap();
            assert_eq!(watches_of(1), Some(watches));
            assert!(watches.watch(node, loads, stores));
        };
        let (told, _) = run(watch, zoo::walk, nodes.as_ptr() as u64, VISITS);
        let touched: Vec<_> = told
            .into_iter()
            .filter(|told| told.drawn_as.is_none() && (node..node + LINE).contains(&told.access.addr.0))
            .collect();
        let wanted = |kind: AccessKind| loads && kind.reads() || stores && kind.writes();
        let in_line: Vec<_> = KNOWN
            .iter()
            .filter(|known| matches!(known.1, Place::Node(offset) if offset < LINE) && wanted(known.3))
            .collect();
        // Every node is visited once in 16 visits.
        assert_eq!(touched.len() as u64, in_line.len() as u64 * VISITS / NODES as u64);
        for (number, found) in touched.iter().enumerate() {
            let (_, place, width, kind) = *in_line[number % in_line.len()];
            let Place::Node(offset) = place else { unreachable!("of a node") };
            assert_eq!(
                (found.access.addr.0, found.access.width, found.access.kind),
                (node + offset, width, kind)
            );
            assert_eq!(Some(found.position), expected_position(found, VISITS), "{found:x?}");
        }
    }
}

/// A watch that a sample sets does not catch that sample, but later accesses.
#[test]
fn a_sample_does_not_touch_its_own_watch() {
    const VISITS: u64 = 400;
    let _turn = turn();
    let nodes = zoo::ring();
    ARM.store(true, Relaxed);
    let (told, _) = run(|| {}, zoo::walk, nodes.as_ptr() as u64, VISITS);
    let sample = told.iter().find(|told| told.drawn_as.is_some()).unwrap();
    let line = |told: &Told| told.access.addr.0 / LINE;
    let touches: Vec<_> =
        told.iter().filter(|told| told.drawn_as.is_none() && line(told) == line(sample)).collect();
    assert!(touches.len() > 10);
    assert!(touches.iter().all(|touch| touch.position > sample.position), "{sample:x?} {:x?}", touches[0]);
}

/// Repeated instructions report the first access to each watched line.
#[test]
fn repeated_instructions_are_looked_up() {
    #[repr(align(64))]
    struct Lines([u64; 2 * ELEMENTS]);
    let _turn = turn();
    let buffer = Lines([0; 2 * ELEMENTS]);
    let base = buffer.0.as_ptr() as u64;
    let middle = base + 8 * ELEMENTS as u64;
    let touched = |watched: u64, function| {
        let watch = || assert!(watches().unwrap().watch(watched, true, true));
        let (told, _) = run(watch, function, base, 2);
        let in_line = |told: &&Told| told.drawn_as.is_none() && told.access.addr.0 / LINE == watched / LINE;
        // Accesses after a sample in its line are reported, too, whether it is watched or not.
        let samples: Vec<_> = told.iter().filter(|told| told.drawn_as.is_some()).collect();
        let follows = |told: &Told| {
            let is_near = |sample: &&&Told| (1..=2).contains(&told.position.wrapping_sub(sample.position));
            samples.iter().any(|sample| is_near(&sample) && sample.access.addr.0 / LINE == watched / LINE)
        };
        let touched = told.iter().filter(in_line).filter(|told| !follows(told));
        touched.map(|told| (told.access.addr.0, told.position)).collect::<Vec<_>>()
    };
    let each = ELEMENTS as u64;
    // Upwards: 16 elements before the third line, and all of them before the second time.
    assert_eq!(
        touched(base + 2 * LINE, kernels::fill as support::Function),
        [(base + 2 * LINE, 16), (base + 2 * LINE, each + 16)]
    );
    // Downwards: the copy begins with its last line, and its store comes behind its load.
    let last = middle + 8 * each - 8;
    assert_eq!(touched(last, kernels::copy_backwards), [(last, 1), (last, 2 * each + 1)]);
    // From the next to the last line on: 8 elements, of two accesses each, before.
    assert_eq!(
        touched(middle - LINE - 8, kernels::copy_backwards),
        [(middle - LINE - 8, 16), (middle - LINE - 8, 2 * each + 16)]
    );
    // All are equal, so the comparison goes on to its end; its second operand is the second load.
    assert_eq!(
        touched(base + 4 * each, kernels::compare),
        [(base + 4 * each, 1), (base + 4 * each, 2 * each + 1)]
    );
}

/// Each active lane is looked up separately: those of a gather and two masked moves lie in the first line, two of
/// them in the same words.
#[test]
fn lanes_are_looked_up() {
    const ROUNDS: u64 = 3;
    let _turn = turn();
    if !is_x86_feature_detected!("avx2") {
        return eprintln!("skipped: processor: no AVX2");
    }
    let vectors = lanes::Vectors::new();
    let base = std::ptr::from_ref(&*vectors) as u64;
    let places = lanes::instructions(lanes::signs);
    let round = lanes::of_signs();
    for kind in [AccessKind::Load, AccessKind::Store] {
        let watch = || {
            let place = Watched::Line(base);
            assert!(watches().unwrap().set(place, kind == AccessKind::Load, kind == AccessKind::Store));
        };
        let (told, _) = run(watch, lanes::signs, base, ROUNDS);
        let in_line =
            |told: &&Told| told.drawn_as.is_none() && (base..base + LINE).contains(&told.access.addr.0);
        let found: Vec<_> = told.iter().filter(in_line).map(|told| (told.access, told.position)).collect();
        let found: Vec<_> = found
            .iter()
            .map(|(access, position)| (access.ip.0, access.addr.0, access.kind, *position))
            .collect();
        let expected = (0..ROUNDS).flat_map(|number| {
            let in_front = lanes::SIGNS_PREPARES + number * round.len() as u64;
            let lanes = (in_front..).zip(&round).filter(|(_, lane)| lane.1 < LINE && lane.3 == kind);
            lanes.map(|(position, lane)| (places[lane.0], base + lane.1, kind, position)).collect::<Vec<_>>()
        });
        assert_eq!(found, expected.collect::<Vec<_>>());
    }
}

/// One thread sets another's watch while that one runs, and removes it again.
#[test]
fn others_set_watches() {
    const LONG: u64 = 1 << 40;
    let _turn = turn();
    let mut nodes = zoo::ring();
    let node = std::ptr::from_ref(&nodes[3]) as u64;
    let first = nodes.as_mut_ptr() as u64;
    let handle = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let walker = scope.spawn(|| {
            let tell = || handle.store(u64::from(watches().unwrap().index()) + 1, Relaxed);
            let (told, _) = run(tell, count_until, first, node);
            told.iter().filter(|told| told.drawn_as.is_none()).count()
        });
        while handle.load(Relaxed) == 0 {
            std::thread::yield_now();
        }
        let other = Watches::from_index(handle.load(Relaxed) as u16 - 1).unwrap();
        let samples_only = told_so_far();
        assert!(other.watch(node, true, false));
        while told_so_far() < samples_only + 100 {
            std::thread::yield_now();
        }
        other.unwatch(node, true, false);
        // It may be about to report one more.
        std::thread::sleep(Duration::from_millis(1));
        let end = Instant::now() + Duration::from_millis(20);
        while Instant::now() < end {
            std::thread::yield_now();
        }
        // SAFETY: the word that the walker looks at.
        unsafe { AtomicU64::from_ptr(first as *mut u64) }.store(LONG, Relaxed);
        let touches = walker.join().unwrap();
        assert!(touches > 0);
    });
}

/// Loads from `b` until the word at `a` is not 0.
#[unsafe(naked)]
unsafe extern "C" fn count_until(_: u64, _: u64) -> u64 {
    naked_asm!("2:", "mov rax, [rsi]", "cmp qword ptr [rdi], 0", "je 2b", "ret")
}

/// This many may watch loads of the same line, and as many its stores; each is removed separately.
#[test]
fn watches_are_counted() {
    const MOST: usize = 255;
    let _turn = turn();
    let word = 0u64;
    let address = &raw const word as u64;
    let check = || {
        let watches = watches().unwrap();
        assert!((0..MOST).all(|_| watches.watch(address, true, false)));
        assert!(!watches.watch(address, true, false) && !watches.watch(address, true, true));
        assert!(watches.watch(address, false, true));
        (0..MOST).for_each(|_| watches.unwatch(address, true, false));
        // Loads are no longer watched, which changes nothing.
        watches.unwatch(address, true, false);
        assert!((0..MOST - 1).all(|_| watches.watch(address, false, true)));
        assert!(!watches.watch(address, false, true));
    };
    let _ = run(check, support::kernels::sum, address, 0);
    assert_eq!(Watches::from_index(u16::MAX), None);
}

/// Six loads of one line by two registers, in one block, that begin at bytes 8, 16, 24, 0, 8 and 40 of it.
#[unsafe(naked)]
unsafe extern "C" fn load_a_line(_: u64, _: u64) -> u64 {
    naked_asm!(
        "2:",
        "mov rax, [rdi + 8]",
        "mov rax, [rdi + 16]",
        "mov rax, [rdi + 24]",
        "mov rcx, rdi",
        "mov rax, [rcx]",
        "add rdi, 4",
        "mov eax, [rdi + 4]",
        "movzx eax, byte ptr [rdi + 36]",
        "sub rdi, 4",
        "dec rsi",
        "jnz 2b",
        "ret",
    )
}

/// For one byte, only the accesses that begin there are reported, with the accesses before them, although all are
/// looked up together.
#[test]
fn touches_are_those_that_begin_at_the_byte() {
    const TIMES: u64 = 50;
    /// Loads of one round.
    const ROUND: u64 = 6;
    #[repr(align(64))]
    struct Line([u64; 16]);
    let _turn = turn();
    let line = Line([0; 16]);
    let base = line.0.as_ptr() as u64;
    let told_of = |place: Watched| {
        let watch = || assert!(watches().unwrap().set(place, true, false));
        let (told, _) = run(watch, load_a_line, base, TIMES);
        told.into_iter()
            .filter(|told| told.drawn_as.is_none() && told.access.addr.0 - base < 128)
            .collect::<Vec<_>>()
    };
    let expected = [8, 16, 24, 0, 8, 40];
    for byte in [0, 8, 16, 24, 40, 32] {
        let found: Vec<_> = told_of(Watched::Byte(base + byte)).iter().map(|told| told.position).collect();
        let at = |round: u64| {
            (0u64..)
                .zip(expected)
                .filter(|(_, at)| *at == byte)
                .map(move |(n, _)| round * ROUND + n)
                .collect::<Vec<_>>()
        };
        assert_eq!(found, (0..TIMES).flat_map(at).collect::<Vec<_>>(), "byte {byte}");
    }
    let of_line = told_of(Watched::Line(base));
    let found: Vec<_> = of_line.iter().map(|told| (told.position, told.access.addr.0 - base)).collect();
    let all = (0..TIMES * ROUND).map(|n| (n, expected[(n % ROUND) as usize])).collect::<Vec<_>>();
    assert_eq!(found, all);
    // Looked up with its neighbour, and not reported.
    assert_eq!(told_of(Watched::Line(base + LINE)).len(), 0);
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

#[test]
fn another_thread_knows_how_much_one_has_done() {
    let _turn = turn();
    let word = 0u64;
    let base = &raw const word as u64;
    let futex = AtomicU32::new(0);
    let place = futex.as_ptr() as u64;
    let mut most = 0;
    std::thread::scope(|scope| {
        let thread = scope.spawn(move || run(|| {}, load_and_wait, base, place));
        while most != 10 {
            let now = unsignalled(|| accesses_of(1)).unwrap_or_default();
            assert!((most..=10).contains(&now), "{now}");
            most = now;
        }
        futex.store(1, Relaxed);
        while !thread.is_finished() {
            // SAFETY: a word that lives on.
            unsafe { libc::syscall(libc::SYS_futex, place, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1) };
        }
        thread.join().unwrap();
    });
    assert_eq!(unsignalled(|| accesses_of(77)), None);
}
