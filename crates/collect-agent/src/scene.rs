//! The circumstances of a sample, trap or touch: the thread's state, and the program's registers at that moment.

use std::{ops::Range, sync::atomic::Ordering::Relaxed};

use carom_base::{Access, Addr, Cpu, Nanos, StackId};
use carom_base_insn::Registers;
use carom_base_sys::clock;

use crate::{
    context::{Context, OwnMemory},
    modules::{self, Modules},
    thread::State,
};

/// The thread's state and registers in a handler, or just before an access.
pub struct Scene<'a> {
    pub state: &'a mut State,
    pub context: Context<'a>,
    pub modules: Option<&'a Modules>,
    pub fs_base: u64,
    pub time: Nanos,
    pub cpu: Cpu,
    /// The weight of the samples of this run (see `Input::weight`).
    pub weight: f32,
}

impl Scene<'_> {
    /// The call path of an access at `ip`.
    pub fn stack(&mut self, ip: u64) -> StackId {
        let memory = memory(&self.context, self.modules, &self.state.stack);
        self.state.stacks.take(ip, &self.context, self.modules, &memory, &self.state.slot)
    }

    /// The process's memory as this thread may read it.
    pub fn memory(&self) -> OwnMemory<'_> {
        memory(&self.context, self.modules, &self.state.stack)
    }
}

/// The part of the interrupted thread's `stack` that is in use is read directly. Anything else (coroutines, alternate
/// stacks, what the main thread's stack has grown by) lies outside and is read through the kernel.
pub fn memory<'a>(context: &Context<'_>, modules: Option<&'a Modules>, stack: &Range<u64>) -> OwnMemory<'a> {
    let sp = context.sp();
    OwnMemory::new(modules, if stack.contains(&sp) { sp..stack.end } else { 0..0 })
}

/// Runs `work` just before an access of translated code, at this `time`, unless the host has asked to stop.
pub fn with_scene(
    state: &mut State,
    registers: &Registers<'_>,
    time: Nanos,
    work: impl FnOnce(&mut Scene<'_>),
) {
    if state.session.control().stop.load(Relaxed) != 0 {
        return;
    }
    modules::with(|modules| {
        // SAFETY: all zeroes is a valid context.
        let mut machine: libc::ucontext_t = unsafe { std::mem::zeroed() };
        // SAFETY: our own.
        let mut context = unsafe { Context::new((&raw mut machine).cast()) };
        context.put(&registers.gpr, registers.rip, registers.rflags);
        let cpu = Cpu(clock::current_cpu());
        work(&mut Scene { state, context, modules, fs_base: registers.fs_base, time, cpu, weight: 1.0 });
    });
}

/// The access that has trapped. x86 traps behind the access, so it is the last instruction's, where that is known and
/// touches the chunk. Else the probable address of the instruction.
pub fn trapping_access(scene: &mut Scene<'_>, chunk: Addr) -> Result<Access, u64> {
    let ip = scene.context.ip();
    let start = scene.modules.and_then(|modules| modules.function_start(ip));
    let memory = memory(&scene.context, scene.modules, &scene.state.stack);
    let last = scene.state.decoder.predecessor(ip, start, &memory).map_err(|_| ip)?;
    let registers = scene.context.registers(scene.fs_base);
    let operands = scene.state.decoder.operands_after(&registers, last, &memory);
    let end = chunk.0.wrapping_add(carom_base_detect::CHUNK_BYTES);
    let touches = |access: &&Access| access.addr.0 < end && chunk.0 < access.end().0;
    operands.accesses().iter().find(touches).copied().ok_or(last)
}
