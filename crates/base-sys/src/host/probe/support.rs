/// What a probe learned about one facility.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Support {
    /// It works: tried, where trying is harmless.
    Yes,
    /// It does not, for this reason.
    No {
        /// The cause. A clause without a full stop.
        cause: String,
        /// What would change it, where something would.
        remedy: Option<Remedy>,
    },
    /// Nothing is known: the probe itself failed, or was not made.
    Unknown {
        /// Why. A clause without a full stop.
        cause: String,
    },
}

/// What to do about a missing facility.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// In words: where to do it, what else it takes. A clause without a full stop.
    pub text: String,
    /// The command, ready to copy, where one command does it.
    pub command: Option<String>,
}

impl Remedy {
    pub(super) fn words(text: impl Into<String>) -> Option<Self> {
        Some(Self { text: text.into(), command: None })
    }

    pub(super) fn run(text: impl Into<String>, command: impl Into<String>) -> Option<Self> {
        Some(Self { text: text.into(), command: Some(command.into()) })
    }
}

/// One facility of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its name for programs, fixed.
    pub id: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Whether it works.
    pub support: Support,
    /// What else is worth knowing: numbers, restrictions. A clause without a full stop.
    pub note: Option<String>,
}

impl Finding {
    /// True for [`Support::Yes`].
    pub fn works(&self) -> bool {
        self.support == Support::Yes
    }

    /// The cause of a no or an unknown.
    pub fn cause(&self) -> Option<&str> {
        match &self.support {
            Support::Yes => None,
            Support::No { cause, .. } | Support::Unknown { cause } => Some(cause),
        }
    }
}

pub(super) fn no(cause: impl Into<String>, remedy: Option<Remedy>) -> Support {
    Support::No { cause: cause.into(), remedy }
}

pub(super) fn unknown(cause: impl Into<String>) -> Support {
    Support::Unknown { cause: cause.into() }
}
