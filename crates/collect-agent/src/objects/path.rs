//! The call path of an allocation, taken in the hook.

use carom_base::StackId;
use carom_base_wire::{MAX_STACK_FRAMES, Stack};
use framehop::{FrameAddress, Unwinder as _, x86_64::UnwindRegsX86_64};

use super::site::{self, Site};
use crate::{context::OwnMemory, modules::Modules, stack::hash, unwind::Cache};

/// Bytes of a return address.
const WORD: u64 = 8;

/// Where an allocator was called: the registers as its caller will have them back.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    /// The return address, in the calling function.
    pub ip: u64,
    /// The stack pointer once the call has returned.
    pub sp: u64,
    /// RBP.
    pub fp: u64,
}

/// One thread's unwinder for allocations.
///
/// Successive allocations share most of their path. So each return address is kept with the place on the stack
/// where it lay; once a walk comes to a frame that the last walk met at the same place, and all return addresses
/// beyond still lie where they lay, the rest of the path is the rest of the last one.
pub struct Paths {
    cache: Cache,
    last: Walk,
    /// The frames of the present walk that are new.
    fresh: [Frame; MAX_STACK_FRAMES],
    /// That of the last walk.
    site: Option<&'static Site>,
}

/// A return address.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Frame {
    address: u64,
    /// Where it was read; 0 where that is not known.
    place: u64,
}

struct Walk {
    /// Innermost first.
    frames: [Frame; MAX_STACK_FRAMES],
    depth: usize,
    /// True where the path goes on but could not be followed.
    truncated: bool,
}

/// Where a walk came to an end.
enum End {
    /// There is no further frame.
    Outermost,
    /// There is, but it cannot be found, or there is no room for it.
    Lost,
    /// The rest is that of the last walk, from this index on.
    Met(usize),
}

impl Walk {
    const NONE: Self =
        Self { frames: [Frame { address: 0, place: 0 }; MAX_STACK_FRAMES], depth: 0, truncated: true };

    /// Where this walk met `frame`, at or beyond index `from`, if all beyond is as it was. A walk that was cut
    /// short is only good from the same depth on, or the same path would be cut at different frames.
    fn met(&self, frame: Frame, depth: usize, from: &mut usize, memory: &OwnMemory<'_>) -> Option<usize> {
        // Places ascend from the innermost frame on.
        while *from < self.depth && self.frames[*from].place < frame.place {
            *from += 1;
        }
        let index = *from;
        let same = index < self.depth && self.frames[index] == frame && (!self.truncated || index == depth);
        let in_place =
            |beyond: &Frame| beyond.place != 0 && memory.word(beyond.place) == Some(beyond.address);
        (same && self.frames[index + 1..self.depth].iter().all(in_place)).then_some(index)
    }

    /// Replaces what this walk has before index `rest` by `fresh`.
    fn replace(&mut self, fresh: &[Frame], rest: usize) {
        let room = MAX_STACK_FRAMES - fresh.len();
        let kept = self.depth.saturating_sub(rest);
        self.truncated |= kept > room;
        let kept = kept.min(room);
        self.frames.copy_within(rest..rest + kept, fresh.len());
        self.frames[..fresh.len()].copy_from_slice(fresh);
        self.depth = fresh.len() + kept;
    }

    fn stack(&self) -> Stack {
        let mut frames = self.frames.map(|frame| frame.address);
        // The first frame is the call itself, so that it is looked up like any instruction; the others stay
        // return addresses.
        frames[0] = frames[0].wrapping_sub(1);
        let id = StackId(hash(&frames[..self.depth]));
        Stack { id, frames, depth: self.depth, truncated: self.truncated }
    }
}

impl Paths {
    /// Allocates the caches. Not for handlers.
    pub fn new() -> Self {
        Self { cache: Cache::new_in(), last: Walk::NONE, fresh: Walk::NONE.frames, site: None }
    }

