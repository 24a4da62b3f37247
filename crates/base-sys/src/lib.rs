//! The one door to the kernel: perf events, debug registers, timers, signals, probes.
