use std::path::Path;

use perf_event_open_sys::bindings as raw;

use super::{
    cache::Limits,
    trial::{DeliveryKind, Outcome, Trial, Watched, attempt, delivery},
};
use crate::{
    SysError,
    calls::{
        door::{Call, call},
        perf::Event,
    },
    host::machine::Space,
};

/// What was tried, and its outcome. Errors: the trial itself could not be made.
#[derive(Clone, Debug)]
pub struct Tried {
    /// Whether perf_event_open can be called at all: `Refused(EFAULT)` is the good answer.
    pub reach: Result<Outcome, SysError>,
    /// Being interrupted, in the order of [`DeliveryKind::ALL`].
    pub timers: [Result<Outcome, SysError>; 3],
    /// Touching a watched byte.
    pub watchpoint: Result<Outcome, SysError>,
    /// How many watchpoints one thread can hold at a time.
    pub slots: Slots,
    /// Opening the cycle counter in user mode.
    pub cycles: Result<(), SysError>,
    /// Tracing a child.
    pub ptrace: Result<Outcome, SysError>,
    /// Reading memory with process_vm_readv.
    pub own_memory: Result<Outcome, SysError>,
    /// Reserving the address space of a code cache.
    pub address_space: Result<Outcome, SysError>,
    /// Making a file in memory.
    pub memory_file: Result<Outcome, SysError>,
    /// Mapping it executable.
    pub executable_memory: Result<Outcome, SysError>,
    /// What explains refusals of these three.
    pub limits: Limits,
    /// Room where profiles go by default: the working directory.
    pub directory: Result<Space, SysError>,
    /// Room in `/dev/shm`.
    pub shared_memory: Result<Space, SysError>,
}

/// Watchpoints that one thread could open at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// How many, up to [`Slots::MOST`].
    pub opened: u32,
    /// Why the next could not be opened.
    pub stopped: Option<SysError>,
}

impl Slots {
    /// Debug registers of an x86 processor that can watch.
    pub const MOST: u32 = 4;
}

/// How much is tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// All, for whoever wants to know it.
    Everything,
    /// What decides on an engine: each trial takes a process, and a good part of a millisecond.
    Decisive,
}

/// What was not tried.
const UNTRIED: SysError = SysError { call: "trial", errno: libc::ECANCELED };

impl Tried {
    /// Tries everything. Takes some milliseconds; leaves nothing behind.
    pub fn here() -> Self {
        Self::with_timers(DeliveryKind::ALL.map(|kind| attempt(Trial::Timer(kind))), Extent::Everything)
    }

    /// The same without the timers behind the first one that works, without what follows from a trial that worked, and
    /// without what no engine needs: enough to choose, in a fraction of the time.
    pub fn until_one_works() -> Self {
        let mut found = false;
        let timers = DeliveryKind::ALL.map(|kind| {
            if found {
                return Err(UNTRIED);
            }
            let outcome = attempt(Trial::Timer(kind));
            found = outcome == Ok(Outcome::Worked);
            outcome
        });
        Self::with_timers(timers, Extent::Decisive)
    }

    /// What [`until_one_works`](Self::until_one_works) finds where all trials work. Only the debug registers are looked at: whether they are taken
    /// is another question each time, and takes no process.
    pub(super) fn all_worked() -> Self {
        let worked = Ok(Outcome::Worked);
        Self {
            reach: Ok(Outcome::Refused(libc::EFAULT)),
            timers: [worked, Err(UNTRIED), Err(UNTRIED)],
            watchpoint: worked,
            slots: slots(DeliveryKind::Sigtrap),
            cycles: Err(UNTRIED),
            ptrace: Err(UNTRIED),
            own_memory: Err(UNTRIED),
            address_space: worked,
            memory_file: worked,
            executable_memory: worked,
            limits: Limits::here(),
            directory: Space::of(Path::new(".")),
            shared_memory: Space::of(Path::new("/dev/shm")),
        }
    }

