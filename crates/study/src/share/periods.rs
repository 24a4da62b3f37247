//! What a sampled access stands for.

use carom_base::AccessKind;

/// Accesses per sampled access, where every N-th is sampled. One of the two is above 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Periods {
    /// Mean number of loads between sampled loads; 0 where loads are not sampled.
    pub loads: u64,
    /// Mean number of stores between sampled stores; 0 where stores are not sampled.
    pub stores: u64,
}

impl Periods {
    /// `None` where nothing is sampled by number.
    pub const fn new(loads: u64, stores: u64) -> Option<Self> {
        if loads == 0 && stores == 0 { None } else { Some(Self { loads, stores }) }
    }

    /// The unit of an event's weight: the period of the kind that is sampled most often.
    pub fn shortest(self) -> f64 {
        [self.loads, self.stores].into_iter().filter(|period| *period > 0).min().unwrap_or(0) as f64
    }

    /// Accesses that a sampled one of this kind stands for: the inverse of the odds of being sampled (D. G. Horvitz
    /// and D. J. Thompson, "A generalization of sampling without replacement from a finite universe", J. Am. Stat.
    /// Assoc. 47 (1952) 663-685).
    ///
    /// A read-modify-write is one load and one store, and is sampled as either: so its samples come at the sum of the
    /// two rates and stand for two accesses together, which makes each the harmonic mean of the periods.
    pub fn accesses(self, kind: AccessKind) -> f64 {
        let (number, rate) = self.sampled(kind);
        if rate > 0.0 { number / rate } else { 0.0 }
    }

    /// Operations that a sampled access of this kind stands for: a read-modify-write is one, not two.
    pub fn operations(self, kind: AccessKind) -> f64 {
        let (_, rate) = self.sampled(kind);
        if rate > 0.0 { 1.0 / rate } else { 0.0 }
    }

    /// The number of the operation's accesses that are sampled, and the samples that one operation gives.
    fn sampled(self, kind: AccessKind) -> (f64, f64) {
        [(kind.reads(), self.loads), (kind.writes(), self.stores)]
            .into_iter()
            .filter(|(part, period)| *part && *period > 0)
            .fold((0.0, 0.0), |(number, rate), (_, period)| (number + 1.0, rate + 1.0 / period as f64))
    }
}

#[cfg(test)]
mod tests {
    use AccessKind::{Load, ReadModifyWrite, Store};

    use super::*;

    #[test]
    fn a_sample_stands_for_the_period_of_its_kind() {
        let periods = Periods { loads: 300, stores: 100 };
        assert_eq!((periods.accesses(Load), periods.accesses(Store)), (300.0, 100.0));
        assert_eq!(periods.shortest(), 100.0);
        // 300 read-modify-writes are 600 accesses. They are sampled once as a load and three times as a store.
        assert!((4.0 * periods.accesses(ReadModifyWrite) - 600.0).abs() < 1e-9);
        assert!((4.0 * periods.operations(ReadModifyWrite) - 300.0).abs() < 1e-9);
        assert_eq!(Periods { loads: 7, stores: 7 }.accesses(ReadModifyWrite), 7.0);
    }

    #[test]
    fn what_is_not_sampled_stands_for_nothing() {
        let loads = Periods { loads: 500, stores: 0 };
        assert_eq!((loads.accesses(Store), loads.shortest()), (0.0, 500.0));
        // Its store is not sampled: 500 read-modify-writes give one sample, of their 500 loads.
        assert_eq!(loads.accesses(ReadModifyWrite), 500.0);
        assert_eq!(Periods::new(0, 0), None);
    }
}
