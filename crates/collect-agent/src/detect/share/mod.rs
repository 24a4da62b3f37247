//! Sharing: which threads access lines that others have written.
//!
//! `carom-base-detect` decides. [`observe`] passes it accesses and carries out its decisions; [`watch`] passes it the
//! thread's accesses to watched lines.

pub mod line_watch;
mod observe;
pub mod thread_detectors;
mod watch;

use carom_base::{Access, Population, Skip};
use carom_base_detect::{Board, Config, MAX_WATCHPOINTS, Publisher, Slot as BoardSlot, Watch};
use carom_base_insn::Registers;
use carom_base_sys::clock;
use carom_base_wire::{Counter, ShareSettings, WatchChoice};

use self::thread_detectors::ThreadDetectors;
use super::{Detector, Needs, Sample, relative_weight};
use crate::{
    account,
    scene::{Scene, with_scene},
    session::{CommonBoards, Session},
    shared,
    thread::State,
    translated,
};

/// Threads that a board tells apart. Further threads share an entry with another, so that publications expire sooner
/// and look-ups take longer.
const PUBLISHERS: usize = 1024;

/// The sharing detector of a process.
pub struct Share {
    asked: ShareSettings,
    /// Debug registers that a thread may watch with; 0 where there are none.
    registers: u8,
    /// Mean accesses between two samples: loads, stores.
    periods: (u64, u64),
    /// The bulletin board of time-weighted samples and that of step samples, kept apart.
    boards: [Board<'static>; 2],
    /// Numbers for the threads of all processes, where memory may be shared.
    common: Option<CommonBoards>,
}

impl Share {
    /// Where sharing is asked for.
    pub fn make(session: &Session) -> Option<Box<dyn Detector>> {
        let share = session.settings.share?;
        let board = |population: usize| {
            let own = board(share.board_slots as usize);
            session.common.map_or(own, |common| own.with_common(&common.boards[population], shared::reaches))
        };
        let registers = session.settings.watchpoints.min(MAX_WATCHPOINTS as u32) as u8;
        Some(Box::new(Self {
            asked: share,
            registers: if session.mode.has_watchpoints() { registers } else { 0 },
            periods: (session.settings.load_period, session.settings.store_period),
            boards: std::array::from_fn(board),
            common: session.common,
        }))
    }

    /// Whether translated code watches the lines that other threads have written.
    fn watches_in_software(&self) -> bool {
        translated::is_on() && self.asked.watch == WatchChoice::Software
    }

    /// How the detectors of step samples work.
    fn watching(&self) -> Config {
        let watch = match self.registers {
            _ if self.watches_in_software() => Watch::Line,
            0 => Watch::Nothing,
            registers => Watch::Chunks(registers),
        };
        Config { watch, ..Config::default() }
    }
}

impl Detector for Share {
    fn needs(&self) -> Needs {
        let software = self.asked.watch == WatchChoice::Software;
        Needs {
            samples: true,
            budget: true,
            samples_can_be_early: true,
            tables: software,
            registers: !software,
            ..Needs::default()
        }
    }

    fn has_met_data(&self, rings_are_empty: bool) -> bool {
        !rings_are_empty
    }

    fn thread_begins(&self, state: &mut State) {
        let (id, seed) = (state.id, state.random());
        state.of.share = Some(ThreadDetectors::new(id, self.watching(), seed));
    }

    fn interrupted(
        &self,
        scene: &mut Scene<'_>,
        population: Population,
        ip: u64,
        accesses: &[Access],
        skip: Option<Skip>,
    ) {
        self.sampled_by_time(scene, population, ip, accesses, skip);
    }

    fn sampled(&self, state: &mut State, registers: &Registers<'_>, sample: &Sample) {
        let (loads, stores) = self.periods;
        let period = if sample.kind.writes() { stores } else { loads };
        with_scene(state, registers, sample.time, |scene| {
            scene.weight = relative_weight(period as f64, loads, stores) * sample.periods();
            self.sampled_as(scene, sample);
        });
    }

    fn concerns(&self, state: &State, access: &Access) -> bool {
        state.sampler.watches_line(access.addr.line())
    }

    fn touched(&self, state: &mut State, registers: &Registers<'_>, access: &Access) {
        state.sampler.disarm();
        with_scene(state, registers, clock::now(), |scene| {
            self.on_touch(scene, *access);
            account::pay(scene.state, scene.time, account::EXITS_OF_A_TOUCH);
        });
    }

    fn touched_for_nothing(&self, state: &mut State, _access: &Access) {
        if !self.watches_in_software() {
            return;
        }
        if state.sampler.bears_another_line() {
            return account::pay_exits(state, account::EXITS_OF_A_TOUCH);
        }
        state.sampler.disarm();
        if let Some(own) = &mut state.of.share {
            own.watching().disarm();
        }
        state.slot.count(Counter::Undecided, 1);
    }

    fn has_registers(&self) -> bool {
        !self.watches_in_software()
    }

    fn trapped(&self, scene: &mut Scene<'_>, index: usize, _accesses: Option<u64>, late: bool) {
        self.on_trap(scene, index, late);
        account::trapped(scene.state, scene.time);
    }

    fn window_is_closed(&self, state: &mut State) {
        if let Some(own) = &mut state.of.share
            && own.watching().armed().is_some()
        {
            own.watching().disarm();
            state.sampler.disarm();
        }
    }
}

/// A bulletin board for one process.
fn board(slots: usize) -> Board<'static> {
    let slots: Vec<BoardSlot> = (0..slots.max(1)).map(|_| BoardSlot::default()).collect();
    let publishers: Vec<Publisher> = (0..PUBLISHERS).map(|_| Publisher::default()).collect();
    Board::new(slots.leak(), publishers.leak(), Box::leak(Box::default()))
}
