//! Tracepoints of the kernel as quantities: any that a run has counted, unlike all others, of which there is a list.

use super::kept::kept;

/// A tracepoint, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tracepoint(&'static str);

/// Longer names are none: those of the kernel have less than half of it.
const LONGEST: usize = 128;

impl Tracepoint {
    /// `subsystem:event`. `None` where the name is not of this form.
    pub fn named(name: &str) -> Option<Self> {
        let (subsystem, event) = name.split_once(':')?;
        let word = |text: &str| {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
        };
        (name.len() <= LONGEST && word(subsystem) && word(event)).then(|| Self(kept(name)))
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_subsystem_and_an_event() {
        let name = "sched:sched_switch";
        assert_eq!(Tracepoint::named(name).map(Tracepoint::name), Some(name));
        assert_eq!(Tracepoint::named(name), Tracepoint::named(name));
        for bad in ["sched", "sched:", ":a", "a:b:c", "a:b/c", "a: b"] {
            assert_eq!(Tracepoint::named(bad), None, "{bad}");
        }
        assert_eq!(Tracepoint::named(&format!("a:{}", "b".repeat(LONGEST))), None);
    }
}
