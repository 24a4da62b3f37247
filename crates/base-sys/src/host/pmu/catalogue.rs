//! All events of this machine's PMUs.

use std::collections::BTreeSet;

use super::{PmuError, PmuEvent, event::Code, groups::alone, is_name, sysfs};
use crate::host::{
    machine::{Root, kernel_events},
    pfm::Pfm,
};

/// What the PMUs of a machine can count for a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalogue {
    /// Each encoding once, by the first of its names.
    pub events: Vec<PmuEvent>,
    /// Why the others are not counted.
    pub refused: Vec<PmuError>,
}

/// Models of libpfm that are the kernel's own names for what carom measures without them.
const GENERIC: [&str; 2] = ["perf", "perf_raw"];

/// Every event that the kernel has a name for, and every event of the models that libpfm finds here, each tried.
pub fn catalogue(root: &Root) -> Catalogue {
    let mut found = Catalogue::default();
    let mut known = BTreeSet::new();
    for name in sysfs_names(root) {
        found.add(&mut known, super::event(root, &name), |name| super::event(root, name));
    }
    if let Ok(library) = Pfm::open() {
        let here =
            library.pmus().into_iter().filter(|pmu| pmu.is_present && !GENERIC.contains(&pmu.name.as_str()));
        for pmu in here {
            for event in library.events(&pmu) {
                // One that needs a unit mask is no event: its masks follow.
                if let Ok(event) = encoded(root, &library, &event.name) {
                    found.add(&mut known, Ok(event), |name| encoded(root, &library, name));
                }
            }
        }
    }
    found
}

/// One name for all boxes of an uncore.
fn sysfs_names(root: &Root) -> BTreeSet<String> {
    let of_all_boxes = |name: String| {
        let (pmu, event) = name.split_once('/')?;
        let name = format!("{}/{event}", if pmu.starts_with("uncore_") { sysfs::family(pmu) } else { pmu });
        is_name(&name).then_some(name)
    };
    kernel_events(root).into_iter().filter_map(|event| of_all_boxes(event.name)).collect()
}

impl Catalogue {
    /// Adds an event that can be counted, of user mode alone where the kernel's may not be.
    fn add(
        &mut self,
        known: &mut BTreeSet<Vec<Code>>,
        event: Result<PmuEvent, PmuError>,
        again: impl Fn(&str) -> Result<PmuEvent, PmuError>,
    ) {
        let tried = |event: PmuEvent| alone(&event).map(|()| event);
        let counted = event.and_then(tried).or_else(|error| match &error {
            PmuError::Refused { name, source, of_machine: false } if source.errno == libc::EACCES => {
                again(&format!("{name}{}", if name.ends_with('/') { "u" } else { ":u" })).and_then(tried)
            }
            _ => Err(error),
        });
        match counted {
            Ok(event) if known.insert(event.codes.clone()) => self.events.push(event),
            Ok(_) => {}
            Err(error) => self.refused.push(error),
        }
    }
}

/// The event of this name, by libpfm.
///
/// # Errors
/// Its model is not this machine's, or has no such event.
pub fn by_pfm(root: &Root, library: &Pfm, model: &str, name: &str) -> Result<PmuEvent, PmuError> {
    if library.pmu(model)?.is_present {
        return encoded(root, library, name);
    }
    let present = library.pmus().into_iter().filter(|pmu| pmu.is_present).map(|pmu| pmu.name);
    let known = format!("libpfm finds {}", present.collect::<Vec<_>>().join(", "));
    Err(PmuError::Elsewhere { name: name.to_owned(), model: model.to_owned(), known })
}

fn encoded(root: &Root, library: &Pfm, name: &str) -> Result<PmuEvent, PmuError> {
    let mut code = Code::of(&library.perf(name)?);
    code.cpus = sysfs::cpus_of(root, code.kind);
    Ok(PmuEvent { name: name.to_owned(), scale: 1.0, unit: None, codes: vec![code] })
}
