use super::LEAST_SIZES;

/// Why nothing can be predicted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PredictError {
    /// No run has parameters.
    #[error("these runs have no parameter: record some with `carom count --param NAME=VALUES`")]
    NoParameter,
    /// A parameter that the runs do not have.
    #[error("the runs have no parameter `{name}`; theirs are {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The parameters of the runs.
        known: String,
    },
    /// No parameter has a value that did not run, or several have.
    #[error(
        "one parameter must lie outside of the values that ran, and all others at one of them: {given} has {outside} outside"
    )]
    OneSize {
        /// What was asked for.
        given: String,
        /// How many parameters lie outside.
        outside: usize,
    },
    /// Sizes of 0 or less.
    #[error("`{0}` has values that are not above 0, of which nothing can be told by factors")]
    NotPositive(String),
    /// Too few sizes.
    #[error(
        "{sizes} values of `{parameter}` are too few: {LEAST_SIZES} are the least, eight that double each time are good"
    )]
    FewSizes {
        /// The parameter.
        parameter: String,
        /// Its values with a run time.
        sizes: usize,
    },
    /// No run was timed.
    #[error("no run was timed: leave out -e, or add time to it")]
    NoTime,
    /// Neither instructions nor any other indicator varies.
    #[error("no indicator varies with `{0}`: is it the size of the problem?")]
    NothingVaries(String),
}
