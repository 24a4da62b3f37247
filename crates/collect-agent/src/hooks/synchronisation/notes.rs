//! What the entries note.
//!
//! These run natively, called from the cache, on the program's stack: so they take the handler stack, and leave errno as it was.

use carom_base_stream::Act;
use carom_base_sys::signal;
use carom_collect_translate as engine;

use crate::{registry, thread::State, translated};

/// What an entry notes, in one word: an [`Act`], and where its object is found and when it is noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct What(u32);

/// The lock of a robust mutex is had, although its owner has died.
const OWNER_DIED: i32 = libc::EOWNERDEAD;

impl What {
    const IF_ZERO: u32 = 1 << 8;
    const IF_NOT_ZERO: u32 = 2 << 8;
    const OF_TEAM: u32 = 4 << 8;
    const UNNAMED: u32 = 8 << 8;
    const ATOMIC: u32 = 16 << 8;
    const THIRD: u32 = 32 << 8;
    const IF_ONE: u32 = 64 << 8;

    /// With the object in the first argument; once the function has returned, if that is when, whatever it returns.
    pub const fn always(act: Act) -> u32 {
        act as u32
    }

    /// Where the function returns 0: success.
    pub const fn if_zero(act: Act) -> u32 {
        act as u32 | Self::IF_ZERO
    }

    /// Where it returns anything else.
    pub const fn if_not_zero(act: Act) -> u32 {
        act as u32 | Self::IF_NOT_ZERO
    }

    /// With the parallel region of the thread as the object.
    pub const fn of_team(act: Act) -> u32 {
        act as u32 | Self::OF_TEAM
    }

    /// With the critical section that has no name.
    pub const fn unnamed(act: Act) -> u32 {
        act as u32 | Self::UNNAMED
    }

    /// With the lock of atomic updates that no instruction can make.
    pub const fn atomic(act: Act) -> u32 {
        act as u32 | Self::ATOMIC
    }

    /// With the object in the third argument.
    pub const fn third(act: Act) -> u32 {
        act as u32 | Self::THIRD
    }

    /// Where the function returns 1.
    pub const fn if_one(act: Act) -> u32 {
        act as u32 | Self::IF_ONE
    }

    const fn has(self, flag: u32) -> bool {
        self.0 & flag != 0
    }

    fn act(self) -> Option<Act> {
        Act::from_u8(self.0 as u8)
    }
}

/// What stands for the critical section without a name.
static UNNAMED: u8 = 0;

/// What stands for the lock of atomic updates: a thread may have it while another one has the section's.
static ATOMIC: u8 = 1;

/// Before a function with these arguments: notes `what`.
pub extern "C" fn before(first: u64, what: u32, third: u64) {
    let what = What(what);
    if what.has(What::THIRD) {
        change_section(0);
    }
    note_all([about(first, third, what)]);
}

/// After a function that has returned `result`.
pub extern "C" fn after(first: u64, what: u32, result: i32, third: u64) {
    let what = What(what);
    let counts = match result {
        _ if what.has(What::IF_NOT_ZERO) => result != 0,
        _ if what.has(What::IF_ONE) => result == 1,
        _ if what.has(What::IF_ZERO) => result == 0 || result == OWNER_DIED,
        _ => true,
    };
    // One function that enters a section may be made of the other one: then the section has been entered already.
    if counts && !(what.has(What::THIRD) && change_section(third) == third) {
        note_all([about(first, third, what)]);
    }
}

/// Before the thread waits for a condition: it gives the lock back.
pub extern "C" fn before_wait(condition: u64, lock: u64) {
    note_all([Some((Act::Wait, condition)), Some((Act::Unlock, lock))]);
}

/// After it has: it has the lock again, whether it was signalled or has waited for too long.
pub extern "C" fn after_wait(condition: u64, lock: u64, result: i32) {
    let has_lock = matches!(result, 0 | libc::ETIMEDOUT | OWNER_DIED);
    let woken = (result == 0).then_some((Act::Wake, condition));
    note_all([woken, has_lock.then_some((Act::Lock, lock))]);
}

/// The thread begins its part of a region. Returns the region that this lies in.
pub extern "C" fn enter(region: u64) -> u64 {
    note_all([Some((Act::Enter, region))]);
    change_region(region)
}

/// It has done its part, and goes on in the outer one.
pub extern "C" fn leave(region: u64, outer: u64) {
    note_all([Some((Act::Leave, region))]);
    change_region(outer);
}

/// Notes one thing, where the calling thread streams.
pub fn tell(act: Act, object: u64) {
    note_all([Some((act, object))]);
}

fn about(first: u64, third: u64, what: What) -> Option<(Act, u64)> {
    let object = if what.has(What::UNNAMED) {
        (&raw const UNNAMED).addr() as u64
    } else if what.has(What::ATOMIC) {
        (&raw const ATOMIC).addr() as u64
    } else if what.has(What::THIRD) {
        third
    } else if what.has(What::OF_TEAM) {
        registry::current()?.visit(|state| state.of.region)?
    } else {
        first
    };
    what.act().map(|act| (act, object))
}

fn change_region(region: u64) -> u64 {
    change(|state| std::mem::replace(&mut state.of.region, region))
}

fn change_section(section: u64) -> u64 {
    change(|state| std::mem::replace(&mut state.of.section, section))
}

fn change(how: impl FnOnce(&mut State) -> u64) -> u64 {
    registry::current().and_then(|thread| thread.visit(how)).unwrap_or(0)
}

fn note_all<const N: usize>(notes: [Option<(Act, u64)>; N]) {
    if !translated::is_on() {
        return;
    }
    signal::with_errno_kept(|| {
        translated::undisturbed(|| {
            for (act, object) in notes.into_iter().flatten() {
                engine::note([act as u64, object]);
            }
        });
    });
}
