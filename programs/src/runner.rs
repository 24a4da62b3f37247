//! Starts the threads of a workload together and collects what they return.

use std::sync::OnceLock;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, Builder, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::options::Team;
use crate::pinning;

/// What came of a run.
pub struct Finished<T> {
    /// What each thread returned, in the threads' order.
    pub results: Vec<T>,
    /// Which CPU each thread was pinned to; empty where none was.
    pub cpus: Vec<usize>,
    /// From the common start to the last thread's end.
    pub wall: Duration,
}

/// Runs `work(0)`, `work(1)`, ... in threads named `worker-0`, `worker-1`, ..., each pinned as asked. All of
/// them exist and are pinned before the first begins.
///
/// # Errors
/// Where a thread cannot be started or pinned (then none begins), or panicked.
pub fn run<T: Send>(team: Team, work: impl Fn(usize) -> T + Sync) -> Result<Finished<T>, Error> {
    let cpus = pinning::plan(team.pinning, team.threads)?;
    let gate = Gate::default();
    let (ready, readiness) = mpsc::channel();
    thread::scope(|scope| {
        let mut workers = Vec::with_capacity(team.threads);
        for id in 0..team.threads {
            let cpu = cpus.get(id).copied();
            match spawn(scope, id, cpu, ready.clone(), &gate, &work) {
                Ok(worker) => workers.push(worker),
                Err(error) => {
                    gate.open(false);
                    return Err(error);
                }
            }
        }
        drop(ready);
        if let Some(error) = readiness.iter().take(team.threads).find_map(Result::err) {
            gate.open(false);
            return Err(error);
        }
        let start = Instant::now();
        gate.open(true);
        let results: Option<Vec<T>> =
            workers.into_iter().map(|worker| worker.join().ok().flatten()).collect();
        let wall = start.elapsed();
        Ok(Finished { results: results.ok_or(Error::WorkerPanicked)?, cpus: cpus.clone(), wall })
    })
}

/// Where the threads wait for the common start, or for the news that there will be none. Unlike a barrier it
/// does not hang when a thread is missing.
#[derive(Default)]
struct Gate(OnceLock<bool>);

impl Gate {
    fn open(&self, go: bool) {
        // It is opened once: each caller ends its run with it.
        let _ = self.0.set(go);
    }

    fn pass(&self) -> bool {
        *self.0.wait()
    }
}

fn spawn<'scope, 'env, T: Send + 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    id: usize,
    cpu: Option<usize>,
    ready: Sender<Result<(), Error>>,
    gate: &'env Gate,
    work: &'env (impl Fn(usize) -> T + Sync),
) -> Result<ScopedJoinHandle<'scope, Option<T>>, Error> {
    let body = move || {
        // The receiver outlives every worker, so the answer cannot be lost.
        let _ = ready.send(cpu.map_or(Ok(()), pinning::pin));
        drop(ready);
        gate.pass().then(|| work(id))
    };
    Builder::new()
        .name(format!("worker-{id}"))
        .spawn_scoped(scope, body)
        .map_err(|source| Error::Spawn { worker: id, source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pinning::Pinning;

    fn team(threads: usize) -> Team {
        Team { threads, pinning: Pinning::None }
    }

    #[test]
    fn results_come_in_the_threads_order_under_their_names() {
        let name = |id| (id, thread::current().name().map(str::to_owned));
        let finished = run(team(3), name).unwrap();
        let names: Vec<_> = (0..3).map(|id| (id, Some(format!("worker-{id}")))).collect();
        assert_eq!(finished.results, names);
    }

    #[test]
    fn a_panic_is_an_error() {
        let result = run(team(2), |id| assert_eq!(id, 0, "meant to fail"));
        assert!(matches!(result, Err(Error::WorkerPanicked)));
    }
}
