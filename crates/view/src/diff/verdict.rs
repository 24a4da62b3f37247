//! The comparison in a few sentences, and the names of what is compared.

use super::count;
use super::model::{Change, CountDiff, Diff, EventOutcome, Fate, ObjectDiff, PairDiff, ReuseDiff, ShareDiff};
use crate::{
    model::{Frame, Interval, Object},
    text::page::fit,
    words,
};

/// Columns of a command in a sentence.
const NAMED: usize = 60;

/// The totals, then what became of the findings.
pub(super) fn verdict(diff: &Diff) -> String {
    let mut sentences = Vec::new();
    if let Some(share) = &diff.share {
        sentences.push(total(
            &format!("The share of {} that goes to contended lines", share.unit.whole()),
            &share.contended_share,
        ));
        let fraction = share.false_fraction.as_ref().filter(|fraction| fraction.significant);
        sentences.extend(fraction.map(|fraction| total("False sharing as a part of all sharing", fraction)));
        // Whose false sharing changed, is not as it was.
        let told = |found: &&ObjectDiff| found.fate != Fate::Left || false_sharing(found).is_none();
        sentences.extend(fates(share.findings.iter().filter(told).map(|f| (f.fate, object(&f.object)))));
        sentences.extend(share.findings.iter().filter_map(false_sharing));
    }
    if let Some(reuse) = &diff.reuse {
        sentences
            .push(total(&format!("The miss ratio at {}", words::size(reuse.cache_bytes)), &reuse.miss_ratio));
        sentences.extend(fates(reuse.findings.iter().map(|found| (found.fate, pair(found)))));
    }
    if let Some(count) = &diff.count {
        sentences.extend(of_counts(diff, count));
    }
    sentences.iter().map(|sentence| capitalised(sentence)).collect::<Vec<_>>().join(" ")
}

/// The counts, after the names of what is compared where they differ.
fn of_counts(diff: &Diff, count: &CountDiff) -> Vec<String> {
    // Of single runs only what findings say is more than a guess.
    let found = diff.share.is_some() || diff.reuse.is_some();
    if found && count.events.iter().any(|event| event.outcome == EventOutcome::Untested) {
        return Vec::new();
    }
    let mut sentences = count::verdict::sentences(count);
    if let Some(first) = sentences.first_mut().filter(|_| diff.before.argv != diff.after.argv) {
        let [before, after] =
            [&diff.before, &diff.after].map(|side| fit(&words::command_line(&side.argv), NAMED));
        *first = format!("`{after}` against `{before}`: {first}");
    }
    sentences
}

/// With a capital at the beginning, as a sentence has it.
pub(crate) fn capitalised(text: &str) -> String {
    let first = text.split(' ').next().unwrap_or_default();
    if count::words::is_of_kernel(first.trim_end_matches(':')) {
        return text.to_owned();
    }
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// `X fell from 48% to 0% (-48 points, -50 to -46).`
fn total(what: &str, change: &Change) -> String {
    let (before, after) = (words::percent(change.before.estimate.0), words::percent(change.after.estimate.0));
    let by = difference(change);
    if became(change) == UNDECIDED {
        return format!(
            "{what} was {before} before and is {after} after ({by}). Among all the numbers that are compared here, one may \
             differ as much by chance: record several runs with --runs."
        );
    }
    if !change.significant {
        return format!("{what} did not change measurably: {before} before, {after} after ({by}).");
    }
    let verb = if change.difference.estimate.0 < 0.0 { "fell" } else { "rose" };
    format!("{what} {verb} from {before} to {after} ({by}).")
}

const UNDECIDED: &str = "undecided";

/// What became of a total, in a word.
pub(super) fn became(change: &Change) -> &'static str {
    let Interval { estimate, low, high } = change.difference;
    match (change.significant, estimate.0 < 0.0) {
        (true, true) => "smaller",
        (true, false) => "larger",
        // One of many numbers may differ as much by chance.
        _ if low.0 > 0.0 || high.0 < 0.0 => UNDECIDED,
        _ => "unchanged",
    }
}

