//! Signals at any moment, with exact counts.
