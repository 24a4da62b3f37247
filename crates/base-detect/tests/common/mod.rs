//! A machine in miniature: threads that access memory one step at a time, are sampled at random instants,
//! and whose watchpoints trap exactly when a watched byte is touched.

use std::sync::atomic::AtomicU32;

use carom_base::{
    Access, AccessKind, Addr, Cpu, Ip, Nanos, Population, SharingClass, SharingEvent, StackId, ThreadId,
};
use carom_base_detect::{Board, Config, Input, Publisher, Slot, ThreadDetector, Touch, Trap, WatchPlan};

/// xorshift64*, independent of the crate's generator.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.unit() * bound as f64) as usize
    }
}

/// When a thread is sampled, counted in its own accesses.
#[derive(Clone, Copy, Debug)]
pub enum Sampling {
    /// After any access with equal probability: the interval is geometric.
    Random,
    /// Every period accesses, plus or minus at most this fraction of it, uniformly.
    Jitter(f64),
    /// One access in every period of them, each with equal probability: as `translate` draws them.
    Stratified,
}

/// What a thread may spend on setting watchpoints and on traps, each of which costs 1: this much for each access.
#[derive(Clone, Copy, Debug)]
pub struct Budget(pub f64);

impl Budget {
    /// The largest credit or debt: some ten watchpoints, set and hit.
    const MOST: f64 = 20.0;

    /// The chance of a sample to watch, with this balance.
    fn chance(balance: f64) -> f64 {
        (0.5 + 0.5 * balance / Self::MOST).clamp(1.0 / 64.0, 1.0)
    }
}

#[derive(Clone, Copy)]
pub struct Machine<'a> {
    pub threads: usize,
    pub board: usize,
    pub config: Config,
    /// Mean accesses between two samples of a thread.
    pub period: f64,
    pub sampling: Sampling,
    pub seed: u64,
    /// What may be spent on watching, if it is limited.
    pub budget: Option<Budget>,
    /// Which threads run at this step: one bit each.
    pub running: &'a dyn Fn(u64) -> u64,
}

impl Machine<'_> {
    /// Runs `steps` steps; in each, every running thread makes one access, in random order.
    pub fn run(
        &self,
        steps: u64,
        mut program: impl FnMut(usize, &mut Dice) -> (u64, AccessKind),
    ) -> Vec<SharingEvent> {
        let slots: Vec<Slot> = (0..self.board).map(|_| Slot::default()).collect();
        let publishers: Vec<_> = (0..self.threads).map(|_| Publisher::default()).collect();
        let threads = AtomicU32::new(0);
        let board = Board::new(&slots, &publishers, &threads);
        let mut dice = Dice::new(self.seed);
        let mut detectors: Vec<_> = (0..self.threads)
            .map(|i| ThreadDetector::new(ThreadId(i as u32), self.config, dice.next()))
            .collect();
        let mut plans: Vec<Option<WatchPlan>> = vec![None; self.threads];
        let mut next: Vec<f64> = (0..self.threads).map(|_| dice.unit() * self.period).collect();
        // Where in its period the latest sample was.
        let mut offsets = next.clone();
        let mut balances = vec![0.0f64; self.threads];
        let mut events = vec![];
        let mut order: Vec<usize> = (0..self.threads).collect();
        let mut time = 0;
        for step in 0..steps {
            let running = (self.running)(step);
            for i in (1..order.len()).rev() {
                order.swap(i, dice.below(i + 1));
            }
            for &t in order.iter().filter(|&&t| running >> t & 1 == 1) {
                time += 1;
                let (addr, kind) = program(t, &mut dice);
                let access = Access { ip: Ip(1), addr: Addr(addr), width: 8, kind };
                let (time, cpu, stack) = (Nanos(time), Cpu(t as u32), StackId::NONE);
                if let Some(Budget(rate)) = self.budget {
                    balances[t] = (balances[t] + rate).min(Budget::MOST);
                }
                let whole = plans[t].is_some_and(|p| p.is_whole_line() && p.line == access.addr.line());
                if whole {
                    plans[t] = None;
                    balances[t] -= 1.0;
                    events.extend(detectors[t].on_touch(Touch { access, time, cpu, stack }));
                }
                let hit = plans[t].and_then(|p| p.watched().iter().copied().find(|c| c.0 == addr));
                if let Some(chunk) = hit {
                    plans[t] = None;
                    balances[t] -= 1.0;
                    let trap = Trap { chunk, time, cpu, stack, access: Some(access), kind: None, ip: Ip(2) };
                    events.extend(detectors[t].on_trap(trap));
                }
                next[t] -= 1.0;
                if next[t] > 0.0 {
                    continue;
                }
                next[t] += match self.sampling {
                    Sampling::Random => -(1.0 - dice.unit()).ln() * self.period,
                    Sampling::Jitter(j) => self.period * (1.0 + j * (2.0 * dice.unit() - 1.0)),
                    Sampling::Stratified => {
                        let before = std::mem::replace(&mut offsets[t], dice.unit() * self.period);
                        self.period - before + offsets[t]
                    }
                };
                let watch = match self.budget {
                    Some(_) => {
                        let chance = Budget::chance(balances[t]);
                        (dice.unit() < chance).then_some(1.0 / chance as f32)
                    }
                    None => Some(1.0),
                };
                let population = Population::Step;
                let input = Input { access, time, cpu, stack, population, weight: 1.0, watch };
                let decision = detectors[t].on_sample(&board, input);
                balances[t] -= f64::from(u8::from(decision.arm.is_some()));
                events.extend(decision.event);
                if decision.arm.is_some() || decision.disarm {
                    plans[t] = decision.arm;
                }
                assert_eq!(plans[t].as_ref(), detectors[t].armed());
            }
        }
        events
    }
}

/// A weighted fraction with the standard error of 40 batch means (events in a row are not independent).
pub fn fraction(events: &[SharingEvent], pick: impl Fn(&SharingEvent) -> bool) -> (f64, f64) {
    let total: f64 = events.iter().map(|e| f64::from(e.weight)).sum();
    let picked: f64 = events.iter().filter(|e| pick(e)).map(|e| f64::from(e.weight)).sum();
    let ratio = picked / total;
    let batch = events.len().div_ceil(40).max(1);
    let squares: f64 = events
        .chunks(batch)
        .map(|c| {
            c.iter()
                .map(|e| f64::from(e.weight) * (f64::from(u8::from(pick(e))) - ratio))
                .sum::<f64>()
                .powi(2)
        })
        .sum();
    (ratio, squares.sqrt() / total)
}

pub fn is_false(event: &SharingEvent) -> bool {
    event.class == SharingClass::False
}

/// Listing 5.2 of the thesis: with probability F an atomic add to the thread's own word of a shared line,
/// else one to a common word on another line.
pub fn false_sharing(f: f64) -> impl FnMut(usize, &mut Dice) -> (u64, AccessKind) {
    move |t, dice| {
        let addr = if dice.unit() < f { 0x10_0000 + 8 * t as u64 } else { 0x20_0040 };
        (addr, AccessKind::ReadModifyWrite)
    }
}

impl std::fmt::Debug for Machine<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { threads, board, config, period, sampling, seed, budget, running: _ } = self;
        write!(
            f,
            "{threads} threads, board {board}, {config:?}, period {period}, {sampling:?}, seed {seed}, {budget:?}"
        )
    }
}
