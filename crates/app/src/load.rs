//! From recordings to a report.

use carom_store::Recording;
use carom_study::share::{self, Merged, MergedNames, Names, RecordedInput, RecordedNames, ShareInput};
use carom_view::{WarningInfo, model::Report};

use crate::run_info;

/// Studies `recordings` as one.
pub fn report(recordings: &[Recording]) -> Report {
    let inputs: Vec<RecordedInput> = recordings.iter().map(RecordedInput::new).collect();
    let mut names: Vec<RecordedNames> = recordings.iter().map(RecordedNames::new).collect();
    let merged = Merged::new(inputs.iter().map(|input| input as &dyn ShareInput));
    let offsets = merged.offsets();
    let by_recording = names.iter_mut().map(|names| names as &mut dyn Names);
    let findings = share::analyse(&merged, &mut MergedNames::new(&merged, by_recording));
    let mut run = run_info::of(recordings, &offsets);
    let mut seen = Vec::new();
    for note in names.iter().flat_map(RecordedNames::notes) {
        if !seen.contains(&note) {
            run.warnings.push(WarningInfo {
                code: "no-symbols".into(),
                text: format!("{}: {}", note.module.display(), note.problem),
            });
            seen.push(note);
        }
    }
    let unreadable: u64 = inputs.iter().map(RecordedInput::unreadable).sum();
    if unreadable > 0 {
        let text = format!("{unreadable} parts of the profile are damaged; what they held is missing here.");
        run.warnings.push(WarningInfo { code: "damaged".into(), text });
    }
    carom_view::share::report(&run, &findings)
}
