//! The detector under simulated programs whose every access is seen.

mod phases;
mod program;
mod properties;
mod statistics;
mod tables;
mod together;
