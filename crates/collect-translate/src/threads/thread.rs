//! A thread that runs in the cache.

use std::{
    arch::asm,
    ops::{Deref, DerefMut},
    ptr::NonNull,
    sync::Arc,
};

use carom_base::{Access, AccessKind};
use carom_base_insn::{Known, Registers};

use super::{
    books::{Books, NativeCall},
    calls::{Obstacle, Wait},
    pending::Pending,
    spent::Purpose,
};
use crate::{
    blocks::{code::Code, exact, passages},
    decode::restartable,
    lane::{records, slots::Slots},
    memory::Lanes,
    probes::{coverage::Clock, strata::DrawnAs, units::Comparison},
};

/// An access to report to the observer.
#[derive(Clone, Copy, Debug)]
pub struct Noticed {
    pub access: Access,
    /// The kind as which it was sampled; `None`: it is to a watched line.
    pub drawn_as: Option<DrawnAs>,
    /// The answer of [`Observer::weighs`](crate::Observer::weighs) when it was drawn, if it was asked then.
    pub weight: Option<f32>,
    /// The number of accesses that are counted and still to come, including this one.
    pub ahead: i64,
    /// What is to be added to the stack pointer, where it changes before the access.
    pub sp: u64,
}

/// Words of a context, as the kernel reads it.
pub const CONTEXT_WORDS: usize = 38;

/// The place of the vector registers in a lane: behind the slots.
const VECTORS_OFFSET: u64 = 4 << 10;

/// The part of a thread's state that only the thread itself uses.
pub struct Thread {
    /// The part that others use, too.
    pub books: NonNull<Books>,
    random: u64,
    /// Accesses to report to the observer when the dispatcher is done.
    pub noticed: Vec<Noticed>,
    /// Samples of blocks that have begun.
    pub pending: Pending,
    /// What the exit that is being handled observes.
    pub purpose: Purpose,
    /// Words of the last record in its buffer, if that is explicit; 0 otherwise.
    pub explicit: usize,
    /// A repeated comparison whose accesses are all observed.
    pub comparison: Option<Comparison>,
    /// It has timed loads in an execution that was drawn.
    pub has_timed: bool,
    /// Why the process steps aside before the thread's system call, if it does.
    pub obstacle: Option<Obstacle>,
    /// Signals that are blocked for the program that the thread is about to execute (`signal`).
    pub shown: u64,
    /// The last of its calls that wait with another mask.
    pub wait: Option<Wait>,
    /// The frame of the signal handler that returned last, in the form that the kernel is to read.
    pub left: [u64; CONTEXT_WORDS],
    /// Its area for restartable sequences; 0 where the C library has not registered one.
    pub restarts: u64,
}

impl Deref for Thread {
    type Target = Books;

    fn deref(&self) -> &Books {
        // SAFETY: they are there as long as the thread is. What others change is used under the engine's lock alone.
        unsafe { self.books.as_ref() }
    }
}

impl DerefMut for Thread {
    fn deref_mut(&mut self) -> &mut Books {
        // SAFETY: as above, and the borrow ends with each use.
        unsafe { self.books.as_mut() }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        // SAFETY: made from a box; the engine has taken the thread off its list.
        drop(unsafe { Box::from_raw(self.books.as_ptr()) });
    }
}

impl Thread {
    /// The calling thread's state, in a lane of its own. Sets its GS base to the lane. `dispatcher`, `deliverer`: the
    /// targets of exits, and of the way out of the dispatcher if a signal was deferred.
    pub fn attach(lanes: &mut Lanes, name: u64, [dispatcher, deliverer]: [u64; 2]) -> Option<Box<Self>> {
        let lane = lanes.take().ok()?;
        let base = lanes.base(lane);
        let slots = NonNull::new(std::ptr::with_exposed_provenance_mut::<Slots>(base as usize))?;
        let books = Box::into_raw(Box::new(Books::begin(lane, name, slots)));
        let mut thread = Box::new(Self {
            books: NonNull::new(books)?,
            random: name,
            noticed: Vec::new(),
            pending: Pending::default(),
            purpose: Purpose::default(),
            explicit: 0,
            comparison: None,
            has_timed: false,
            obstacle: None,
            shown: 0,
            wait: None,
            left: [0; CONTEXT_WORDS],
            restarts: restartable::area(),
        });
        let this = std::ptr::from_mut(&mut *thread).expose_provenance() as u64;
        let slots = thread.slots();
        slots.this = base;
        slots.dispatch = dispatcher;
        slots.deliver = deliverer;
        slots.stack = lanes.stack_top(lane);
        slots.vectors = base + VECTORS_OFFSET;
        slots.thread = this;
        slots.position = records::EMPTY;
        slots.stamp_at = records::NO_STAMP_YET;
        slots.look_up_exactly = exact::look_up_exactly as *const () as u64;
        // SAFETY: the kernel allows it (checked at the start), and the program does not use GS.
        unsafe { asm!("wrgsbase {}", in(reg) base, options(nostack, preserves_flags)) };
        Some(thread)
    }

