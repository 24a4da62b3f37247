//! The profiled program's output, end, signals, descriptors and state stay its own, whatever it does.
//!
//! Every program here runs alone and under `carom share`, and the two runs are compared byte by byte; the profile
//! must pass the checker and the report must parse.

mod aside;
mod calls;
mod check_remedy;
mod command_line;
mod count_places;
mod count_pmu;
mod count_series;
mod count_simulated;
mod denied;
mod descriptors;
mod diff;
mod ends;
mod generated;
mod held;
mod known_counts;
mod known_programs;
mod libraries;
mod own_variables;
mod per_phase;
mod periods;
mod phases;
mod planted;
mod processes;
mod processor;
mod profile;
mod profiles;
mod restricted;
mod reuse;
mod reuse_files;
mod shared_memory;
mod signals;
mod simulate;
mod state;
mod stored_names;
mod support;
mod synchronisation;
mod threads;
mod trace_survival;
mod traces;
mod translated;
mod verdicts;
mod widths;
mod windows;
