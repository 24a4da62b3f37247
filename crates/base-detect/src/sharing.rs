use carom_base::{
    Access, AccessKind, Addr, Cpu, EarlierWrite, Ip, Nanos, Population, SharingEvent, StackId, ThreadId, Via,
};

use crate::board::Board;
use crate::config::{Config, Scheme};
use crate::random::Random;
use crate::rules::class;
use crate::watch::{CHUNK_BYTES, WatchPlan};

/// A sample of a memory access.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Input {
    /// The access. One that splits a line counts for its first line.
    pub access: Access,
    /// When; must not decrease during the life of a detector.
    pub time: Nanos,
    /// Where the thread runs.
    pub cpu: Cpu,
    /// The call path.
    pub stack: StackId,
    /// Which kind of sample.
    pub population: Population,
    /// How many samples it stands for, above 0 and finite (the board keeps 16 bits of precision). Less than 1 where
    /// one of several accesses was drawn: an access drawn twice as readily counts half. More than 1 where loads and
    /// stores have different periods, for those sampled less often.
    pub weight: f32,
    /// How many samples this one stands for if it sets watchpoints: 1 where all may; where only some may, the inverse
    /// of this sample's chance, which must not depend on its access (Horvitz and Thompson, J. Am. Stat. Assoc. 47,
    /// 1952). `None`: it may not.
    pub watch: Option<f32>,
}

/// A watchpoint was hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trap {
    /// The address that the watchpoint was set on.
    pub chunk: Addr,
    /// When.
    pub time: Nanos,
    /// Where the thread runs.
    pub cpu: Cpu,
    /// The call path.
    pub stack: StackId,
    /// The access, if the trapping instruction could be recovered. Used only if it touches the chunk.
    pub access: Option<Access>,
    /// The kind of access, if only that is known. Otherwise a load is assumed, the weaker claim.
    pub kind: Option<AccessKind>,
    /// The trapping instruction, or the one after it.
    pub ip: Ip,
}

/// The thread touches a line that it watches as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The access. One that splits a line touches its first line.
    pub access: Access,
    /// When.
    pub time: Nanos,
    /// Where the thread runs.
    pub cpu: Cpu,
    /// The call path.
    pub stack: StackId,
}

/// The result of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Decision {
    /// Sharing to record.
    pub event: Option<SharingEvent>,
    /// Watchpoints to set, in place of any that are set.
    pub arm: Option<WatchPlan>,
    /// All watchpoints must be removed: what they watch for is old or settled, and there is nothing new to watch for.
    pub disarm: bool,
    /// There was a write to watch for, but the sample may not watch ([`Input::watch`]).
    pub declined: bool,
    /// The sample was published on the board.
    pub published: bool,
    /// A store met a live entry of another line in its slot: it was not published ([`Scheme::Paper`]), or was
    /// published in its place ([`Scheme::Balanced`]).
    pub collision: bool,
}

/// A set of watchpoints and its purpose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Armed {
    pub plan: WatchPlan,
    /// The write whose line is watched.
    pub earlier: EarlierWrite,
    /// The weight of the sample that published the write, times the number of samples that the watching sample stands
    /// for.
    pub weight: f32,
    /// Which kind of sample set them.
    pub population: Population,
    /// Samples of this thread since.
    pub age: u32,
}

/// The sharing detector of one thread.
#[derive(Clone, Debug)]
pub struct ThreadDetector {
    pub(crate) thread: ThreadId,
    /// Its number on the board for shared memory, once it has one.
    pub(crate) among_processes: Option<ThreadId>,
    pub(crate) config: Config,
    pub(crate) random: Random,
    pub(crate) previous_sample: Option<Nanos>,
    /// Times of the two latest store samples, the latest first.
    pub(crate) previous_stores: [Option<Nanos>; 2],
    /// Publication time of the latest entry that this thread has counted (t_prev in Algorithm 1).
    pub(crate) latest_counted: Option<Nanos>,
    pub(crate) armed: Option<Armed>,
}

