//! Statistics, each formula with its source.
