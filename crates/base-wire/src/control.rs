use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::{
    VERSION,
    reuse::{ReusePage, ReuseSettings, WatchChoice},
    window::Window,
};

/// Name of the control file in the session directory.
pub const CONTROL_FILE: &str = "control";

/// `"carom-c\0"`.
const CONTROL_MAGIC: u64 = u64::from_le_bytes(*b"carom-c\0");

/// What observes accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// A timer interrupts each thread, and the instructions around the interrupt are decoded.
    Burst,
    /// The program's code is translated, counts itself exactly, and may sample its accesses.
    Translate,
}

impl Engine {
    /// The engine's name in journals, manifests and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Burst => "burst",
            Self::Translate => "translate",
        }
    }

    /// The inverse of [`Engine::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Burst, Self::Translate].into_iter().find(|engine| engine.name() == name)
    }
}

/// What translated code does where neither sharing nor reuse are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// It counts.
    Counts,
    /// Nothing. This one and those below measure what parts of the engine cost by themselves.
    Translation,
    /// It counts and writes every access down; nobody reads what is overwritten.
    Stream,
    /// As `Stream`, and each thread adds up the addresses.
    Checksums,
    /// It counts and takes samples with the periods of [`ControlSettings`], which nobody keeps.
    Samples,
}

/// How samples are to be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryChoice {
    /// The best that works: sigtrap, F_SETSIG, POSIX timers.
    Auto,
    /// perf events with `sigtrap`.
    Sigtrap,
    /// perf events with `F_SETSIG`.
    Setsig,
    /// POSIX timers, no watchpoints.
    PosixTimer,
}

/// What the host asks of every agent of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ControlSettings {
    /// What observes accesses. Where code cannot be translated in a process, a `trouble` line says why, and the
    /// process runs unobserved, or is sampled by burst where `period_ns` is not 0.
    pub engine: Engine,
    /// Mean number of loads between two sampled ones (translate); 0: sample none, only count.
    pub load_period: u64,
    /// Mean number of stores between two sampled ones (translate); 0: sample none, only count.
    pub store_period: u64,
    /// Mean thread CPU time between two timer samples, in nanoseconds (burst); 0: take none.
    pub period_ns: u64,
    /// The agent's share of each thread's time, in millionths.
    pub budget_ppm: u32,
    /// Step samples go 0 to `max_steps - 1` instructions on.
    pub max_steps: u32,
    /// Debug registers that each thread may watch with, 0 to 4.
    pub watchpoints: u32,
    /// What watches for sharing: these, or translated code itself. Where code cannot be translated it is these.
    pub watch: WatchChoice,
    /// What translated code does where there is nothing else to do for it.
    pub trial: Trial,
    /// Slots of the bulletin board.
    pub board_slots: u32,
    /// How samples are delivered.
    pub delivery: DeliveryChoice,
    /// Track heap objects of at least this many bytes; `None`: do not track.
    pub objects: Option<u64>,
    /// When to observe. What is looked for by [`reuse`](Self::reuse) is looked for always.
    pub window: Window,
    /// Look for reuse, and not for sharing.
    pub reuse: Option<ReuseSettings>,
}