    /// The site of an allocation by `caller`. Not for handlers: a new site is allocated.
    pub fn site(
        &mut self,
        caller: Caller,
        modules: Option<&Modules>,
        memory: &OwnMemory<'_>,
    ) -> Option<&'static Site> {
        let (depth, end) = self.walk(caller, modules, memory);
        let fresh = &self.fresh[..depth];
        match end {
            // The whole path is the last one.
            End::Met(0) if depth == 0 => return self.site,
            End::Met(rest) => self.last.replace(fresh, rest),
            End::Outermost | End::Lost => {
                self.last.replace(fresh, self.last.depth);
                self.last.truncated = matches!(end, End::Lost);
            }
        }
        self.site = site::intern(&self.last.stack());
        self.site
    }

    /// Fills `fresh` from the innermost frame on, and says how many frames it took.
    fn walk(&mut self, caller: Caller, modules: Option<&Modules>, memory: &OwnMemory<'_>) -> (usize, End) {
        let mut registers = UnwindRegsX86_64::new(caller.ip, caller.sp, caller.fp);
        let mut read = |address| memory.word(address).ok_or(());
        let mut frame = Frame { address: caller.ip, place: caller.sp.wrapping_sub(WORD) };
        let mut from = 0;
        for (depth, slot) in self.fresh.iter_mut().enumerate() {
            if let Some(index) = self.last.met(frame, depth, &mut from, memory) {
                return (depth, End::Met(index));
            }
            *slot = frame;
            let (Some(modules), Some(address)) = (modules, FrameAddress::from_return_address(frame.address))
            else {
                return (depth + 1, End::Lost);
            };
            match modules.unwinder().unwind_frame(address, &mut registers, &mut self.cache, &mut read) {
                Ok(Some(next)) => {
                    // A call leaves the return address just below the caller's stack; a signal frame does not.
                    let below = registers.sp().wrapping_sub(WORD);
                    frame = Frame { address: next, place: if read(below) == Ok(next) { below } else { 0 } };
                }
                Ok(None) => return (depth + 1, End::Outermost),
                Err(_) => return (depth + 1, End::Lost),
            }
        }
        (MAX_STACK_FRAMES, End::Lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks over a stack made of an array: its words are return addresses at known places.
    struct Stage {
        words: Vec<u64>,
        walk: Walk,
    }

    impl Stage {
        /// A path with these return addresses, innermost first, each followed by a word of locals.
        fn new(addresses: &[u64], truncated: bool) -> Self {
            let words: Vec<u64> = addresses.iter().flat_map(|&address| [address, 0]).collect();
            let mut stage = Self { words, walk: Walk::NONE };
            let frames: Vec<Frame> = (0..addresses.len()).map(|index| stage.frame(index)).collect();
            stage.walk.replace(&frames, 0);
            stage.walk.truncated = truncated;
            stage
        }

        fn place(&self, index: usize) -> u64 {
            (&raw const self.words[index * 2]).addr() as u64
        }

        fn frame(&self, index: usize) -> Frame {
            Frame { address: self.words[index * 2], place: self.place(index) }
        }

        fn met(&self, frame: Frame, depth: usize) -> Option<usize> {
            let range = self.words.as_ptr_range();
            let memory = OwnMemory::new(None, range.start.addr() as u64..range.end.addr() as u64);
            self.walk.met(frame, depth, &mut 0, &memory)
        }
    }

    fn addresses(walk: &Walk) -> Vec<u64> {
        walk.frames[..walk.depth].iter().map(|frame| frame.address).collect()
    }

    #[test]
    fn a_frame_is_met_while_all_beyond_it_is_as_it_was() {
        let mut stage = Stage::new(&[10, 20, 30, 40], false);
        let second = stage.frame(1);
        assert_eq!(stage.met(stage.frame(0), 0), Some(0));
        assert_eq!(stage.met(second, 0), Some(1), "the inner frame has returned");
        assert_eq!(stage.met(second, 3), Some(1), "three more frames are below it");
        assert_eq!(stage.met(Frame { address: 21, ..second }, 0), None, "another call of the same frame");
        assert_eq!(stage.met(Frame { place: second.place + 8, ..second }, 0), None, "another frame");
        // The inner frame was left and another function called from the third one.
        stage.words[2] = 0;
        assert_eq!(stage.met(stage.frame(2), 1), Some(2));
        // The outermost frame returned to is another: nothing inside it may be taken over.
        stage.words[6] = 41;
        assert_eq!(stage.met(Frame { address: 30, place: stage.place(2) }, 2), None);
    }

    #[test]
    fn a_path_that_was_cut_is_met_only_at_the_same_depth() {
        let stage = Stage::new(&[10, 20, 30], true);
        assert_eq!(stage.met(stage.frame(1), 1), Some(1));
        assert_eq!(stage.met(stage.frame(1), 0), None);
        assert_eq!(stage.met(stage.frame(1), 2), None);
    }

    #[test]
    fn an_unknown_place_is_never_taken_over() {
        let mut stage = Stage::new(&[10, 20, 30], false);
        stage.walk.frames[2].place = 0;
        assert_eq!(stage.met(stage.frame(0), 0), None);
    }

    #[test]
    fn new_frames_take_the_place_of_old_ones() {
        let frame = |address| Frame { address, place: address };
        let mut walk = Stage::new(&[10, 20, 30, 40], false).walk;
        walk.replace(&[frame(1), frame(2), frame(3)], 2);
        assert_eq!(addresses(&walk), [1, 2, 3, 30, 40]);
        walk.replace(&[], 3);
        assert_eq!(addresses(&walk), [30, 40]);
        walk.replace(&[frame(7)], walk.depth);
        assert_eq!(addresses(&walk), [7]);
        assert!(!walk.truncated);
        // 63 and 2 are one more than there is room for.
        let many = [frame(5); MAX_STACK_FRAMES - 1];
        walk.replace(&[frame(8), frame(9)], 1);
        walk.replace(&many, 0);
        assert_eq!((walk.depth, walk.truncated, walk.frames[63].address), (MAX_STACK_FRAMES, true, 8));
    }
}
