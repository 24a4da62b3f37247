//! Sharing detection as sans-IO state machines.
