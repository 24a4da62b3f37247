//! Watches by the debug registers of each thread.

use carom_base_reuse::sampled::{Modes, REGISTERS};
use carom_base_sys::{
    SysError,
    perf::{self, Event},
};

use super::thread_table::ThreadIndex;
use crate::sampler::Mode;

/// One register of one thread: its event, once there is one, and the name of what it watches; 0: nothing.
#[derive(Default)]
struct Register {
    event: Option<Event>,
    name: u64,
}

/// The registers of all threads, by their index.
pub struct DebugRegisters {
    mode: Mode,
    threads: Vec<[Register; REGISTERS]>,
}

impl DebugRegisters {
    /// No register is used yet. `mode`: how they are delivered.
    pub fn new(mode: Mode) -> Self {
        Self { mode, threads: Vec::new() }
    }

    /// Makes room for a thread. Allocates.
    pub fn make_room(&mut self, thread: ThreadIndex) {
        if self.threads.len() <= thread.0 {
            self.threads.resize_with(thread.0 + 1, Default::default);
        }
    }

    /// Has the thread `tid` watch these bytes with register `index`, and nothing else.
    ///
    /// # Errors
    /// As [`Event::watchpoint_in`].
    pub fn set(
        &mut self,
        (thread, tid): (ThreadIndex, i32),
        index: usize,
        name: u64,
        (first, bytes, modes): (u64, u32, Modes),
    ) -> Result<(), SysError> {
        const NO_REGISTER: SysError = SysError { call: "debug register", errno: libc::ENOSPC };
        let delivery = self.mode.watch_delivery(index, tid);
        let register = self.threads.get_mut(thread.0).and_then(|registers| registers.get_mut(index));
        let register = register.ok_or(NO_REGISTER)?;
        register.name = 0;
        let watch = perf::Watch { address: first, length: u64::from(bytes), reads: modes.reads };
        match &register.event {
            Some(event) => event.move_watch(watch, delivery)?,
            None => register.event = Some(Event::watchpoint_in(tid, watch, delivery)?),
        }
        register.name = name;
        Ok(())
    }

    /// What a register watches.
    pub fn name(&self, thread: ThreadIndex, index: usize) -> Option<u64> {
        let register = self.threads.get(thread.0)?.get(index)?;
        (register.name != 0).then_some(register.name)
    }

    /// Has a register watch nothing.
    pub fn clear(&mut self, thread: ThreadIndex, index: usize) {
        let register = self.threads.get_mut(thread.0).and_then(|registers| registers.get_mut(index));
        if let Some(Register { event: Some(event), name }) = register {
            let _ = event.disable();
            *name = 0;
        }
    }

    /// The thread has ended.
    pub fn forget(&mut self, thread: ThreadIndex) {
        for register in self.threads.get_mut(thread.0).into_iter().flatten() {
            if let Register { event: Some(event), .. } = std::mem::take(register) {
                event.close();
            }
        }
    }

    /// In a forked child: the registers are those of the parent's threads, which go on watching.
    pub fn abandon(&mut self) {
        for register in self.threads.iter_mut().flatten() {
            if let Register { event: Some(event), .. } = std::mem::take(register) {
                event.abandon();
            }
        }
    }
}
