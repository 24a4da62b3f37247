//! Pairs of sampled uses and their reuses.

use std::collections::HashMap;

use carom_base::{LINE_BYTES, LogBin, ReuseOutcome, Scope};

use super::{Sampled, uses::Use};
use crate::reuse::{
    Basis, Model,
    analyse::Question,
    pairs::{Origin, PairKey, PairTally, Wholes},
};

/// What the pairs are about.
const LINE: u32 = LINE_BYTES as u32;

impl Sampled {
    /// What the shares of pairs are of.
    pub fn wholes(&self, question: &Question) -> Wholes {
        let mut wholes = Wholes::of_places(question.places(LINE));
        for each in self.uses.iter().filter(|each| self.tells_of_lines(each)) {
            let missing = if misses(each, wholes.places) { each.weight } else { 0.0 };
            wholes.add(each.owner, each.weight, missing);
        }
        wholes
    }

    fn tells_of_lines(&self, each: &Use) -> bool {
        each.locality == self.weights.tells_of_lines(each.scope)
    }

    /// Uses with their reuses by instruction: in shared caches only by another thread, as the others are private pairs
    /// already.
    pub fn pairs(&self, question: &Question) -> (HashMap<PairKey, PairTally>, Origin) {
        let lines = question.places(LINE);
        let mut pairs: HashMap<PairKey, PairTally> = HashMap::new();
        for each in &self.uses {
            let Some(reuse) = each.reuse else { continue };
            if !self.tells_of_lines(each) || (each.scope == Scope::Shared && !reuse.by_other) {
                continue;
            }
            let (earlier, later) = (each.site, reuse.site);
            let key =
                PairKey { process: each.process, scope: each.scope, earlier: earlier.0, later: later.0 };
            let pair = pairs.entry(key).or_default();
            pair.time.reuse(LogBin::of(each.distance), reuse.kind, each.weight);
            if let Some(stack) = each.stack {
                pair.stack.reuse(LogBin::of(stack), reuse.kind, each.weight);
            }
            if reuse.temporal {
                pair.temporal += each.weight;
            } else {
                pair.spatial += each.weight;
            }
            let missing = if each.stack.is_some_and(|stack| stack >= lines) { each.weight } else { 0.0 };
            pair.threads.insert(reuse.thread);
            *pair.missing.entry(each.owner).or_default() += missing;
            pair.seen += 1;
            pair.place(earlier.1, later.1, reuse.at, each.weight);
        }
        let stacks = self.uses.iter().any(|each| each.stack.is_some());
        let basis = if stacks { Basis::Modelled(Model::StatStack) } else { Basis::Sampled };
        (pairs, Origin { unit: self.unit, basis, place_bytes: LINE })
    }
}

/// Whether, by the model, the next access to a used line misses in a cache of this many lines. Nothing is known of uses that
/// were given up.
fn misses(each: &Use, lines: u64) -> bool {
    let fits = each.stack.is_some_and(|stack| stack < lines);
    !fits && each.outcome != ReuseOutcome::Replaced
}
