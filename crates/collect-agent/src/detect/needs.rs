//! What detectors need of an engine, and whether it can serve all of them at once.

/// What a detector needs, or several together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Sampled accesses, at the session's periods.
    pub samples: bool,
    /// That its work on samples is kept within the budget.
    pub budget: bool,
    /// Samples that the budget leaves out need not be reported.
    pub samples_can_be_left_out: bool,
    /// Samples may be reported ahead of their block, before other accesses.
    pub samples_can_be_early: bool,
    /// Translated code looks up each access in tables of watched data.
    pub tables: bool,
    /// The debug registers of the threads.
    pub registers: bool,
    /// The positions of all threads at any time.
    pub positions: bool,
    /// The tables are looked up in episodes, which the detector begins and ends.
    pub episodes: bool,
    /// Every access.
    pub stream: bool,
    /// Of the stream only stores, and loads with the times that they take.
    pub times: bool,
    /// That nothing is counted.
    pub nothing_else: bool,
}

impl Needs {
    /// What both need.
    ///
    /// # Errors
    /// No engine can serve both; with the reason.
    pub fn and(self, other: Self) -> Result<Self, &'static str> {
        if self == Self::default() {
            return Ok(other);
        }
        if self.nothing_else || other.nothing_else {
            return Err("a trial measures one part of the engine, so nothing else can be looked for");
        }
        if self.stream || other.stream {
            return Err("every access is analysed as it comes, so none can be sampled or watched besides");
        }
        if self.registers && other.registers {
            return Err("two detectors cannot watch with the same debug registers");
        }
        Ok(Self {
            samples: self.samples || other.samples,
            budget: self.budget || other.budget,
            samples_can_be_left_out: self.samples_can_be_left_out && other.samples_can_be_left_out,
            samples_can_be_early: self.samples_can_be_early && other.samples_can_be_early,
            tables: self.tables || other.tables,
            registers: self.registers || other.registers,
            positions: self.positions || other.positions,
            episodes: self.episodes && other.episodes,
            ..Self::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARE: Needs = Needs {
        samples: true,
        budget: true,
        samples_can_be_early: true,
        registers: true,
        samples_can_be_left_out: false,
        tables: false,
        positions: false,
        episodes: false,
        stream: false,
        times: false,
        nothing_else: false,
    };
    const REUSE: Needs = Needs {
        samples_can_be_early: false,
        samples_can_be_left_out: true,
        registers: false,
        tables: true,
        positions: true,
        ..SHARE
    };

    #[test]
    fn the_first_has_what_it_needs() {
        for needs in [SHARE, REUSE] {
            assert_eq!(Needs::default().and(needs), Ok(needs));
        }
    }

    /// Sharing must see the samples that reuse would leave out, and reuse must see them in their order.
    #[test]
    fn two_have_what_both_can_bear() {
        let both = Needs { samples_can_be_early: false, tables: true, positions: true, ..SHARE };
        assert_eq!(SHARE.and(REUSE), Ok(both));
        assert_eq!(REUSE.and(SHARE), Ok(both));
    }

    #[test]
    fn what_excludes_each_other_is_refused() {
        let exact = Needs { stream: true, ..Needs::default() };
        assert!(SHARE.and(exact).is_err_and(|text| text.contains("every access")));
        assert!(SHARE.and(SHARE).is_err_and(|text| text.contains("debug registers")));
        let trial = Needs { nothing_else: true, ..Needs::default() };
        assert!(trial.and(REUSE).is_err_and(|text| text.contains("trial")));
    }
}
