//! Comparisons that never took place.

use carom_store::{Manifest, ThreadCounts, ThreadInfo};
use carom_study::{
    diff::{self, ReuseDiff, ShareDiff},
    reuse::ReuseFindings,
    share::ShareFindings,
};
use carom_view::{
    diff::{
        Compared, Limits,
        model::{Diff, DiffSide},
    },
    model::Warning,
};

/// Two recordings of an example: its worst finding is gone after, and another one is new.
pub fn fixed(limits: Limits) -> Diff {
    let (_, before) = super::two();
    let mut after = before.clone();
    if let Some(worst) = after.objects.first_mut() {
        worst.object.name = "queue".into();
    }
    compared(&[before], &[after], limits)
}

/// A run with so many loads.
fn run(loads: u64) -> Manifest {
    let counts = ThreadCounts { loads: Some(loads), ..ThreadCounts::default() };
    let thread = ThreadInfo { counts: Some(counts), ..ThreadInfo::default() };
    Manifest { threads: vec![thread], ..Manifest::default() }
}

/// The example twice.
pub fn unchanged(limits: Limits) -> Diff {
    let (_, findings) = super::two();
    compared(std::slice::from_ref(&findings), std::slice::from_ref(&findings), limits)
}

fn compared(before: &[ShareFindings], after: &[ShareFindings], limits: Limits) -> Diff {
    let share: ShareDiff = diff::share(before, after).expect("they are comparable");
    let relaxed: ReuseFindings = super::relaxed().1;
    let reuse: Option<ReuseDiff> =
        diff::reuse(std::slice::from_ref(&relaxed), std::slice::from_ref(&relaxed)).ok();
    let counts = diff::count(&[&run(7), &run(7)], &[&run(8), &run(9)]).expect("they are comparable");
    let warning = Warning { code: "not-compared".into(), text: "An example of a warning.".into() };
    let side =
        |profile: &str| DiffSide { profiles: vec![profile.into()], argv: vec!["./app".into()], runs: 1 };
    carom_view::diff::diff(
        [side("before.carom"), side("after.carom")],
        Compared { share: Some(&share), reuse: reuse.as_ref(), count: Some(&counts) },
        &limits,
        vec![warning],
    )
}
