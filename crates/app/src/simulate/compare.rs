//! What else tells how far a reduced trace can be trusted: `--compare`, the full trace, and `--gate`, a profile of sharing.

use std::{path::Path, slice, sync::Arc};

use carom_store::Recording;
use carom_study::{recording::Recordings, share::ShareStudy, simulate::Against};
use carom_view::model::Warning;

use super::{SimulateLayout, Source, text};
use crate::{failure::Failure, load};

/// Simulates the full trace: a profile, or a text.
///
/// # Errors
/// It cannot be read, or not be simulated.
pub fn against(full: &Path, layout: &SimulateLayout, top: usize) -> Result<Against, Failure> {
    let scratch;
    let what = full.to_string_lossy();
    let dir = match Source::of(&what) {
        Source::Profile => full.to_owned(),
        Source::Text => {
            scratch = tempfile::tempdir().map_err(Failure::new)?;
            let dir = scratch.path().join("full.carom");
            text::import(&what, &dir)?;
            dir
        }
        Source::Program => {
            return Err(Failure::new(format!("--compare {what}: neither a profile nor a text of accesses")));
        }
    };
    let recording = Recording::open(&dir).map_err(Failure::new)?;
    let found = layout.study().references(&mut Recordings::new(slice::from_ref(&recording)));
    Ok(Against { full: Arc::new(found.map_err(Failure::new)?), top })
}

/// What is warned of where a profile of `carom share` says that the program has little false sharing.
///
/// # Errors
/// It is no such profile, or has no fraction of false sharing.
pub fn gate(profile: &Path) -> Result<Option<Warning>, Failure> {
    let at = |cause: &str| Failure::new(format!("--gate {}: {cause}", profile.display()));
    let recording = Recording::open(profile).map_err(Failure::new)?;
    if recording.manifest().command != "share" {
        return Err(at("no profile of carom share"));
    }
    let mut recordings = Recordings::new(slice::from_ref(&recording));
    let report = load::report(&mut recordings, &ShareStudy, carom_view::share::report);
    let fraction = report.share.and_then(|share| share.false_fraction);
    let fraction =
        fraction.ok_or_else(|| at("no sharing was found, or not enough to tell its kinds apart"))?;
    Ok(carom_view::simulate::gate(&fraction))
}
