//! Names that come from profiles and command lines, as constants.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

/// The name, for as long as carom runs: each is kept once, and a run names few.
pub fn kept(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = Box::leak(name.into());
    names.insert(name);
    name
}
