//! System calls of the `carom` process: about the machine, and about the program that it has started.

pub mod child;
pub mod kernel_counters;
pub mod latency;
pub mod machine;
pub mod memory;
pub mod pfm;
pub mod pmu;
pub mod probe;
pub mod signals;
pub mod timed_counters;
pub mod tracepoints;
