//! Events of processors' PMUs by libpfm4: names, unit masks and encodings, also of models that this machine is not.
//!
//! The library is opened when it is asked for. Without it everything else works.

mod library;
#[cfg(test)]
mod tests;

use std::ffi::{CStr, CString, c_char};

use perf_event_open_sys::bindings::perf_event_attr;

use self::library::{AttributeInfo, EventInfo, Library, PmuInfo};

/// Why events cannot be listed or encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PfmError {
    /// It is not installed.
    #[error(
        "libpfm.so.4 is not installed, which has the events of processors: apt install libpfm4 (or libpfm)"
    )]
    Missing,
    /// It lacks a function, or does not start.
    #[error("libpfm.so.4 cannot be used: {0}")]
    Unusable(String),
    /// There is no such model.
    #[error("libpfm knows no PMU {0:?}")]
    NoPmu(String),
    /// The event, a unit mask or a modifier is not known, or they do not go together.
    #[error("{event}: {cause}")]
    Event {
        /// As it was asked for.
        event: String,
        /// What the library says.
        cause: String,
    },
}

/// A model of a PMU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pmu {
    /// Its short name, such as `skl`.
    pub name: String,
    /// What it is.
    pub description: String,
    /// How many events it has.
    pub events: u32,
    /// Whether this machine has it.
    pub is_present: bool,
    first: i32,
}

/// An event of a PMU, or one of its unit masks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PmuEvent {
    /// `PMU::EVENT` or `PMU::EVENT:UMASK`, as [`Pfm::encode`] takes it.
    pub name: String,
    /// What it counts.
    pub description: String,
}

/// The library.
#[derive(Debug)]
pub struct Pfm(Library);

/// Whether an attribute is a unit mask (`PFM_ATTR_UMASK`).
const UNIT_MASK: u32 = 1;

/// User and kernel mode where an event does not say: none. perf decides that beside the encoding.
const NO_MODE: i32 = 0;

/// Both, where perf is asked (`PFM_PLM0 | PFM_PLM3`).
const ALL_MODES: i32 = 0x1 | 0x8;

/// What the library sets in the event-select registers of x86 beside what is counted: interrupt and enable (Intel SDM 3B, 20.2.1).
const ENABLED: u64 = 1 << 20 | 1 << 22;

impl Pfm {
    /// Opens it.
    ///
    /// # Errors
    /// [`PfmError::Missing`] and [`PfmError::Unusable`].
    pub fn open() -> Result<Self, PfmError> {
        Library::open().map(Self)
    }

    /// All models that it knows, sorted by name.
    pub fn pmus(&self) -> Vec<Pmu> {
        /// Further than any version has models.
        const MOST: u32 = 4096;
        let mut all: Vec<Pmu> =
            (0..MOST).filter_map(|number| self.0.pmu(number)).map(|info| pmu(&info)).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// The model of this name.
    ///
    /// # Errors
    /// [`PfmError::NoPmu`].
    pub fn pmu(&self, name: &str) -> Result<Pmu, PfmError> {
        self.pmus().into_iter().find(|pmu| pmu.name == name).ok_or_else(|| PfmError::NoPmu(name.into()))
    }

    /// The events of a model, each without and then with each of its unit masks.
    pub fn events(&self, pmu: &Pmu) -> Vec<PmuEvent> {
        let mut all = Vec::new();
        let mut at = pmu.first;
        while at >= 0
            && let Some(event) = self.0.event(at)
        {
            self.add(pmu, at, &event, &mut all);
            at = self.0.next(at);
        }
        all
    }

    fn add(&self, pmu: &Pmu, at: i32, event: &EventInfo, all: &mut Vec<PmuEvent>) {
        let name = format!("{}::{}", pmu.name, text(event.name));
        all.push(PmuEvent { name: name.clone(), description: text(event.description) });
        let attributes = (0..event.attributes).filter_map(|number| self.0.attribute(at, number));
        all.extend(attributes.filter(|attribute| attribute.kind == UNIT_MASK).map(
            |attribute: AttributeInfo| PmuEvent {
                name: format!("{name}:{}", text(attribute.name)),
                description: text(attribute.description),
            },
        ));
    }

    /// The numbers by which a PMU counts an event, such as `skl::INST_RETIRED:ANY_P`: the first is what `perf stat -e rNUMBER` takes.
    ///
    /// # Errors
    /// [`PfmError::Event`].
    pub fn encode(&self, event: &str) -> Result<Vec<u64>, PfmError> {
        let mut codes = asked(event, |name| self.0.encode(name, NO_MODE))?;
        if let Some(first) = codes.first_mut() {
            *first &= !ENABLED;
        }
        Ok(codes)
    }

    /// What perf_event_open takes for an event, with its modes.
    ///
    /// # Errors
    /// [`PfmError::Event`]; an event of an uncore that is not there has none.
    pub(super) fn perf(&self, event: &str) -> Result<perf_event_attr, PfmError> {
        asked(event, |name| self.0.perf(name, ALL_MODES))
    }
}

/// What the library answers about an event.
fn asked<T>(event: &str, answer: impl Fn(&CStr) -> Result<T, String>) -> Result<T, PfmError> {
    let failed = |cause: String| PfmError::Event { event: event.into(), cause };
    let name = CString::new(event).map_err(|_| failed("not a name".into()))?;
    answer(&name).map_err(failed)
}

fn pmu(info: &PmuInfo) -> Pmu {
    Pmu {
        name: text(info.name),
        description: text(info.description),
        events: info.events.max(0) as u32,
        is_present: info.flags & 1 != 0,
        first: info.first_event,
    }
}

/// A text of the library, which are constants of it.
fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: not null, and the library's texts are constants that end with 0.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}
