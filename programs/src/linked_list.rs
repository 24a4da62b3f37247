//! Lists of different threads whose nodes alternate in memory: false sharing, as between nodes that several threads
//! took from one allocator. With `--sync` all threads use one list.

use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use clap::Args;
use serde_json::{Value, json};

use crate::concurrent_set::{self, Sync};
use crate::error::Error;
use crate::neighbours::{self, Field};
use crate::options::Common;
use crate::output::{Output, parameters};
use crate::padded::Padded;
use crate::random::Random;
use crate::runner;

/// Walks linked lists, one for each thread, and counts visits in the nodes. Node n of the one array on the heap belongs
/// to thread n modulo THREADS: the nodes of one line are in different lists.
///
/// An operation walks to a node drawn by chance and adds 1 to its value. No datum is ever accessed by two threads, so
/// all sharing is false; with --padded there is none.
///
/// With --sync spinlock, mutex or lock-free all threads look up, insert and remove keys in one sorted list.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  carom-workloads linked-list --threads 2 --seconds 4
  carom-workloads linked-list --sync lock-free --updates 5 --range 256
  carom-workloads linked-list --threads 2 --seconds 4 --padded")]
pub struct Options {
    #[command(flatten)]
    common: Common,

    /// Nodes of each list.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=LONGEST))]
    nodes: u64,

    /// Give each node lines of its own.
    #[arg(long)]
    padded: bool,

    #[command(flatten)]
    shared: concurrent_set::Settings,
}

/// With the most threads, lists of this length take 128 MiB when padded.
const LONGEST: u64 = 1024;

/// A node of some list.
struct Node {
    /// The number of the next node of the list.
    next: AtomicU64,
    /// Visits.
    value: AtomicU64,
}

impl Node {
    const FIELDS: [Field; 2] = [
        Field { name: "next", offset_bytes: offset_of!(Node, next), bytes: size_of::<AtomicU64>() },
        Field { name: "value", offset_bytes: offset_of!(Node, value), bytes: size_of::<AtomicU64>() },
    ];

    /// Node number `number`; the next node of its list is the next one of the same thread.
    fn new(number: usize, threads: usize) -> Self {
        Self { next: AtomicU64::new((number + threads) as u64), value: AtomicU64::new(0) }
    }
}

/// All nodes.
enum Nodes {
    Neighbours(Vec<Node>),
    Padded(Vec<Padded<Node>>),
}

impl Nodes {
    fn get(&self, number: usize) -> &Node {
        match self {
            Self::Neighbours(nodes) => &nodes[number],
            Self::Padded(nodes) => &nodes[number],
        }
    }
}

/// A function of its own, because profilers name the nodes by it.
#[inline(never)]
fn allocate_nodes(number: usize, threads: usize, padded: bool) -> Nodes {
    if padded {
        Nodes::Padded((0..number).map(|n| Padded(Node::new(n, threads))).collect())
    } else {
        Nodes::Neighbours((0..number).map(|n| Node::new(n, threads)).collect())
    }
}

/// Walks this many nodes on from the `first` and counts the visit.
#[inline(never)]
fn visit<'a>(node: impl Fn(usize) -> &'a Node, first: usize, steps: u64) {
    let mut at = node(first);
    for _ in 0..steps {
        at = node(at.next.load(Relaxed) as usize);
    }
    // Only the list's own thread writes here: no locked instruction is needed.
    at.value.store(at.value.load(Relaxed) + 1, Relaxed);
}

/// Runs the workload.
///
/// # Errors
/// Where its threads cannot be started or pinned.
pub fn run(options: &Options) -> Result<Output, Error> {
    if options.shared.sync != Sync::Partitioned {
        return concurrent_set::run("linked-list", &options.shared, &options.common, 1);
    }
    let threads = options.common.threads;
    let number = threads * options.nodes as usize;
    let nodes = allocate_nodes(number, threads, options.padded);
    let finished = runner::run(options.common.team(), |worker| {
        let mut random = Random::new(options.common.seed, worker);
        let mut operations = 0_u64;
        for pass in options.common.length().passes() {
            for _ in 0..pass {
                let steps = random.below(options.nodes);
                match &nodes {
                    Nodes::Neighbours(nodes) => visit(|number| &nodes[number], worker, steps),
                    Nodes::Padded(nodes) => visit(|number| &*nodes[number], worker, steps),
                }
            }
            operations += pass;
        }
        operations
    })?;

    let values: u64 = (0..number).map(|number| nodes.get(number).value.load(Relaxed)).sum();
    Ok(Output {
        workload: "linked-list",
        parameters: parameters(
            &options.common,
            &finished,
            json!({ "nodes": options.nodes, "padded": options.padded }),
        ),
        expected: expected(&nodes, number, threads),
        measured: json!({
            "operations_per_s": neighbours::per_second(&finished.results, finished.wall),
            "iterations": finished.results,
            "values": values,
            "wall_s": finished.wall.as_secs_f64(),
        }),
        notes: Vec::new(),
    })
}

fn expected(nodes: &Nodes, number: usize, threads: usize) -> Value {
    let place = |number: usize| std::ptr::from_ref(nodes.get(number)) as usize;
    let lines = neighbours::shared_lines("nodes", number, size_of::<Node>(), threads, place);
    json!({
        "object": { "kind": "heap", "allocated_in": "allocate_nodes", "function": "visit" },
        "element_bytes": match nodes {
            Nodes::Neighbours(_) => size_of::<Node>(),
            Nodes::Padded(_) => size_of::<Padded<Node>>(),
        },
        "fields": Node::FIELDS,
        "false_fraction": if lines.is_empty() { Value::Null } else { json!(1.0) },
        "lines": lines,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_stays_in_its_list() {
        for padded in [false, true] {
            let nodes = allocate_nodes(6, 2, padded);
            // List 1 is nodes 1, 3, 5; list 0 is nodes 0, 2, 4.
            visit(|number| nodes.get(number), 1, 2);
            visit(|number| nodes.get(number), 0, 1);
            let values: Vec<u64> = (0..6).map(|number| nodes.get(number).value.load(Relaxed)).collect();
            assert_eq!(values, [0, 0, 1, 0, 0, 1]);
        }
    }
}