/// `-48 points, -50 to -46`
pub(super) fn difference(change: &Change) -> String {
    let by = change.difference;
    let [value, low, high] = [by.estimate, by.low, by.high].map(|part| points(part.0));
    format!("{value} points, {low} to {high}")
}

/// `+2.7`, `-48`, `0`: percentage points with a decimal below ten.
fn points(part: f64) -> String {
    let points = part * 100.0;
    if points.abs() < 0.05 {
        return "0".to_owned();
    }
    let decimals = usize::from(points.abs() < 9.95);
    let text = format!("{points:+.decimals$}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// `48% (±4)`, and without an error where every access was followed.
pub(super) fn value(known: &Interval) -> String {
    if known.low == known.high { words::percent(known.estimate.0) } else { words::percent_with_error(known) }
}

/// What came and what went, by name: `` `stats` (app.c:12) is gone. ``
fn fates(findings: impl Iterator<Item = (Fate, String)>) -> Vec<String> {
    let all: Vec<(Fate, String)> = findings.collect();
    let named = |fate: Fate, one: &str, several: &str| {
        let names: Vec<String> =
            all.iter().filter(|(f, _)| *f == fate).map(|(_, name)| name.clone()).collect();
        /// More than these are counted.
        const NAMED: usize = 2;
        match names.len() {
            0 => None,
            1..=NAMED => {
                let verb = if names.len() == 1 { one } else { several };
                Some(format!("{} {verb}.", words::sentence_list(&names)))
            }
            many => Some(format!("{} {several}, {} first.", words::count(many, "finding"), names[0])),
        }
    };
    [
        named(Fate::Gone, "is gone", "are gone"),
        named(Fate::New, "is new", "are new"),
        named(Fate::Larger, "accounts for more", "account for more"),
        named(Fate::Smaller, "accounts for less", "account for less"),
        named(Fate::Left, "is left as it was", "are left as they were"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// False sharing that went, or came, on data that is contended on both sides.
fn false_sharing(found: &ObjectDiff) -> Option<String> {
    let said = match found.false_sharing_fate? {
        Fate::Gone => "is gone; true sharing is left",
        Fate::New => "is new",
        Fate::Smaller => "is less",
        Fate::Larger => "is more",
        Fate::Left | Fate::Undecided => return None,
    };
    Some(format!("False sharing on {} {said}.", object(&found.object)))
}

/// `` `stats` (app.c:12) ``
pub(super) fn object(object: &Object) -> String {
    let declared = object.declared.as_ref();
    match declared.and_then(|frame| words::place(frame.file.as_deref(), frame.line)) {
        Some(place) => format!("`{}` ({place})", object.name),
        None => format!("`{}`", object.name),
    }
}

/// ``the reuse of `grid` between relax.c:40 and relax.c:77``
pub(super) fn pair(pair: &PairDiff) -> String {
    let (earlier, later) = (place(&pair.earlier), place(&pair.reuse));
    let what = pair.object.as_ref().map(|object| format!(" of `{}`", object.name)).unwrap_or_default();
    if earlier == later {
        format!("the reuse{what} at {later}")
    } else {
        format!("the reuse{what} between {earlier} and {later}")
    }
}

/// `relax.c:40`, or the function, or the address.
fn place(path: &[Frame]) -> String {
    let Some(frame) = path.first() else { return "an unknown place".to_owned() };
    words::place(frame.file.as_deref(), frame.line)
        .or_else(|| frame.function.clone())
        .unwrap_or_else(|| frame.address.clone())
}

/// What is compared under which heading, for tables: `accesses to contended lines`.
pub(super) fn rows_of_share(share: &ShareDiff) -> Vec<(String, &Change)> {
    let mut rows = vec![("contended lines".to_owned(), &share.contended_share)];
    rows.extend(
        share.false_fraction.iter().map(|change| ("false sharing, of all sharing".to_owned(), change)),
    );
    rows
}

/// The same for misses.
pub(super) fn rows_of_reuse(reuse: &ReuseDiff) -> Vec<(String, &Change)> {
    vec![(format!("miss ratio at {}", words::size(reuse.cache_bytes)), &reuse.miss_ratio)]
}

#[cfg(test)]
mod tests;
