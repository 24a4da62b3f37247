//! The detector in simulated programs, all of whose accesses are known.

mod held;
mod phases;
mod program;
mod properties;
mod statistics;
mod tables;
mod together;
