//! `carom diff`: what a change of a program did to the findings.

mod args;
mod sides;

use std::{fs, path::Path};

use carom_store::Recording;
use carom_study::{
    Study,
    diff::{self, CountDiff, Incomparable, ReuseDiff, ShareDiff},
    recording::Recordings,
    reuse::{ReuseFindings, ReuseOptions},
    share::ShareStudy,
};
use carom_view::{
    diff::{Compared, Limits, model::Diff},
    model::Warning,
};

pub use args::DiffArgs;

use self::sides::Side;
use crate::{
    failure::{End, Failure},
    output,
};

/// Compares, and writes what was asked for.
///
/// # Errors
/// A profile cannot be read, the sides have nothing in common, or a file cannot be written.
pub fn run(args: &DiffArgs) -> Result<End, Failure> {
    let diff = compared(args, &sides::sides(args)?)?;
    if let Some(file) = &args.json {
        save(file, &carom_view::diff::json(&diff).map_err(Failure::new)?)?;
    }
    if let Some(file) = &args.markdown {
        save(file, &carom_view::diff::markdown(&diff))?;
    }
    if let Some(file) = &args.html {
        save(file, &carom_view::web::comparison(&diff).map_err(Failure::new)?)?;
    }
    if let Some(file) = &args.sarif {
        save(file, &carom_view::sarif::new_findings(&diff, &output::root()).map_err(Failure::new)?)?;
    }
    let printed = [&args.json, &args.markdown, &args.html, &args.sarif]
        .into_iter()
        .flatten()
        .any(|file| is_stdout(file));
    if !args.quiet && !printed {
        let options = output::options(args.color, args.top, &std::io::stdout());
        output::print(&carom_view::diff::text(&diff, &options))?;
    }
    Ok(match diff.gate.failed {
        true => End::Failed,
        false if !carom_view::diff::not_judged(&diff).is_empty() => End::NotJudged,
        false => End::Success,
    })
}

fn compared(args: &DiffArgs, sides: &[Side; 2]) -> Result<Diff, Failure> {
    let mut warnings = Vec::new();
    let mut asked = 0;
    let share = sides.iter().all(|side| side.asks("share")).then(|| share(sides));
    let reuse = sides.iter().all(|side| side.asks("reuse")).then(|| reuse(sides, args.cache));
    asked += usize::from(share.is_some()) + usize::from(reuse.is_some());
    let count = sides.iter().all(|side| side.asks("count")).then(|| count(sides));
    asked += usize::from(count.is_some());
    let share = noted("sharing", share, &mut warnings);
    let reuse = noted("misses", reuse, &mut warnings);
    let count = noted("counts", count, &mut warnings);
    if share.is_none() && reuse.is_none() && count.is_none() {
        let why = warnings.into_iter().map(|warning| warning.text).collect::<Vec<_>>().join(" ");
        return Err(Failure::new(if asked > 0 { why } else { nothing_in_common(sides) }));
    }
    let limits = Limits {
        above: args.fail_above.map(|percent| percent / 100.0),
        if_new: args.fail_if_new,
        events: args.limits.all()?,
    };
    let named = sides.each_ref().map(Side::named);
    let compared = Compared { share: share.as_ref(), reuse: reuse.as_ref(), count: count.as_ref() };
    Ok(carom_view::diff::diff(named, compared, &limits, warnings))
}

fn nothing_in_common(sides: &[Side; 2]) -> String {
    let [before, after] = sides.each_ref().map(|side| side.commands().join(", "));
    format!(
        "carom diff compares sharing, misses and counts: before was recorded by carom {before}, after by carom {after}"
    )
}

/// What could be compared; where it could not, the reason becomes a warning.
fn noted<D>(what: &str, found: Option<Result<D, Incomparable>>, warnings: &mut Vec<Warning>) -> Option<D> {
    match found? {
        Ok(diff) => Some(diff),
        Err(cause) => {
            let text = format!("The {what} of the two sides cannot be compared: {}.", reason(cause));
            warnings.push(Warning { code: "not-compared".into(), text });
            None
        }
    }
}

const fn reason(cause: Incomparable) -> &'static str {
    match cause {
        Incomparable::NoRun => "a side has no recording",
        Incomparable::Units => {
            "shares are of thread time on one side and of accesses on the other; record both with the same --engine"
        }
        Incomparable::Caches => "the caches have different sizes; choose one with --cache",
        Incomparable::Bases => {
            "one was followed exactly and the other sampled, or the models differ; record both with the same options"
        }
        Incomparable::Ranks => "a side has the ranks of one program, whose counts belong together",
        Incomparable::TooFewUses => {
            "a side has too few uses for a miss ratio; run longer, or sample more often"
        }
    }
}

fn count(sides: &[Side; 2]) -> Result<CountDiff, Incomparable> {
    if sides.iter().any(Side::is_of_ranks) {
        return Err(Incomparable::Ranks);
    }
    let [before, after] = sides.each_ref().map(Side::manifests);
    diff::count(&before, &after)
}

fn share(sides: &[Side; 2]) -> Result<ShareDiff, Incomparable> {
    let [before, after] =
        sides.each_ref().map(|side| side.runs().map(|run| studied(&ShareStudy, run)).collect::<Vec<_>>());
    diff::share(&before, &after)
}

/// Misses of a cache of one size: that which was asked for, or else the one of the first run before.
fn reuse(sides: &[Side; 2], cache_bytes: Option<u64>) -> Result<ReuseDiff, Incomparable> {
    let of_side = |side: &Side, cache_bytes: Option<u64>| -> Vec<ReuseFindings> {
        let mut options = ReuseOptions { cache_bytes, ..ReuseOptions::default() };
        let mut findings = Vec::new();
        for run in side.runs() {
            let found = studied(&options, run);
            options.cache_bytes = Some(found.chosen_bytes);
            findings.push(found);
        }
        findings
    };
    let [before, after] = sides;
    let before = of_side(before, cache_bytes);
    let after = of_side(after, cache_bytes.or(before.first().map(|run| run.chosen_bytes)));
    diff::reuse(&before, &after)
}

/// The findings of one run.
fn studied<S: Study>(study: &S, run: &[Recording]) -> S::Findings {
    study.study(&mut Recordings::new(run))
}

fn is_stdout(file: &Path) -> bool {
    file.as_os_str() == "-"
}

fn save(file: &Path, text: &str) -> Result<(), Failure> {
    if is_stdout(file) {
        return output::print(text);
    }
    fs::write(file, text).map_err(|error| Failure::new(format!("{}: {error}", file.display())))
}