/// The control page. All fields are atomics because host and agents have it open at once.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Control {
    magic: AtomicU64,
    version: AtomicU32,
    delivery: AtomicU32,
    period_ns: AtomicU64,
    budget_ppm: AtomicU32,
    max_steps: AtomicU32,
    watchpoints: AtomicU32,
    board_slots: AtomicU32,
    objects: AtomicU64,
    load_period: AtomicU64,
    store_period: AtomicU64,
    engine: AtomicU32,
    watch: AtomicU32,
    trial: AtomicU32,
    opens_ns: AtomicU64,
    closes_ns: AtomicU64,
    /// Set by the host when recording ends: agents stop sampling at their next sample.
    pub stop: AtomicU32,
    /// 1 while one agent calibrates, 2 once the costs below are there.
    pub calibrated: AtomicU32,
    /// Cost of one timer sample in nanoseconds, without decoding.
    pub timer_ns: AtomicU64,
    /// Cost of one single step in nanoseconds.
    pub step_ns: AtomicU64,
    /// Cost of one watchpoint trap in nanoseconds.
    pub trap_ns: AtomicU64,
    /// Cost of moving one watchpoint in nanoseconds.
    pub modify_ns: AtomicU64,
    /// Threads of any process that could not be profiled.
    pub unprofiled_threads: AtomicU64,
    /// Children of any process that could not be profiled, having been forked.
    pub unprofiled_children: AtomicU64,
    /// CPU time of those threads and children, in nanoseconds, as far as they have ended in an orderly way.
    pub unprofiled_ns: AtomicU64,
    /// The error number with which the latest of them could not be.
    pub unprofiled_errno: AtomicU64,
    reuse: ReusePage,
}

/// Offset added to a threshold so that 0 can mean "off".
const OBJECTS_ON: u64 = 1;

impl Control {
    /// A page with these settings.
    pub fn new(settings: &ControlSettings) -> Self {
        let page = Self { reuse: ReusePage::new(settings.reuse.as_ref()), ..Self::default() };
        page.magic.store(CONTROL_MAGIC, Relaxed);
        page.version.store(VERSION, Relaxed);
        page.delivery.store(settings.delivery as u32, Relaxed);
        page.period_ns.store(settings.period_ns, Relaxed);
        page.budget_ppm.store(settings.budget_ppm, Relaxed);
        page.max_steps.store(settings.max_steps, Relaxed);
        page.watchpoints.store(settings.watchpoints, Relaxed);
        page.board_slots.store(settings.board_slots, Relaxed);
        page.load_period.store(settings.load_period, Relaxed);
        page.store_period.store(settings.store_period, Relaxed);
        page.engine.store(settings.engine as u32, Relaxed);
        page.watch.store(settings.watch as u32, Relaxed);
        page.trial.store(settings.trial as u32, Relaxed);
        page.opens_ns.store(settings.window.opens_ns, Relaxed);
        page.closes_ns.store(settings.window.closes_ns, Relaxed);
        page.objects.store(settings.objects.map_or(0, |least| least.saturating_add(OBJECTS_ON)), Relaxed);
        page
    }

