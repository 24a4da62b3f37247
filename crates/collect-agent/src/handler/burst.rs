//! Step samples: an access among the next instructions, drawn with known odds.
//!
//! Where the whole way can be told from the code and the registers, nothing is executed; else the thread is
//! single-stepped to an instruction that is exactly k steps on, with k uniform.

use carom_base::{Population, Skip};
use carom_base_insn::{MAX_INSTRUCTION_BYTES, Memory, Walk};
use carom_base_wire::Counter;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Mnemonic, OpKind, Register};

use super::interrupted;
use crate::{
    scene::{Scene, memory},
    thread::Burst,
};

/// Begins a step sample at the interrupted instruction.
///
/// Every access among the next `max_steps` instructions must be as likely, or weigh as much more as it is less likely.
/// Where the whole way can be walked, one of its m accesses is drawn and weighs m / `max_steps`; else one of all
/// instructions is drawn, and weighs 1.
pub fn begin(scene: &mut Scene<'_>) {
    let slot = scene.state.slot;
    slot.count(Counter::Bursts, 1);
    let most = scene.state.session.settings.max_steps.max(1);
    let memory = memory(&scene.context, scene.modules, &scene.state.stack);
    let registers = scene.context.registers(scene.fs_base);
    let mut seed = scene.state.random();
    let below = |n: u32| {
        // splitmix64 (Steele, Lea, Flood 2014).
        seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (seed ^ seed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (((mixed >> 32) * u64::from(n)) >> 32) as u32
    };
    if let Some(drawn) = scene.state.decoder.draw(&registers, most, &memory, below) {
        slot.count(Counter::Walked, 1);
        let Some(there) = drawn.registers else {
            interrupted(scene, Population::Step, registers.rip, &[], Some(Skip::NotAnAccess));
            return;
        };
        let operands = scene.state.decoder.operands_before(&there, &memory);
        scene.weight = drawn.accesses as f32 / most as f32;
        // An address made of a register that the walk lost: stepping there will tell.
        if operands.skip() != Some(Skip::AddressLost) {
            let ip = there.rip;
            interrupted(scene, Population::Step, ip, operands.accesses(), operands.skip());
            return;
        }
        scene.state.burst = Some(Burst { left: drawn.steps, weight: scene.weight });
        return proceed(scene);
    }
    step_to_one(scene, most);
}

/// Draws one of the next `most` instructions and goes there, walking as far as that leads.
// Apart from its callers, whose buffers would lie below its own on the handler's stack; so is `proceed`.
#[inline(never)]
fn step_to_one(scene: &mut Scene<'_>, most: u32) {
    let steps = (((scene.state.random() >> 32) * u64::from(most)) >> 32) as u32;
    let memory = memory(&scene.context, scene.modules, &scene.state.stack);
    let registers = scene.context.registers(scene.fs_base);
    match scene.state.decoder.walk(&registers, steps, &memory) {
        Walk::Arrived(there) => {
            let operands = scene.state.decoder.operands_before(&there, &memory);
            if operands.skip() != Some(Skip::AddressLost) {
                scene.state.slot.count(Counter::Walked, 1);
                let ip = there.rip;
                interrupted(scene, Population::Step, ip, operands.accesses(), operands.skip());
                return;
            }
        }
        Walk::Stuck { at, why, .. } => {
            // What single steps cannot pass either is known without trying.
            if let Some(skip) = why.skip() {
                interrupted(scene, Population::Step, at, &[], Some(skip));
                return;
            }
        }
    }
    scene.state.burst = Some(Burst { left: steps, weight: 1.0 });
    proceed(scene);
}

/// Takes a single-step trap.
pub fn on_step(mut scene: Scene<'_>) {
    scene.state.slot.count(Counter::Steps, 1);
    if let Some(burst) = &mut scene.state.burst {
        burst.left = burst.left.saturating_sub(1);
    }
    proceed(&mut scene);
}

/// Samples the instruction where the burst has arrived, or goes one step on.
#[inline(never)]
fn proceed(scene: &mut Scene<'_>) {
    let Some(Burst { left, weight }) = scene.state.burst else { return scene.context.end_steps() };
    scene.weight = weight;
    let ip = scene.context.ip();
    let memory = memory(&scene.context, scene.modules, &scene.state.stack);
    if left > 0 && may_step(ip, &memory) && !blocks_trap(scene) && !scene.context.steps_itself() {
        scene.context.begin_steps();
        return;
    }
    scene.state.burst = None;
    scene.context.end_steps();
    if left > 0 {
        interrupted(scene, Population::Step, ip, &[], Some(Skip::Unsteppable));
        return;
    }
    let registers = scene.context.registers(scene.fs_base);
    let operands = scene.state.decoder.operands_before(&registers, &memory);
    interrupted(scene, Population::Step, ip, operands.accesses(), operands.skip());
}

/// A trap while SIGTRAP is blocked would kill the process.
fn blocks_trap(scene: &Scene<'_>) -> bool {
    scene.context.mask() & carom_base_sys::signal::bit(libc::SIGTRAP) != 0
}

/// May the instruction at `ip` be single-stepped?
///
/// Not where the step would show (`pushf` puts the trap flag on the program's stack), be lost (`popf`, `iret`,
/// `mov ss`, transactions), or where the thread enters the kernel, which may block signals.
fn may_step(ip: u64, memory: &impl Memory) -> bool {
    let mut bytes = [0; MAX_INSTRUCTION_BYTES];
    let length = memory.read(ip, &mut bytes);
    let instruction =
        Decoder::with_ip(64, &bytes[..length.min(bytes.len())], ip, DecoderOptions::NONE).decode();
    let loads_ss = instruction.op0_kind() == OpKind::Register && instruction.op0_register() == Register::SS;
    let plain = match instruction.flow_control() {
        FlowControl::Interrupt | FlowControl::XbeginXabortXend | FlowControl::Exception => false,
        FlowControl::Call => !matches!(instruction.mnemonic(), Mnemonic::Syscall | Mnemonic::Sysenter),
        FlowControl::Return => {
            !matches!(instruction.mnemonic(), Mnemonic::Iretq | Mnemonic::Iretd | Mnemonic::Iret)
        }
        _ => true,
    };
    let flags = matches!(
        instruction.mnemonic(),
        Mnemonic::Pushfq
            | Mnemonic::Pushf
            | Mnemonic::Popfq
            | Mnemonic::Popf
            | Mnemonic::Syscall
            | Mnemonic::INVALID
    );
    plain && !flags && !loads_ss
}
