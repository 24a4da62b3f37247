//! What events of PMUs are called.

use super::PmuError;

/// A name in its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name<'a> {
    /// `PMU/TERMS/MODES`: by sysfs.
    Sysfs {
        /// The PMU.
        pmu: &'a str,
        /// Events and fields, with commas between them.
        terms: &'a str,
        /// Letters.
        modes: &'a str,
    },
    /// `MODEL::EVENT:MASK`: by libpfm.
    Pfm {
        /// The model.
        model: &'a str,
    },
}

impl<'a> Name<'a> {
    /// The parts of a name.
    ///
    /// # Errors
    /// [`PmuError::Form`].
    pub fn parse(name: &'a str) -> Result<Self, PmuError> {
        let word = |text: &str| {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
        };
        if let Some((model, event)) = name.split_once("::").filter(|_| !name.contains('/')) {
            let event_is = event.chars().all(|c| c.is_ascii_alphanumeric() || "_-.:=".contains(c));
            if word(model) && !event.is_empty() && event_is {
                return Ok(Self::Pfm { model });
            }
        } else if let [pmu, terms, modes] = name.split('/').collect::<Vec<_>>()[..] {
            let modes_are = modes.chars().all(|c| c.is_ascii_alphanumeric());
            // A dot alone would lead elsewhere in the tree.
            let is_term = |term: &str| {
                word(term.split_once('=').map_or(term, |(name, _)| name)) && !term.starts_with('.')
            };
            let value = |term: &str| term.split_once('=').is_none_or(|(_, value)| word(value));
            if word(pmu)
                && !pmu.starts_with('.')
                && modes_are
                && terms.split(',').all(|term| is_term(term) && value(term))
            {
                return Ok(Self::Sysfs { pmu, terms, modes });
            }
        }
        Err(PmuError::Form(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_sysfs_or_of_libpfm() {
        let sysfs = |pmu, terms, modes| Ok(Name::Sysfs { pmu, terms, modes });
        assert_eq!(Name::parse("msr/tsc/"), sysfs("msr", "tsc", ""));
        assert_eq!(
            Name::parse("cpu/event=0xc0,umask=1,inv/uk"),
            sysfs("cpu", "event=0xc0,umask=1,inv", "uk")
        );
        assert_eq!(Name::parse("skl::INST_RETIRED:ANY_P:u=1"), Ok(Name::Pfm { model: "skl" }));
        for bad in [
            "",
            "cycles",
            "a:b",
            "msr/tsc",
            "msr//",
            "/tsc/",
            "msr/../",
            "../x/",
            "msr/tsc/u/",
            "a::",
            "::b",
            "msr/a=/",
            "a::b/c/",
        ] {
            assert_eq!(Name::parse(bad), Err(PmuError::Form(bad.into())), "{bad}");
        }
    }
}
