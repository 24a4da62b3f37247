//! rt_sigprocmask: the mask that the program sees and sets is the one that takes effect when the dispatcher ends. So
//! the handlers of signals that become unblocked run in the cache, after the call.

use super::{
    actions,
    kernel::SET_BYTES,
    own::{OwnSignals, own},
    set::FIXED,
};
use crate::{
    lane::exit::Exit,
    memory::{Errno, program},
    threads::{
        calls::{arguments, finish},
        thread::Thread,
    },
};

/// Makes the call.
pub fn call(thread: &mut Thread, exit: Exit) {
    let [how, new, old, set_bytes, ..] = arguments(thread);
    let result =
        if set_bytes == SET_BYTES { change(thread, how as i32, new, old) } else { Err(libc::EINVAL) };
    finish(thread, exit, result.map(|()| 0));
}

fn change(thread: &mut Thread, how: i32, new: u64, old: u64) -> Result<(), Errno> {
    let before = program_mask(thread);
    if new != 0 {
        let wish = program::read::<u64>(new).ok_or(libc::EFAULT)?;
        set_program_mask(thread, changed(how, wish, before).ok_or(libc::EINVAL)?);
    }
    if old == 0 || program::write(old, before) { Ok(()) } else { Err(libc::EFAULT) }
}

/// The mask `before` after this change; `None` where the change is invalid.
fn changed(how: i32, wish: u64, before: u64) -> Option<u64> {
    let wish = wish & !FIXED;
    match how {
        libc::SIG_BLOCK => Some(before | wish),
        libc::SIG_UNBLOCK => Some(before & !wish),
        libc::SIG_SETMASK => Some(wish),
        _ => None,
    }
}

/// The signals that the program believes to be blocked.
fn program_mask(thread: &mut Thread) -> u64 {
    thread.slots().mask | own().map_or(0, OwnSignals::hidden)
}

/// Sets the signals that the program blocks.
pub fn set_program_mask(thread: &mut Thread, mask: u64) {
    thread.slots().mask = keep_hidden(mask);
}

/// The part of the program's mask that the kernel gets; the rest is remembered.
pub fn keep_hidden(mask: u64) -> u64 {
    let Some(own) = own() else { return mask };
    let reserved = actions::reserved();
    own.set_hidden(mask & reserved);
    mask & !reserved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_changes_as_the_kernel_changes_it() {
        assert_eq!(changed(libc::SIG_BLOCK, 0b110, 0b11), Some(0b111));
        assert_eq!(changed(libc::SIG_UNBLOCK, 0b110, 0b11), Some(0b1));
        assert_eq!(changed(libc::SIG_SETMASK, u64::MAX, 0b11), Some(!FIXED));
        assert_eq!(changed(3, 0, 0), None);
    }
}
