//! The last that is heard of a process.

use crate::{detect, mappings, session::Session, shared, threads};

/// Writes down what is left, in the calling thread: the process ends, or is left alone. Signal-safe, but for errno.
pub fn end(session: &Session) {
    threads::close();
    let no_records = session.has_no_records();
    // The report speaks of data, and not only of how much was executed.
    if detect::each().any(|detector| detector.has_met_data(no_records)) {
        mappings::announce(session);
        shared::announce(session);
    }
    session.end();
}