    /// The page's fields in the order of their layout, for writing it to a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(size_of::<Self>());
        bytes.extend(self.magic.load(Relaxed).to_le_bytes());
        bytes.extend(self.version.load(Relaxed).to_le_bytes());
        bytes.extend(self.delivery.load(Relaxed).to_le_bytes());
        bytes.extend(self.period_ns.load(Relaxed).to_le_bytes());
        for word in [&self.budget_ppm, &self.max_steps, &self.watchpoints, &self.board_slots] {
            bytes.extend(word.load(Relaxed).to_le_bytes());
        }
        for word in [&self.objects, &self.load_period, &self.store_period] {
            bytes.extend(word.load(Relaxed).to_le_bytes());
        }
        for word in [&self.engine, &self.watch, &self.trial] {
            bytes.extend(word.load(Relaxed).to_le_bytes());
        }
        bytes.resize(std::mem::offset_of!(Self, opens_ns), 0);
        for word in [&self.opens_ns, &self.closes_ns] {
            bytes.extend(word.load(Relaxed).to_le_bytes());
        }
        bytes.resize(std::mem::offset_of!(Self, reuse), 0);
        bytes.extend(self.reuse.to_bytes());
        bytes.resize(size_of::<Self>(), 0);
        bytes
    }

    /// The settings, or `None` where the page is not one of this version.
    pub fn settings(&self) -> Option<ControlSettings> {
        if self.magic.load(Relaxed) != CONTROL_MAGIC || self.version.load(Relaxed) != VERSION {
            return None;
        }
        let delivery = match self.delivery.load(Relaxed) {
            0 => DeliveryChoice::Auto,
            1 => DeliveryChoice::Sigtrap,
            2 => DeliveryChoice::Setsig,
            3 => DeliveryChoice::PosixTimer,
            _ => return None,
        };
        let engine = match self.engine.load(Relaxed) {
            0 => Engine::Burst,
            1 => Engine::Translate,
            _ => return None,
        };
        let watch = match self.watch.load(Relaxed) {
            0 => WatchChoice::Software,
            1 => WatchChoice::Registers,
            _ => return None,
        };
        let trial = match self.trial.load(Relaxed) {
            0 => Trial::Counts,
            1 => Trial::Translation,
            2 => Trial::Stream,
            3 => Trial::Checksums,
            4 => Trial::Samples,
            _ => return None,
        };
        Some(ControlSettings {
            engine,
            load_period: self.load_period.load(Relaxed),
            store_period: self.store_period.load(Relaxed),
            period_ns: self.period_ns.load(Relaxed),
            budget_ppm: self.budget_ppm.load(Relaxed),
            max_steps: self.max_steps.load(Relaxed),
            watchpoints: self.watchpoints.load(Relaxed),
            watch,
            trial,
            board_slots: self.board_slots.load(Relaxed),
            delivery,
            objects: self.objects.load(Relaxed).checked_sub(OBJECTS_ON),
            window: Window { opens_ns: self.opens_ns.load(Relaxed), closes_ns: self.closes_ns.load(Relaxed) },
            reuse: self.reuse.settings().ok()?,
        })
    }

    /// Where [`Control::stop`] lies in the file, in bytes.
    pub const fn stop_offset() -> u64 {
        std::mem::offset_of!(Self, stop) as u64
    }

    /// Where the four costs and the count of unprofiled threads lie in the file, in bytes:
    /// `timer_ns, step_ns, trap_ns, modify_ns, unprofiled_threads`.
    pub const fn results_offset() -> u64 {
        std::mem::offset_of!(Self, timer_ns) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Domains, DomainsOf, ReuseMethod, WatchChoice};

    #[test]
    fn bytes_follow_the_layout() {
        let domains = Domains::new(DomainsOf::Cpus, [&[1][..]]);
        let method = ReuseMethod::Sampled { watch: WatchChoice::Software, slots: 9 };
        let settings = ControlSettings {
            engine: Engine::Translate,
            load_period: 6,
            store_period: 7,
            period_ns: 1,
            budget_ppm: 2,
            max_steps: 3,
            watchpoints: 4,
            watch: WatchChoice::Registers,
            trial: Trial::Checksums,
            board_slots: 5,
            delivery: DeliveryChoice::Setsig,
            objects: Some(0),
            window: Window { opens_ns: 8, closes_ns: 9 },
            reuse: Some(ReuseSettings { method, domains }),
        };
        let page = Control::new(&settings);
        assert_eq!(page.settings(), Some(settings));
        let bytes = page.to_bytes();
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!(word(std::mem::offset_of!(Control, board_slots)), 5);
        assert_eq!(word(std::mem::offset_of!(Control, objects)), 1, "a threshold of 0 is stored as 1");
        assert_eq!(word(std::mem::offset_of!(Control, load_period)), 6);
        assert_eq!(word(std::mem::offset_of!(Control, store_period)), 7);
        assert_eq!(word(std::mem::offset_of!(Control, engine)), 1);
        assert_eq!(word(std::mem::offset_of!(Control, watch)), 1);
        assert_eq!(word(std::mem::offset_of!(Control, trial)), 3);
        assert_eq!(word(std::mem::offset_of!(Control, opens_ns)), 8);
        assert_eq!(word(std::mem::offset_of!(Control, closes_ns)), 9);
        assert_eq!(word(std::mem::offset_of!(Control, stop)), 0);
        let reuse = std::mem::offset_of!(Control, reuse);
        assert_eq!(bytes.len(), size_of::<Control>());
        assert_eq!(bytes[reuse..], page.reuse.to_bytes());
    }
}