    /// Detaches the calling thread: its GS base is 0 again, and native functions return to where they were called.
    pub fn detach(&mut self) {
        self.give_back();
        // SAFETY: as above.
        unsafe { asm!("wrgsbase {}", in(reg) 0u64, options(nostack, preserves_flags)) };
    }

    /// The calling thread is a copy, in the child of a fork, and begins to count.
    pub fn begin_in_child(&mut self, codes: &[Code]) {
        self.clock = Clock::start();
        // The countdowns continue where they are, but with other draws than the parent's.
        self.random ^= u64::from(self.clock.tid()) << 32;
        let parents = self.totals(codes);
        self.extra.subtract(&parents.counts);
        // Its parent hands over the parent's stream.
        self.turn = Arc::default();
        self.slots().position = records::EMPTY;
        self.make_stamp_due();
    }

    /// The words behind GS.
    pub fn slots(&mut self) -> &mut Slots {
        // SAFETY: the lane is this thread's until it detaches, and only its own dispatcher asks.
        unsafe { self.slots.as_mut() }
    }

    /// A random number below `n`, uniform except for 2^-32. splitmix64 (Steele, Lea, Flood 2014).
    pub fn random(&mut self, n: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.random;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((u128::from(mixed ^ mixed >> 31) * u128::from(n)) >> 64) as u64
    }

    /// The program's registers in front of the instruction at `pc`, with the vector registers if they were saved.
    pub fn registers(&mut self, pc: u64) -> Registers<'_> {
        let fs_base: u64;
        // SAFETY: reads a register.
        unsafe { asm!("rdfsbase {}", out(reg) fs_base, options(nostack, nomem, preserves_flags)) };
        let &mut Slots { regs, flags, .. } = self.slots();
        Registers {
            gpr: regs,
            rip: pc,
            rflags: flags,
            fs_base,
            gs_base: Some(0),
            xsave: self.vectors(),
            known: Known::ALL,
        }
    }

    /// Replaces the return address at the top of the program's stack, so that the native function that is about to
    /// run returns to the cache.
    pub fn expect_return(&mut self) {
        let at = self.slots().regs[crate::lane::registers::number::RSP];
        let place = std::ptr::with_exposed_provenance_mut::<u64>(at as usize);
        // SAFETY: at the entry of a function its return address is there.
        let back = unsafe { place.read() };
        // Calls below were left by a jump out of a native function.
        self.native_calls.retain(|call| call.at > at);
        self.native_calls.push(NativeCall { at, back });
        // SAFETY: as above.
        unsafe { place.write(passages::native_return as *const () as u64) };
    }

    /// Where the native function that has just returned was called from.
    pub fn returned(&mut self) -> Option<u64> {
        // The return took the address off the stack.
        let at = self.slots().regs[crate::lane::registers::number::RSP].wrapping_sub(8);
        while let Some(call) = self.native_calls.pop() {
            if call.at == at {
                return Some(call.back);
            }
        }
        None
    }

    /// Takes back one execution of a block that was counted and has not begun, without moving any samples. The branch
    /// in front of it has been executed.
    pub fn uncount(&mut self, code: &Code, id: u64) {
        let Some(counter) = code.counters().get(id as usize) else { return };
        // In a superblock, as if the branch in front of it had been taken.
        code.count(self.lane, id, if counter.rest_of.is_some() { -1 } else { 1 });
        self.fall(counter.pc, counter.falls(1));
    }

    /// The thread leaves a superblock so often within the block of the counter `id`: those behind it were counted with it, and are not
    /// executed.
    pub fn leave_superblock(&mut self, code: &Code, id: u64, times: i64) {
        if let Some((follower, _)) = code.follower_of(id) {
            code.count(self.lane, follower, -times);
        }
    }

    /// Notes one access of an instruction that makes these, to report it to the observer. `ahead`: loads and stores
    /// that are counted and still to come, including all of these. `drawn`: how it was sampled, with the answer of
    /// [`Observer::weighs`](crate::Observer::weighs) where that was asked.
    pub fn notice(
        &mut self,
        all: &[Access],
        index: usize,
        drawn: Option<(DrawnAs, Option<f32>)>,
        ahead: i64,
    ) {
        let Some(access) = all.get(index) else { return };
        // What is stored was loaded before: `push [m]`, `call [m]`.
        let order = |(index, access): (usize, &Access)| (access.kind == AccessKind::Store, index);
        let earlier = |other: &(usize, &Access)| order(*other) < order((index, access));
        let done: i64 =
            all.iter().enumerate().filter(earlier).map(|(_, access)| loads_and_stores(access)).sum();
        let (drawn_as, weight) = drawn.map_or((None, None), |(drawn_as, weight)| (Some(drawn_as), weight));
        self.noticed.push(Noticed { access: *access, drawn_as, weight, ahead: ahead - done, sp: 0 });
    }
}

/// How many loads and stores an access is.
pub fn loads_and_stores(access: &Access) -> i64 {
    i64::from(access.kind.reads()) + i64::from(access.kind.writes())
}
