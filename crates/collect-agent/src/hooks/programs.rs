//! exec and posix_spawn: to be written.
