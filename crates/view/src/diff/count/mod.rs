//! Counts before and after.

pub mod gate;
pub mod model;
pub mod text;
pub mod verdict;
pub mod words;

use carom_study::{
    count::{Basis, Quantity},
    diff::{self, EventChange, Outcome},
};

use self::model::{CountDiff, DecidedBy, EventBasis, EventDiff, EventOutcome};
use crate::model::Real;

/// The study's comparison as the model has it.
pub fn count(found: &diff::CountDiff) -> CountDiff {
    CountDiff {
        events: found.events.iter().map(event).collect(),
        decided_by: if found.by_ranks { DecidedBy::WelchAndRanks } else { DecidedBy::Welch },
    }
}

fn event(found: &EventChange) -> EventDiff {
    let values = |side: &[f64]| side.iter().copied().map(Real).collect();
    let p = found.probability;
    EventDiff {
        name: found.quantity.name().into(),
        unit: found.quantity.unit().into(),
        basis: basis(found.quantity),
        outcome: outcome(found.outcome),
        before: values(&found.before),
        after: values(&found.after),
        relative_change: found.ratio.filter(|ratio| ratio.is_finite()).map(|ratio| Real(ratio - 1.0)),
        low: found.interval.map(|interval| Real(interval.low - 1.0)),
        high: found.interval.map(|interval| Real(interval.high - 1.0)),
        hedges_g: found.hedges_g.map(Real),
        p: p.map(|p| Real(p.deciding)),
        p_adjusted: p.map(|p| Real(p.corrected)),
        p_exploratory: p.map(|p| Real(p.exploratory)),
        p_welch: p.map(|p| Real(p.welch)),
        p_ranks: p.map(|p| Real(p.ranks)),
    }
}

/// How a quantity is known.
pub fn basis(quantity: Quantity) -> EventBasis {
    match quantity.basis() {
        Basis::Counted => EventBasis::Counted,
        Basis::Simulated => EventBasis::Simulated,
        Basis::Native => EventBasis::Native,
        Basis::Machine => EventBasis::Machine,
    }
}

const fn outcome(found: Outcome) -> EventOutcome {
    match found {
        Outcome::More => EventOutcome::More,
        Outcome::Less => EventOutcome::Less,
        Outcome::Steady => EventOutcome::Steady,
        Outcome::Constant => EventOutcome::Constant,
        Outcome::Untested => EventOutcome::Untested,
        Outcome::OneSided => EventOutcome::OneSided,
    }
}

#[cfg(test)]
mod tests;