    /// Whether all that decides on an engine works, in the best way.
    pub(super) fn worked(&self) -> bool {
        let [first, ..] = self.timers;
        let trials = [first, self.watchpoint, self.address_space, self.memory_file, self.executable_memory];
        trials.iter().all(|trial| *trial == Ok(Outcome::Worked)) && self.slots.opened == Slots::MOST
    }

    fn with_timers(timers: [Result<Outcome, SysError>; 3], extent: Extent) -> Self {
        let decisive = extent == Extent::Decisive;
        let worked = |trial: Result<Outcome, SysError>| trial == Ok(Outcome::Worked);
        let [sigtrap, setsig, _] = timers;
        let reach = if decisive && (worked(sigtrap) || worked(setsig)) {
            Ok(Outcome::Refused(libc::EFAULT))
        } else {
            attempt(Trial::Reach)
        };
        // A filter that kills would kill this process too.
        let deadly = matches!(reach, Ok(Outcome::Killed(_)));
        let watch_by = if worked(sigtrap) { DeliveryKind::Sigtrap } else { DeliveryKind::Setsig };
        let denied = SysError { call: "perf_event_open", errno: libc::EPERM };
        let executable_memory = attempt(Trial::ExecutableMemory);
        let memory_file = if decisive && worked(executable_memory) {
            executable_memory
        } else {
            attempt(Trial::MemoryFile)
        };
        let needless = |trial| if decisive { Err(UNTRIED) } else { attempt(trial) };
        Self {
            reach,
            timers,
            watchpoint: attempt(Trial::Watchpoint(watch_by)),
            slots: if deadly { Slots { opened: 0, stopped: Some(denied) } } else { slots(watch_by) },
            cycles: match extent {
                Extent::Decisive => Err(UNTRIED),
                Extent::Everything if deadly => Err(denied),
                Extent::Everything => cycles(),
            },
            ptrace: needless(Trial::Ptrace),
            own_memory: needless(Trial::OwnMemory),
            address_space: attempt(Trial::AddressSpace),
            memory_file,
            executable_memory,
            limits: Limits::here(),
            directory: Space::of(Path::new(".")),
            shared_memory: Space::of(Path::new("/dev/shm")),
        }
    }
}

/// Opens watchpoints until one fails. They watch memory that is never accessed.
pub(super) fn slots(kind: DeliveryKind) -> Slots {
    let place = Box::new(Watched::default());
    let mut events = Vec::new();
    let mut stopped = None;
    for index in 0..Slots::MOST {
        let Some(delivery) = delivery(kind) else { break };
        match Event::watchpoint(place.watch(index as usize), delivery) {
            Ok(event) => events.push(event),
            Err(error) => {
                stopped = Some(error);
                break;
            }
        }
    }
    let opened = u32::try_from(events.len()).unwrap_or(Slots::MOST);
    events.into_iter().for_each(Event::close);
    Slots { opened, stopped }
}

/// Opens a stopped, sampling cycle counter in user mode, and closes it.
fn cycles() -> Result<(), SysError> {
    /// Any period will do: the event never runs.
    const PERIOD: u64 = 1 << 20;
    let mut attr = raw::perf_event_attr {
        type_: raw::PERF_TYPE_HARDWARE,
        size: size_of::<raw::perf_event_attr>() as u32,
        config: u64::from(raw::PERF_COUNT_HW_CPU_CYCLES),
        ..Default::default()
    };
    attr.__bindgen_anon_1.sample_period = PERIOD;
    attr.set_disabled(1);
    attr.set_exclude_kernel(1);
    attr.set_exclude_hv(1);
    let fd = call(Call::Open { attr: &mut attr, thread: 0, cpu: -1, group: -1 })?;
    // SAFETY: the descriptor was made just now and nobody else knows it.
    unsafe { libc::close(fd as i32) };
    Ok(())
}
