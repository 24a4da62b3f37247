//! The detector under simulated programs whose every access is seen.

mod held;
mod phases;
mod program;
mod properties;
mod statistics;
mod tables;
mod together;
