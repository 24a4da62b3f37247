//! Any number of threads, in groups that talk to their neighbours.

use super::*;
use carom_study::share::Pattern;

/// Threads per group.
const GROUP: usize = 10;

/// `threads` workers around a ring; every tenth also feeds its group, and thread 0 coordinates.
pub fn crowd(threads: usize) -> (RunInfo, ShareFindings) {
    let names: Vec<String> =
        (0..threads).map(|id| if id == 0 { "solver".into() } else { format!("rank-{id:03}") }).collect();
    let (mut run, mut findings) = (run(&["solver", "--grid", "4096"], &names), eight().1);
    run.program.wall_s = Real(61.5);
    run.program.cut_short = Some("the program was killed by signal 9".into());
    run.program.complete = false;
    run.program.exit = Some(Exit::Signal(9));
    findings.pattern = Some(Pattern::NearestNeighbour);
    findings.threads = matrix(threads, ThreadId);
    for from in 0..threads {
        let wobble = 1.0 + 0.5 * (from as f64 * 0.7).sin();
        flow(&mut findings.threads, from, (from + 1) % threads, 300.0 * wobble, 90.0);
        flow(&mut findings.threads, (from + 1) % threads, from, 260.0 * wobble, 110.0);
        let leader = from / GROUP * GROUP;
        if leader != from {
            flow(&mut findings.threads, leader, from, 20.0, 70.0 * wobble);
        }
        if from > 0 {
            flow(&mut findings.threads, from, 0, 6.0, 1.0);
        }
    }
    findings.cpus = matrix(64, Cpu);
    for from in 0..64_usize {
        flow(&mut findings.cpus, from, (from + 1) % 64, 300.0, 100.0);
        flow(&mut findings.cpus, from, (from + 8) % 64, 90.0, 20.0);
    }
    findings.last_writer = findings.threads.clone();
    (run, findings)
}
