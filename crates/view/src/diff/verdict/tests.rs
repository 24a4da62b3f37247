use crate::diff::{Limits, markdown, model::Fate, text};
use crate::{
    model::{Interval, Real},
    sample,
    text::Options,
};

#[test]
fn what_came_and_went_is_named() {
    let diff = sample::compared::fixed(Limits::default());
    let share = diff.share.as_ref().unwrap();
    let mut fates: Vec<_> = share.findings.iter().map(|f| (f.object.name.as_str(), f.fate)).collect();
    fates.sort_by_key(|(name, _)| *name);
    assert_eq!(fates, [("queue", Fate::New), ("stats", Fate::Gone), ("stop", Fate::Left)]);
    for said in ["`stats` (app.c:12) is gone.", "`queue` (app.c:12) is new."] {
        assert!(diff.verdict.contains(said), "{}", diff.verdict);
    }
    assert!(!diff.gate.failed, "nothing was asked to fail");
}

#[test]
fn differences_have_signs_and_few_digits() {
    let points = |part: f64| super::points(part);
    assert_eq!([-0.484, 0.027, 0.03, 0.0004, -0.0004, 0.0].map(points).join(" "), "-48 +2.7 +3 0 0 0");
}

#[test]
fn nothing_changes_between_equals() {
    let diff = sample::compared::unchanged(Limits { above: Some(0.0), if_new: true, ..Limits::default() });
    assert!(!diff.gate.failed, "{:?}", diff.gate);
    assert!(diff.verdict.contains("did not change measurably"), "{}", diff.verdict);
    assert!(diff.share.unwrap().findings.iter().all(|finding| finding.fate == Fate::Left));
}

/// Twenty comparisons come out as one of them did, by chance.
#[test]
fn what_may_be_chance_among_many_is_said_to_be() {
    for (significant, said) in [(true, "fell from"), (false, "one may differ as much by chance")] {
        let mut diff = sample::compared::fixed(Limits::default());
        let change = &mut diff.share.as_mut().unwrap().contended_share;
        change.difference = Interval { estimate: Real(-0.4), low: Real(-0.7), high: Real(-0.1) };
        change.significant = significant;
        let verdict = super::verdict(&diff);
        assert!(verdict.contains(said), "{verdict}");
    }
}

#[test]
fn what_is_asked_to_fail_fails() {
    let diff = sample::compared::fixed(Limits { above: None, if_new: true, ..Limits::default() });
    assert_eq!(diff.gate.reasons, ["`queue` (app.c:12) is new."]);
    let diff = sample::compared::fixed(Limits { above: Some(0.001), if_new: false, ..Limits::default() });
    assert!(diff.gate.failed && diff.gate.reasons[0].contains("by more than 0.1%"), "{:?}", diff.gate);
    assert!(
        !sample::compared::fixed(Limits { above: Some(0.99), if_new: false, ..Limits::default() })
            .gate
            .failed
    );
}

#[test]
fn every_form_has_every_number() {
    let diff = sample::compared::fixed(Limits { above: None, if_new: true, ..Limits::default() });
    let (text, markdown) = (text(&diff, &Options::default()), markdown(&diff));
    for form in [&text, &markdown] {
        for part in ["gone", "new", "before", "points", "One run each", "An example of a warning.", "is new."]
        {
            assert!(form.contains(part), "{part} in\n{form}");
        }
    }
    assert_eq!(markdown.matches("\n| gone |").count(), 1);
}
