//! What became of misses.

use carom_base::Scope;

use super::change::{Change, correct};
use super::known::{observations, proportion};
use super::subject::{Listed, Pairing, Subject, pair};
use super::{Fate, Incomparable};
use crate::Estimate;
use crate::reuse::{CurveScope, MAX_PAIRS, Pair, ReuseFindings};
use crate::symbols::{DataObject, Frame};

/// A pair is compared where it makes this part of the misses on either side.
const TELLING: f64 = 0.05;

/// Misses before and after.
#[derive(Clone, Debug)]
pub struct ReuseDiff {
    /// The cache, in bytes.
    pub cache_bytes: u64,
    /// Misses by accesses, of all threads.
    pub miss_ratio: Change,
    /// Pairs of places in the code, the largest change first.
    pub pairs: Vec<PairChange>,
    /// Pairs that make few of the misses on either side. They are not compared.
    pub too_small: usize,
}

/// A use and a reuse before and after.
#[derive(Clone, Debug)]
pub struct PairChange {
    /// What became of it.
    pub fate: Fate,
    /// The place of the use, with its inlined functions: as it is after, else as it was before.
    pub earlier: Vec<Frame>,
    /// The place of the reuse.
    pub later: Vec<Frame>,
    /// The data, where an address tells.
    pub object: Option<DataObject>,
    /// Its misses by all accesses of the program.
    pub misses: Change,
}

/// Compares the runs before with those after.
///
/// # Errors
/// A side has no run or too few uses, caches have different sizes, or the numbers came about in different ways.
pub fn reuse(before: &[ReuseFindings], after: &[ReuseFindings]) -> Result<ReuseDiff, Incomparable> {
    let (first, _) = before.first().zip(after.first()).ok_or(Incomparable::NoRun)?;
    let all = || before.iter().chain(after);
    if all().any(|run| run.chosen_bytes != first.chosen_bytes) {
        return Err(Incomparable::Caches);
    }
    let basis = |run: &ReuseFindings| run.main_curve(CurveScope::All).map(|curve| curve.basis);
    if all().any(|run| basis(run) != basis(first)) {
        return Err(Incomparable::Bases);
    }
    let ratios = |side: &[ReuseFindings]| -> Option<Vec<Estimate>> { side.iter().map(miss_ratio).collect() };
    let ratios = ratios(before).zip(ratios(after)).ok_or(Incomparable::TooFewUses)?;
    let mut miss_ratio = Change::between(&ratios.0, &ratios.1);
    let telling = |change: &Change| {
        change.before.value >= TELLING * miss_ratio.before.value && change.before.value > 0.0
            || change.after.value >= TELLING * miss_ratio.after.value && change.after.value > 0.0
    };
    let pairings = pair(listed(before), listed(after), [before.len(), after.len()]);
    let known = pairings.len();
    let mut pairs: Vec<PairChange> = pairings
        .into_iter()
        .filter_map(|pairing| pair_change(pairing, before, after))
        .filter(|pair| telling(&pair.misses))
        .collect();
    let mut tests = vec![&mut miss_ratio.test];
    tests.extend(pairs.iter_mut().map(|pair| &mut pair.misses.test));
    correct(&mut tests);
    let too_small = known - pairs.len();
    for pair in &mut pairs {
        let [before, after] = [pair.misses.before, pair.misses.after].map(|side| side.value > 0.0);
        pair.fate = Fate::of(before, after, pair.misses.trend());
    }
    pairs.sort_by(|a, b| b.misses.difference.value.abs().total_cmp(&a.misses.difference.value.abs()));
    Ok(ReuseDiff { cache_bytes: first.chosen_bytes, miss_ratio, pairs, too_small })
}

/// Of all threads, each in a cache of its own.
fn miss_ratio(run: &ReuseFindings) -> Option<Estimate> {
    let enough = run.not_enough.is_none();
    run.fits.iter().find(|fit| enough && fit.scope == CurveScope::All).map(|fit| fit.ratio)
}

/// Misses of a pair by all accesses.
fn misses(pair: &Pair) -> f64 {
    (pair.share * pair.miss_ratio).clamp(0.0, 1.0)
}

/// The pairs of each run that reuse in a thread's own cache.
fn listed(runs: &[ReuseFindings]) -> Listed<&Pair> {
    let all =
        runs.iter().enumerate().flat_map(|(number, run)| run.pairs.iter().map(move |pair| (number, pair)));
    let private = all.filter(|(_, pair)| pair.scope == Scope::Private);
    private
        .map(|(number, pair)| (number, Subject::of_places(pair.earlier.first(), pair.later.first()), pair))
        .collect()
}

fn pair_change(
    pairing: Pairing<&Pair>,
    before: &[ReuseFindings],
    after: &[ReuseFindings],
) -> Option<PairChange> {
    let found = pairing.after.first().or(pairing.before.first())?.1;
    let (before, after) = (by_run(&pairing.before, before), by_run(&pairing.after, after));
    Some(PairChange {
        fate: Fate::Undecided,
        earlier: found.earlier.clone(),
        later: found.later.clone(),
        object: found.object.clone(),
        misses: Change::between(&before, &after),
    })
}

/// The misses of a pair in each run. One that a full list lacks may have as many as the last of the list.
fn by_run(pairs: &[(usize, &Pair)], runs: &[ReuseFindings]) -> Vec<Estimate> {
    let of_run = |(number, run): (usize, &ReuseFindings)| {
        let mine = || pairs.iter().filter(|(each, _)| *each == number);
        let value = mine().map(|(_, pair)| misses(pair)).sum::<f64>().min(1.0);
        let samples = miss_ratio(run).map_or(0.0, |ratio| observations(&ratio));
        let known = proportion(value, samples);
        if mine().next().is_some() || run.pairs.len() < MAX_PAIRS {
            return known;
        }
        let least = run.pairs.iter().map(misses).fold(1.0, f64::min);
        Estimate { high: known.high.max(least), ..known }
    };
    runs.iter().enumerate().map(of_run).collect()
}

#[cfg(test)]
mod tests;
