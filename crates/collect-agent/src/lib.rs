//! The library inside the profiled process: hooks and handlers.
