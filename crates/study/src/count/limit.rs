//! What a quantity may be, or may grow by.

use carom_study_stats::{Moments, student_975};

use super::Quantity;
use crate::diff::{EventChange, Outcome};

/// The most that passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventLimit {
    /// Of what.
    pub quantity: Quantity,
    /// How much.
    pub bound: Bound,
}

/// How much passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// A growth by this part of what was before.
    Growth(f64),
    /// A mean of this, in the unit of the quantity.
    Value(f64),
}

/// What became of a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Judgement {
    /// It is kept, or broken by no more than chance. With the growth, or the mean.
    Passed(f64),
    /// It is broken by more than chance. With the growth, or the mean; infinite where it grew from nothing.
    Failed(f64),
    /// The runs do not tell: why.
    Unknown(&'static str),
}

impl EventLimit {
    /// Of values of the program, which is the one after.
    pub fn of_values(&self, values: &[f64]) -> Judgement {
        let Bound::Value(most) = self.bound else {
            return Judgement::Unknown("there is nothing to compare with");
        };
        let Some(moments) = Moments::of(values) else { return Judgement::Unknown("it is not known") };
        // Student's interval of the mean; one run has none.
        let half = match moments.n {
            1 => 0.0,
            n => student_975((n - 1) as f64) * moments.of_mean().sqrt(),
        };
        if moments.mean - half > most {
            Judgement::Failed(moments.mean)
        } else {
            Judgement::Passed(moments.mean)
        }
    }

    /// Of a comparison, which has the quantity if it is known at all.
    pub fn of_comparison(&self, events: &[EventChange]) -> Judgement {
        let Some(event) = events.iter().find(|event| event.quantity == self.quantity) else {
            return Judgement::Unknown("it is not known");
        };
        let Bound::Growth(most) = self.bound else { return self.of_values(&event.after) };
        let growth = event.ratio.map_or(0.0, |ratio| ratio - 1.0);
        match event.outcome {
            Outcome::OneSided => Judgement::Unknown("only one side knows it"),
            Outcome::Untested => Judgement::Unknown("one run on a side does not tell how much runs differ"),
            Outcome::More if growth > most => Judgement::Failed(growth),
            _ => Judgement::Passed(growth),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn most(bound: Bound) -> EventLimit {
        EventLimit { quantity: Quantity::from_name("time").unwrap(), bound }
    }

    #[test]
    fn a_mean_must_be_above_by_more_than_chance() {
        let limit = most(Bound::Value(10.0));
        assert_eq!(limit.of_values(&[10.5]), Judgement::Failed(10.5));
        // Mean 10.5, standard error 0.5, and t of 3 degrees of freedom is 3.18: 8.9 to 12.1.
        assert_eq!(limit.of_values(&[9.5, 11.5, 9.5, 11.5]), Judgement::Passed(10.5));
        assert_eq!(limit.of_values(&[10.4, 10.6, 10.4, 10.6]), Judgement::Failed(10.5));
        assert_eq!(limit.of_values(&[9.0, 9.0]), Judgement::Passed(9.0));
        assert!(matches!(limit.of_values(&[]), Judgement::Unknown(_)));
        assert!(matches!(most(Bound::Growth(0.1)).of_values(&[1.0]), Judgement::Unknown(_)));
    }
}
