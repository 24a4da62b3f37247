//! How fast the simulator is on the accesses that a recording keeps, without reading them:
//! `cargo run --release -p carom-study --example simulation_speed -- PROGRAM.N.carom [MACHINE [PARTS]]`
//!
//! The first accesses are held in memory, as the simulator takes them, with a reference for each instruction. With PARTS, as many
//! threads simulate a part of the lines each. The best of five rounds counts.

use std::{collections::HashMap, path::Path, thread, time::Instant};

use carom_base::{Domain, Ip, Nanos, ThreadId};
use carom_base_sim::{Input, Machine, Part, Reference, Results, Settings, Simulator, included};
use carom_base_stream::{Sink, Streamed};
use carom_store::Recording;

/// Accesses that are held.
const MOST: usize = 100_000_000;
const ROUNDS: usize = 5;

#[derive(Default)]
struct Held {
    inputs: Vec<Input>,
    /// Core, and the number of its accesses in a row.
    turns: Vec<(usize, usize)>,
    numbers: HashMap<Ip, u32>,
    cores: usize,
}

impl Sink<Streamed> for Held {
    fn accesses(&mut self, thread: ThreadId, _: Domain, accesses: &[Streamed], _: Nanos) {
        let accesses = &accesses[..accesses.len().min(MOST - self.inputs.len())];
        for Streamed { access, .. } in accesses {
            let next = self.numbers.len() as u32;
            let number = *self.numbers.entry(access.ip).or_insert(next);
            self.inputs.push(Input::of(*access, Reference(number)));
        }
        self.turns.push((thread.0 as usize % self.cores, accesses.len()));
    }

    fn ended(&mut self, _: ThreadId) {}
}

fn simulate(machine: &Machine, held: &Held, part: Part) -> Results {
    let settings = Settings { part, ..Settings::default() };
    let mut simulator = Simulator::new(machine, settings).expect("a machine that can be simulated");
    let mut rest = &held.inputs[..];
    for (core, length) in &held.turns {
        let (turn, behind) = rest.split_at(*length);
        simulator.accesses(*core, turn);
        rest = behind;
    }
    simulator.results()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().ok_or("which recording?")?;
    let name = arguments.next().unwrap_or_else(|| "two-cores".into());
    let parts: u64 = arguments.next().map_or(Ok(1), |parts| parts.parse())?;
    let machine = included(&name).ok_or("no such machine")??;
    let mut held = Held { cores: machine.cores(), ..Held::default() };
    Recording::open(Path::new(&dir))?.stream(&mut held)?;
    let mut best = f64::INFINITY;
    let mut results = Results::default();
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        results = thread::scope(|scope| {
            let (machine, held) = (&machine, &held);
            let part = |index| scope.spawn(move || simulate(machine, held, Part { index, of: parts }));
            let threads: Vec<_> = (0..parts).map(part).collect();
            let mut all = threads.into_iter().map(|thread| thread.join().expect("a part"));
            let mut sum = all.next().unwrap_or_default();
            all.for_each(|part| sum.add(part));
            sum
        });
        best = best.min(begin.elapsed().as_secs_f64());
    }
    let (count, total) = (held.inputs.len(), results.total());
    println!(
        "{count} accesses, {} references, {} L1 misses, {} invalidations: {:.1} million/s",
        results.references.len(),
        total.l1.total(),
        total.caused.total(),
        count as f64 / best / 1e6
    );
    Ok(())
}
