//! Call paths, taken in the handler without allocating.

use carom_base::StackId;
use carom_base_wire::{Counter, MAX_STACK_FRAMES, Record, Stack};
use framehop::{FrameAddress, Unwinder as _, x86_64::UnwindRegsX86_64};

use crate::{
    context::Context, context::OwnMemory, led_on, modules::Modules, ring::Slot, translated, unwind::Caches,
};

/// Paths that a thread remembers having sent; one that fell out is sent again.
const REMEMBERED: usize = 256;

/// One thread's unwinder state.
pub struct Stacks {
    caches: Caches,
    sent: Box<[u64]>,
    /// The hash of the frames that were located last.
    located: u64,
}

/// A frame on a stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Located {
    /// An instruction of its function: behind the innermost frame a return address.
    pub ip: u64,
    /// One past its last byte: the canonical frame address, where the caller's frame begins.
    pub end: u64,
}

impl Stacks {
    /// Allocates the caches. Not for handlers.
    pub fn new() -> Self {
        Self { caches: Caches::new(), sent: vec![0; REMEMBERED].into(), located: 0 }
    }

    /// Forgets what was sent: the slot has a new reader of serial numbers.
    pub fn forget(&mut self) {
        self.sent.fill(0);
        self.located = 0;
    }

    /// Finds the frames of a function at `ip` with these registers and of its callers, innermost first, as many as there is
    /// room for, and returns their number. Not for handlers.
    pub fn locate(
        &mut self,
        ip: u64,
        mut registers: UnwindRegsX86_64,
        modules: &Modules,
        memory: &OwnMemory<'_>,
        frames: &mut [Located],
    ) -> usize {
        let mut read = |address| memory.word(address).ok_or(());
        let mut address = FrameAddress::from_instruction_pointer(ip);
        for (depth, frame) in frames.iter_mut().enumerate() {
            let cache = self.caches.of(address);
            let next = modules.unwinder().unwind_frame(address, &mut registers, cache, &mut read);
            let Ok(next) = next else { return depth };
            *frame = Located { ip: address.address(), end: registers.sp() };
            // A function that was called from translated code returns to the engine first.
            let place = registers.sp().wrapping_sub(8);
            let next = next.map(|next| translated::goes_back_to(place).unwrap_or(next));
            match next.and_then(FrameAddress::from_return_address) {
                Some(next) => address = next,
                None => return depth + 1,
            }
        }
        frames.len()
    }

    /// Whether the frames, but for the innermost, lie elsewhere than those that this was asked for last.
    pub fn are_new(&mut self, frames: &[Located]) -> bool {
        let mut words = [0; 2 * MAX_STACK_FRAMES];
        let outer = frames.iter().skip(1).flat_map(|frame| [frame.ip, frame.end]);
        let count = words.iter_mut().zip(outer).map(|(word, value)| *word = value).count();
        let located = hash(&words[..count]);
        std::mem::replace(&mut self.located, located) != located
    }

    /// The call path of an access at `ip`, found from the interrupted `context`. Where the access lies in
    /// another function than the interruption, only its own frame is known.
    pub fn take(
        &mut self,
        ip: u64,
        context: &Context<'_>,
        modules: Option<&Modules>,
        memory: &OwnMemory<'_>,
        slot: &Slot,
    ) -> StackId {
        let Some(modules) = modules else { return StackId::NONE };
        let mut stack = Stack { id: StackId::NONE, frames: [0; MAX_STACK_FRAMES], depth: 1, truncated: true };
        stack.frames[0] = ip;
        if ip == context.ip() || modules.function_start(ip) == modules.function_start(context.ip()) {
            let mut registers = UnwindRegsX86_64::new(context.ip(), context.sp(), context.fp());
            let mut read = |address| memory.word(address).ok_or(());
            let mut frame = FrameAddress::from_instruction_pointer(context.ip());
            while let Ok(next) =
                modules.unwinder().unwind_frame(frame, &mut registers, self.caches.of(frame), &mut read)
            {
                stack.truncated = next.is_some();
                let Some(next) = next.and_then(FrameAddress::from_return_address) else { break };
                frame = next;
                // What the hooks of the allocator lead on to was called by the program.
                if led_on::code().contains(&next.address()) {
                    continue;
                }
                let Some(place) = stack.frames.get_mut(stack.depth) else { break };
                *place = next.address();
                stack.depth += 1;
            }
        }
        self.send(&mut stack, slot)
    }

    /// Sends a path to the host, unless it was sent before, and returns its number.
    pub fn send(&mut self, stack: &mut Stack, slot: &Slot) -> StackId {
        stack.id = StackId(hash(&stack.frames[..stack.depth]));
        if stack.truncated {
            slot.count(Counter::TruncatedStacks, 1);
        }
        let place = stack.id.0 as usize % REMEMBERED;
        let known = self.sent.get(place) == Some(&stack.id.0);
        if !known
            && slot.push(&Record::Stack(*stack))
            && let Some(place) = self.sent.get_mut(place)
        {
            *place = stack.id.0;
        }
        stack.id
    }
}

/// FNV-1a over words (Fowler, Noll, Vo: 64-bit offset basis and prime), never 0. A collision shows one wrong
/// path; at 100,000 different paths its chance is below 1e-9.
pub fn hash(frames: &[u64]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for frame in frames {
        hash = (hash ^ frame).wrapping_mul(0x0000_0100_0000_01b3);
        hash ^= hash >> 29;
    }
    hash.max(1)
}
