//! Runs functions in Sample mode, in a child process because a process has one engine, and returns the samples.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

use carom_base::{Access, AccessKind};
use carom_base_insn::Registers;
use carom_collect_translate::{DrawnAs, Mode, Observer, Totals, accesses, double_periods};

use super::support::{self, Function, heap};

/// One sample.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Sampled {
    pub access: Access,
    /// Whether it was drawn among the loads or among the stores.
    pub drawn_as: AccessKind,
    /// The program's registers in front of the instruction, by their numbers; after a comparison, those after it.
    pub registers: [u64; 16],
    /// Loads and stores before it.
    pub position: u64,
    /// The eight bytes at its address when it was reported.
    pub word: u64,
    /// Its reported weight.
    pub weight: f32,
    /// How often its period was doubled.
    pub doublings: u8,
}

/// The result of one function.
#[derive(Clone, Debug)]
pub struct Run {
    pub totals: Totals,
    pub samples: Vec<Sampled>,
}

impl Run {
    /// Samples drawn among the loads, or among the stores.
    pub fn of(&self, kind: AccessKind) -> impl Iterator<Item = &Sampled> {
        self.samples.iter().filter(move |sample| sample.drawn_as == kind)
    }
}

/// Samples of one run at most.
const ROOM: usize = 50_000;

/// The memory that parent and child share for each run.
#[repr(C)]
struct Shared {
    length: AtomicU64,
    totals: Totals,
    samples: [Sampled; ROOM],
}

/// Where the child's present run is recorded.
static RECORD: AtomicU64 = AtomicU64::new(0);

/// Whether the child takes samples when their blocks begin.
static EARLY: AtomicBool = AtomicBool::new(false);

/// It takes one in this many, and counts how often it was asked.
static ONE_IN: AtomicU64 = AtomicU64::new(1);
static ASKED: AtomicU64 = AtomicU64::new(0);

/// Whether the child doubles and halves the periods all the time.
static CHANGING: AtomicBool = AtomicBool::new(false);

struct Recorder;

impl Observer for Recorder {
    fn sampled(&self, registers: &Registers<'_>, access: &Access, drawn: DrawnAs, weight: f32) {
        let shared = RECORD.load(Relaxed) as *mut Shared;
        // SAFETY: mapped before the run began.
        let length = unsafe { &(*shared).length };
        let index = length.fetch_add(1, Relaxed) as usize;
        if index < ROOM {
            let place = access.addr.0 as *const u64;
            // SAFETY: what the tests' programs access has so many bytes.
            let word = unsafe { place.read_unaligned() };
            let position = accesses().unwrap_or_default();
            let registers = registers.gpr;
            let DrawnAs { kind: drawn_as, doublings } = drawn;
            let sampled = Sampled { access: *access, drawn_as, registers, position, word, weight, doublings };
            // SAFETY: as above, and in its bounds.
            let samples = unsafe { &raw mut (*shared).samples };
            // SAFETY: as above.
            let place = unsafe { samples.cast::<Sampled>().add(index) };
            // SAFETY: as above.
            unsafe { place.write(sampled) };
        }
        if CHANGING.load(Relaxed) {
            // Any, also such as depend on what was sampled.
            double_periods((access.ip.0 >> 4 ^ index as u64 >> 5) as u8 % 4);
        }
    }

    fn weighs(&self, drawn: usize) -> Option<f32> {
        assert!(drawn > 0);
        let one_in = ONE_IN.load(Relaxed);
        ASKED.fetch_add(1, Relaxed).is_multiple_of(one_in).then_some(one_in as f32)
    }

    fn takes_samples_early(&self) -> bool {
        EARLY.load(Relaxed)
    }

    fn ending(&self, _: &mut dyn Iterator<Item = (u64, Totals)>) {}
}

/// Calls functions in the cache, each with two arguments and in a thread of its own to the engine, whose number seeds
/// its draws. `periods`: of loads and of stores.
pub fn sample(periods: [u64; 2], calls: &[(Function, u64, u64)]) -> Vec<Run> {
    sample_when(false, 1, periods, calls)
}

/// The same, with samples taken `early` or not, one in `one_in`.
pub fn sample_when(early: bool, one_in: u64, periods: [u64; 2], calls: &[(Function, u64, u64)]) -> Vec<Run> {
    in_child(calls, &|shared| {
        EARLY.store(early, Relaxed);
        ONE_IN.store(one_in, Relaxed);
        run_all(periods, calls, shared);
    })
}

/// The same as [`sample`], with periods that are doubled and halved with every few samples.
pub fn sample_changing(early: bool, periods: [u64; 2], calls: &[(Function, u64, u64)]) -> Vec<Run> {
    in_child(calls, &|shared| {
        EARLY.store(early, Relaxed);
        CHANGING.store(true, Relaxed);
        run_all(periods, calls, shared);
    })
}

fn in_child(calls: &[(Function, u64, u64)], run: &dyn Fn(*mut Shared)) -> Vec<Run> {
    let bytes = calls.len() * size_of::<Shared>();
    // SAFETY: a new mapping.
    let shared = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    assert_ne!(shared, libc::MAP_FAILED);
    let shared = shared.cast::<Shared>();
    // The decoder's tables are made once, and not by another thread while this one forks.
    drop(carom_base_insn::Decoder::new());
    heap::HEAP.lock();
    // SAFETY: the heap is not in use elsewhere, so that the child can go on using it.
    let child = unsafe { libc::fork() };
    heap::HEAP.unlock();
    if child == 0 {
        run(shared);
    }
    let mut status = -1;
    // SAFETY: our child.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "the child ended early");
    // SAFETY: one for each call; the child, which wrote them, has ended. All zeroes are valid, too.
    let found = unsafe { std::slice::from_raw_parts(shared, calls.len()) };
    let runs = found.iter().map(read).collect();
    // SAFETY: nothing refers to it any more.
    unsafe { libc::munmap(shared.cast(), bytes) };
    runs
}

fn read(shared: &Shared) -> Run {
    let length = shared.length.load(Relaxed) as usize;
    assert!(length <= ROOM, "{length} samples have no room");
    Run { totals: shared.totals, samples: shared.samples[..length].to_vec() }
}

fn run_all([loads, stores]: [u64; 2], calls: &[(Function, u64, u64)], shared: *mut Shared) -> ! {
    /// Far more than a run takes; a child that hangs is killed.
    const MOST_SECONDS: u32 = 100;
    // SAFETY: no handler: it ends the child.
    unsafe { libc::alarm(MOST_SECONDS) };
    support::begin(Mode::Sample { loads, stores }, &Recorder);
    for (index, &(function, a, b)) in calls.iter().enumerate() {
        // SAFETY: one for each call.
        let record = unsafe { shared.add(index) };
        RECORD.store(record as u64, Relaxed);
        let (_, totals) = support::run_as(index as u64 + 1, function, a, b);
        // SAFETY: as above.
        let place = unsafe { &raw mut (*record).totals };
        // SAFETY: as above.
        unsafe { place.write(totals.unwrap_or_default()) };
    }
    // SAFETY: ends the child without what the parent would do at its end.
    unsafe { libc::_exit(0) }
}
