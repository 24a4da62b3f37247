//! System calls that handlers and hooks make inside the program.

#[cfg(test)]
mod alone;
pub mod clock;
pub mod descriptor;
pub mod door;
pub mod file;
pub mod loader;
pub mod map;
pub mod map_query;
pub mod maps;
pub mod own_room;
pub mod perf;
pub mod process;
pub mod raw;
pub mod signal;
mod symbols;
pub mod timer;
pub mod user_memory;
