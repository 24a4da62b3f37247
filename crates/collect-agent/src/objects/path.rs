//! The call path of an allocation, found by the unwinder, with the marks by which it is recognised without it.

use std::ops::Range;

use carom_base::StackId;
use carom_base_wire::{MAX_STACK_FRAMES, Stack};
use framehop::{FrameAddress, Unwinder as _, x86_64::UnwindRegsX86_64};

use super::caller::{Caller, Mark, Place};
use crate::{context::OwnMemory, modules::Modules, stack::hash, unwind::Cache};

/// Bytes of a return address.
const WORD: u64 = 8;

/// Marks of a frame at most: its frame pointer and its return address.
const MARKS: usize = 2 * MAX_STACK_FRAMES;

/// One thread's unwinder for allocations, with the path that it has found last.
///
/// Where a function's frame has a fixed layout, its return address lies at a fixed distance from that of the function
/// which it has called. Where it has not, a frame pointer tells where it lies. So if the innermost return address, the
/// frame pointers and all further return addresses are those of a known path, at their places, this is that path: each
/// place lies in a frame that the marks before it have proved to be there.
pub struct Paths {
    cache: Cache,
    frames: [u64; MAX_STACK_FRAMES],
    /// Where the functions begin, as far as is known.
    functions: [Option<u64>; MAX_STACK_FRAMES],
    depth: usize,
    /// How often a function was met again.
    recursions: usize,
    marks: [Mark; MARKS],
    marked: usize,
    end: End,
}

/// What of a path is told apart from others.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// So many frames at most.
    pub frames: usize,
    /// Frames until functions were met again more often than this.
    pub recursions: usize,
}

/// Where a path that was found ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// There is no further frame.
    Outermost,
    /// There is, but it cannot be found, or not be recognised.
    Lost,
    /// It goes on, but no further frames were asked for.
    Cut,
}

impl Paths {
    /// Allocates the caches. Not for handlers.
    pub fn new() -> Self {
        let nothing = Mark { place: Place::FRAME_POINTER, value: 0 };
        Self {
            cache: Cache::new_in(),
            frames: [0; MAX_STACK_FRAMES],
            functions: [None; MAX_STACK_FRAMES],
            depth: 0,
            recursions: 0,
            marks: [nothing; MARKS],
            marked: 0,
            end: End::Lost,
        }
    }

    /// The path itself.
    pub fn stack(&self) -> Stack {
        let mut frames = self.frames;
        // The first frame is the call itself, so that it is looked up like any instruction; the others stay
        // return addresses.
        frames[0] = frames[0].wrapping_sub(1);
        let id = StackId(hash(&frames[..self.depth]));
        Stack { id, frames, depth: self.depth, truncated: self.end != End::Outermost }
    }

    /// Its marks behind the innermost return address.
    pub fn marks(&self) -> &[Mark] {
        &self.marks[..self.marked]
    }

    /// How it ends.
    pub fn end(&self) -> End {
        self.end
    }

    /// Whether a function was called again before it has returned.
    pub fn recurses(&self) -> bool {
        self.recursions > 0
    }

    /// Finds the path of an allocation by `caller`, as far as it can be recognised, and within `limits`.
    pub fn find(
        &mut self,
        caller: &Caller,
        limits: Limits,
        modules: Option<&Modules>,
        memory: &OwnMemory<'_>,
    ) {
        (self.frames[0], self.depth, self.marked, self.end) = (caller.ip, 1, 0, End::Cut);
        (self.functions[0], self.recursions) = (function(caller.ip, modules), 0);
        let mut registers = UnwindRegsX86_64::new(caller.ip, caller.sp, caller.fp);
        let mut saved = Some(Place::FRAME_POINTER);
        while self.depth < limits.frames.min(MAX_STACK_FRAMES) && self.recursions <= limits.recursions {
            if let Err(end) = self.step(caller, &mut registers, &mut saved, modules, memory) {
                self.end = end;
                return;
            }
        }
    }

    /// Goes one frame outwards. `saved`: where the present frame's RBP is found, if that is known.
    fn step(
        &mut self,
        caller: &Caller,
        registers: &mut UnwindRegsX86_64,
        saved: &mut Option<Place>,
        modules: Option<&Modules>,
        memory: &OwnMemory<'_>,
    ) -> Result<(), End> {
        let modules = modules.ok_or(End::Lost)?;
        let address = FrameAddress::from_return_address(self.frames[self.depth - 1]).ok_or(End::Lost)?;
        let (sp, fp) = (registers.sp(), registers.bp());
        let mut read = |address| memory.word(address).ok_or(());
        let next = modules.unwinder().unwind_frame(address, registers, &mut self.cache, &mut read);
        let next = next.map_err(|_| End::Lost)?.ok_or(End::Outermost)?;
        // A call leaves the return address just below the caller's stack; a signal frame does not.
        let place = registers.sp().wrapping_sub(WORD);
        let above = |address: u64| Place::above(address.wrapping_sub(caller.sp));
        let at = above(place).filter(|_| read(place) == Ok(next) && place >= sp).ok_or(End::Lost)?;
        let mut marked = self.marked;
        let has_frame_pointer = fp == place.wrapping_sub(WORD);
        if has_frame_pointer {
            let place = saved.ok_or(End::Lost)?;
            self.marks[marked] = Mark { place, value: fp.wrapping_sub(caller.sp) };
            marked += 1;
        }
        self.marks[marked] = Mark { place: at, value: next };
        if registers.bp() != fp {
            let found =
                if has_frame_pointer { Some(fp) } else { saved_at(sp..place, registers.bp(), memory) };
            *saved = found.and_then(above).map(Place::saved);
        }
        self.marked = marked + 1;
        self.frames[self.depth] = next;
        let function = function(next, Some(modules));
        self.functions[self.depth] = function;
        let met = function.is_some() && self.functions[..self.depth].contains(&function);
        self.recursions += usize::from(met);
        self.depth += 1;
        Ok(())
    }
}

/// Where the function begins to which a call returns at `ip`.
fn function(ip: u64, modules: Option<&Modules>) -> Option<u64> {
    modules?.function_start(ip.wrapping_sub(1))
}

/// Where in a frame the caller's RBP was saved, if there is only one such word.
fn saved_at(frame: Range<u64>, fp: u64, memory: &OwnMemory<'_>) -> Option<u64> {
    /// Bytes of a frame that are looked through, from its end: registers are saved there.
    const MOST: u64 = 64;
    let low = frame.start.max(frame.end.saturating_sub(MOST));
    let mut words = (low..frame.end).step_by(WORD as usize).filter(|&at| memory.word(at) == Some(fp));
    words.next().filter(|_| words.next().is_none())
}
