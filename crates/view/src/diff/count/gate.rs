//! Limits of counts, and what became of them.

use carom_study::count::{Bound, EventLimit, Judgement};

use super::{
    model::{EventCondition, LimitState},
    words::{amount, label},
};
use crate::{model::Real, words};

/// A limit with what became of it, as the model has it.
pub fn condition(limit: &EventLimit, judgement: Judgement) -> EventCondition {
    let name = limit.quantity.name();
    let (bound, text) = match limit.bound {
        Bound::Growth(part) => (part, format!("{name} > {}", words::percent(part))),
        Bound::Value(value) => (value, format!("{name} > {}", amount(value, limit.quantity.unit()))),
    };
    let (state, observed, reason) = match judgement {
        Judgement::Passed(observed) => (LimitState::Passed, Some(observed), None),
        Judgement::Failed(observed) => (LimitState::Failed, Some(observed), None),
        Judgement::Unknown(why) => (LimitState::Unknown, None, Some(why.to_owned())),
    };
    EventCondition {
        event: name.into(),
        text,
        relative: matches!(limit.bound, Bound::Growth(_)),
        limit: Real(bound),
        observed: observed.map(Real),
        state,
        reason,
    }
}

/// What failed, for people: `instructions grew by 12%, more than 5%.`
pub fn failure(condition: &EventCondition, unit: &str) -> Option<String> {
    let observed = condition.observed.filter(|_| condition.state == LimitState::Failed)?.0;
    let told = |value: f64| {
        if condition.relative { words::percent(value) } else { amount(value, unit) }
    };
    let verb = if condition.relative { "grew by" } else { "is" };
    let by = if observed.is_infinite() { "any factor, from 0".into() } else { told(observed) };
    Some(format!("{} {verb} {by}, more than {}.", label(&condition.event), told(condition.limit.0)))
}

/// What could not be judged, for people.
pub fn unknown(condition: &EventCondition) -> Option<String> {
    let reason = condition.reason.as_deref()?;
    Some(format!("`{}` cannot be judged: {reason}", condition.text))
}
