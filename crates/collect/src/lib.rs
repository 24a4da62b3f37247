//! A recording session on the host: launch, drain, write the store.
