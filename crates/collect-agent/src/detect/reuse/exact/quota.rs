//! The number of accesses that a session keeps: the agent that fills it ends the recording, in all processes.

use std::sync::atomic::Ordering::Relaxed;

use carom_base::{Keep, Reduction};

use crate::session::{self, Session};

/// Counts accesses that are about to be kept. False where there are enough already: they are dropped then, so that traces end
/// without gaps.
pub fn take(accesses: usize) -> bool {
    session::current().is_none_or(|session| count(session, accesses))
}

/// Counts accesses that a search for long loads has looked at: what takes time there is not what it keeps.
pub fn looked_at(accesses: usize, reduction: Option<Reduction>) {
    if let (Some(Reduction { keep: Keep::Loads, .. }), Some(session)) = (reduction, session::current()) {
        count(session, accesses);
    }
}

fn count(session: &Session, accesses: usize) -> bool {
    let Some(most) = session.settings.most_kept else { return true };
    let control = session.control();
    // ATOMICS: numbers that say nothing of other memory; threads that notice the end late drop what they have.
    let before = control.kept.fetch_add(accesses as u64, Relaxed);
    if before.saturating_add(accesses as u64) >= most {
        control.stop.store(1, Relaxed);
    }
    before < most
}
