//! `carom-workloads`: multithreaded programs whose data movement is known by construction.
//!
//! The first four follow listings 5.1 to 5.4 of the thesis behind ComDetective (section 5.4.1). The fifth places one
//! contended access anywhere in a loop of chosen length, and the next two report every access that a sampler may
//! find. `ribench` (listing 6.1), `matmul` and `trace-pattern` have known reuses; `hash-table` and `linked-list` have
//! false sharing that padding removes; `alternation` knows how often a line changed owners; `traverse` has the misses
//! of an order of loops. Each prints one JSON
//! object on stdout: its parameters, what follows from them, and what it counted while it ran.
//!
//! Only what a workload names is shared: every shared word has cache lines of its own, and counters live in registers
//! (or on lines of the counting thread) and are merged after the threads have ended.

mod access_log;
mod access_loop;
mod alternation;
mod choose;
mod company;
mod concurrent_set;
mod contended_loop;
mod counts;
mod error;
mod false_sharing;
mod fresh;
mod hash_table;
mod linked_list;
mod matmul;
mod neighbours;
mod operation;
mod options;
mod output;
mod padded;
mod pinning;
mod point_to_point;
mod random;
mod read_write;
mod rest;
mod ribench;
mod runner;
mod trace_pattern;
mod traverse;
mod volume;
mod write_volume;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::error::Error;
use crate::output::Output;

/// Multithreaded microbenchmarks whose data movement is known by construction.
///
/// Each prints one JSON object: {"workload", "parameters", "expected", "measured", "notes"}.
#[derive(Parser)]
#[command(name = "carom-workloads", version)]
struct Cli {
    #[command(subcommand)]
    workload: Workload,
}

#[derive(Subcommand)]
enum Workload {
    WriteVolume(write_volume::Options),
    FalseSharing(false_sharing::Options),
    ReadWrite(read_write::Options),
    PointToPoint(point_to_point::Options),
    ContendedLoop(contended_loop::Options),
    AccessLoop(access_loop::Options),
    AccessLog(access_log::Options),
    Ribench(ribench::Options),
    Matmul(matmul::Options),
    HashTable(hash_table::Options),
    LinkedList(linked_list::Options),
    Alternation(alternation::Options),
    TracePattern(trace_pattern::Options),
    Traverse(traverse::Options),
}

fn run(workload: &Workload) -> Result<Output, Error> {
    match workload {
        Workload::WriteVolume(options) => write_volume::run(options),
        Workload::FalseSharing(options) => false_sharing::run(options),
        Workload::ReadWrite(options) => read_write::run(options),
        Workload::PointToPoint(options) => point_to_point::run(options),
        Workload::ContendedLoop(options) => contended_loop::run(options),
        Workload::AccessLoop(options) => access_loop::run(options),
        Workload::AccessLog(options) => access_log::run(options),
        Workload::Ribench(options) => ribench::run(options),
        Workload::Matmul(options) => matmul::run(options),
        Workload::HashTable(options) => hash_table::run(options),
        Workload::LinkedList(options) => linked_list::run(options),
        Workload::Alternation(options) => alternation::run(options),
        Workload::TracePattern(options) => trace_pattern::run(options),
        Workload::Traverse(options) => traverse::run(options),
    }
}

fn main() -> ExitCode {
    match run(&Cli::parse().workload).and_then(|output| output.print()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("carom-workloads: {error}");
            ExitCode::FAILURE
        }
    }
}
