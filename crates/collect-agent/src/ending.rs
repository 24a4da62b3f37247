//! The last records of a process.

use crate::{detect, mappings, session::Session, shared, threads};

/// Writes everything that is left, in the calling thread: the process ends, or carom steps aside. Signal-safe, but for
/// errno.
pub fn end(session: &Session) {
    threads::close();
    let no_records = session.has_no_records();
    // Only a report about data needs mappings.
    if detect::each().any(|detector| detector.has_met_data(no_records)) {
        mappings::announce(session);
        shared::announce(session);
    }
    session.end();
}
