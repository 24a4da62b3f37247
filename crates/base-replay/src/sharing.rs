use std::{collections::BTreeMap, sync::atomic::AtomicU32};

use carom_base::{Access, AccessKind, Addr, Cpu, Nanos, Population, SharingEvent, StackId, ThreadId};
use carom_base_detect::{
    Board, CHUNK_BYTES, Config, DEFAULT_BOARD_SIZE, Input, Publisher, Slot, ThreadDetector, Touch, Trap,
};

use crate::{
    engine::{Detector, Step},
    sampling::{Sampler, Sampling},
};

/// The number of threads that age entries of the board separately.
const PUBLISHERS: usize = 64;

/// Finds the lines that threads share, from samples and from watches between them.
#[derive(Debug)]
pub struct Sharing {
    slots: Vec<Slot>,
    publishers: Vec<Publisher>,
    highest: AtomicU32,
    config: Config,
    sampling: Sampling,
    threads: BTreeMap<ThreadId, (ThreadDetector, Sampler)>,
    events: Vec<SharingEvent>,
}

impl Sharing {
    /// Each thread has the watch that `config` names: each of its accesses is compared with it, as translated code
    /// does for a line and debug registers do for chunks of one.
    pub fn new(config: Config, sampling: Sampling) -> Self {
        Self {
            slots: (0..DEFAULT_BOARD_SIZE).map(|_| Slot::default()).collect(),
            publishers: (0..PUBLISHERS).map(|_| Publisher::default()).collect(),
            highest: AtomicU32::new(0),
            config,
            sampling,
            threads: BTreeMap::new(),
            events: Vec::new(),
        }
    }

    /// The events, in the order of time. Where one in N accesses is sampled, each event stands for N.
    pub fn events(&self) -> &[SharingEvent] {
        &self.events
    }
}

const CPU: Cpu = Cpu(0);
const STACK: StackId = StackId::NONE;

/// The event if this access touches what the thread watches.
fn watched(detector: &mut ThreadDetector, access: Access, time: Nanos) -> Option<SharingEvent> {
    let plan = *detector.armed()?;
    if plan.is_whole_line() {
        return detector.on_touch(Touch { access, time, cpu: CPU, stack: STACK });
    }
    let is_touched = |chunk: &&Addr| {
        let bytes =
            Access { ip: access.ip, addr: **chunk, width: CHUNK_BYTES as u32, kind: AccessKind::Load };
        access.overlaps(bytes)
    };
    let chunk = *plan.watched().iter().find(is_touched)?;
    let ip = access.ip;
    detector.on_trap(Trap { chunk, time, cpu: CPU, stack: STACK, access: Some(access), kind: None, ip })
}

impl Detector for Sharing {
    fn access(&mut self, step: &Step) {
        let Step { thread, time, streamed, .. } = *step;
        let access = streamed.access;
        let (config, sampling) = (self.config, self.sampling);
        let (detector, sampler) = self.threads.entry(thread).or_insert_with(|| {
            let mut sampler = Sampler::new(sampling, thread.0.into());
            (ThreadDetector::new(thread, config, sampler.random()), sampler)
        });
        self.events.extend(watched(detector, access, time));
        if sampler.is_sample(access.kind) {
            let board = Board::new(&self.slots, &self.publishers, &self.highest);
            let input = Input {
                access,
                time,
                cpu: CPU,
                stack: STACK,
                population: Population::Step,
                weight: 1.0,
                watch: Some(1.0),
            };
            self.events.extend(detector.on_sample(&board, input).event);
        }
    }
}
