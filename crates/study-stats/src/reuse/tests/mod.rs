//! Models against programs whose caches are simulated.

mod bands;
mod incidence;
mod models;
mod program;