impl ThreadDetector {
    /// A detector that has seen nothing. Equal seeds and inputs give equal decisions.
    pub const fn new(thread: ThreadId, config: Config, seed: u64) -> Self {
        Self {
            thread,
            among_processes: None,
            config,
            random: Random::new(seed),
            previous_sample: None,
            previous_stores: [None; 2],
            latest_counted: None,
            armed: None,
        }
    }

    /// Sets the thread's number among all processes ([`ThreadId::among_processes`]), which it needs before its first
    /// sample in shared memory.
    pub const fn number_among_processes(&mut self, number: u32) {
        self.among_processes = Some(ThreadId::among_processes(number));
    }

    /// Whether it has such a number.
    pub const fn is_numbered(&self) -> bool {
        self.among_processes.is_some()
    }

    /// Processes a sample.
    ///
    /// Costs at most one read of every slot in [`Scheme::Paper`], some 8 KiB with 127 slots; one for each thread in
    /// [`Scheme::Balanced`]. Slots that other threads have written since the last sample come from their caches.
    pub fn on_sample(&mut self, board: &Board<'_>, input: Input) -> Decision {
        if let Some(armed) = &mut self.armed {
            armed.age = armed.age.saturating_add(1);
        }
        let decision = match self.config.scheme {
            Scheme::Balanced if self.config.watch.is_possible() => self.sample_balanced(board, &input),
            Scheme::Balanced | Scheme::Paper => self.sample_by_paper(board, &input),
        };
        if input.access.kind.writes() {
            self.previous_stores = [Some(input.time), self.previous_stores[0]];
        }
        self.previous_sample = Some(input.time);
        decision
    }

    /// Processes a trap. Afterwards the detector is disarmed, and the caller must remove all watchpoints.
    ///
    /// `None` for a trap that no longer means anything, because its watchpoint has been replaced (a signal that was
    /// blocked for a while). Then nothing changes.
    pub fn on_trap(&mut self, trap: Trap) -> Option<SharingEvent> {
        let armed = self.armed?;
        if !armed.plan.watched().contains(&trap.chunk) {
            return None;
        }
        let chunk = Access {
            ip: trap.ip,
            addr: trap.chunk,
            width: CHUNK_BYTES as u32,
            kind: trap.kind.unwrap_or(AccessKind::Load),
        };
        let recovered = trap.access.filter(|access| access.overlaps(chunk));
        let touch =
            Touch { access: recovered.unwrap_or(chunk), time: trap.time, cpu: trap.cpu, stack: trap.stack };
        Some(self.settle(&armed, &touch, recovered.is_some()))
    }

    /// Processes a touch of a watched line. Afterwards the detector is disarmed, and the caller must stop watching
    /// the line.
    ///
    /// `None` for a touch of another line. Then nothing changes.
    pub fn on_touch(&mut self, touch: Touch) -> Option<SharingEvent> {
        let armed = self.armed?;
        let touched = armed.plan.is_whole_line() && armed.plan.line == touch.access.addr.line();
        touched.then(|| self.settle(&armed, &touch, true))
    }

    /// The watched line was touched.
    fn settle(&mut self, armed: &Armed, touch: &Touch, exact: bool) -> SharingEvent {
        self.armed = None;
        let earlier = armed.earlier;
        self.latest_counted = self.latest_counted.max(Some(earlier.time));
        SharingEvent {
            thread: self.thread,
            time: touch.time,
            cpu: touch.cpu,
            population: armed.population,
            via: Via::Watchpoint,
            class: class(touch.access, earlier.access),
            weight: armed.plan.weight() * armed.weight,
            later: touch.access,
            exact,
            stack: touch.stack,
            earlier,
        }
    }

    /// Forgets the watchpoints, because the caller has removed them, or could not set them.
    pub fn disarm(&mut self) {
        self.armed = None;
    }

    /// The watchpoints that are set.
    pub fn armed(&self) -> Option<&WatchPlan> {
        self.armed.as_ref().map(|armed| &armed.plan)
    }
}
