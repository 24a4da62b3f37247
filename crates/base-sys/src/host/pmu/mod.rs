//! Events of PMUs: how the kernel is asked for them, which of them fit its counters at once, and what they count of a
//! program.
//!
//! Names are those of sysfs, as perf takes them (`cpu/event=0xc0,umask=0x01/u`, `power/energy-pkg/`), or those of
//! libpfm (`skl::INST_RETIRED:ANY_P`).

mod catalogue;
mod counters;
mod error;
mod event;
mod field;
mod groups;
mod name;
mod sysfs;
#[cfg(test)]
mod tests;

use self::name::Name;
use super::{machine::Root, pfm::Pfm};

pub use catalogue::{Catalogue, catalogue};
pub use counters::{PmuCounters, PmuReading};
pub use error::PmuError;
pub use event::PmuEvent;
pub use groups::groups;

/// Whether this is the form of a name: no tracepoint has it, and no other event of carom.
pub fn is_name(name: &str) -> bool {
    Name::parse(name).is_ok()
}

/// The event of this name.
///
/// # Errors
/// This machine has no such event, or libpfm is missing.
pub fn event(root: &Root, name: &str) -> Result<PmuEvent, PmuError> {
    match Name::parse(name)? {
        Name::Sysfs { pmu, terms, modes } => sysfs::encode(root, name, pmu, terms, modes),
        Name::Pfm { model } => catalogue::by_pfm(root, &Pfm::open()?, model, name),
    }
}
