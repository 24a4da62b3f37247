//! SHARDS against the exact curve.

use carom_base::{Access, AccessKind, Addr, CellClass, DistanceKind, Ip, ReuseCell, Scope, ThreadId};
use carom_base_reuse::exact::{Config, Domain, Exact, Sampling};

/// Marsaglia's xorshift64.
fn random(state: &mut u64) -> f64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) as f64 / (1u64 << 53) as f64
}

/// Lines of two threads: half of the accesses to one of `lines` with a probability that decreases with its number,
/// half in cycles over a tenth of them.
fn trace(lines: u64, length: u64) -> Vec<(ThreadId, Access)> {
    let mut state = 0x9876_5432_1234_5679;
    let one = |nth: u64| {
        let skewed = (lines as f64 * random(&mut state).powi(4)) as u64;
        let line = if nth.is_multiple_of(2) { skewed } else { lines + nth / 2 % (lines / 10) };
        let thread = if random(&mut state) < 0.5 { 0 } else { 1 };
        let kind = if random(&mut state) < 0.1 { AccessKind::Store } else { AccessKind::Load };
        let access = Access { ip: Ip(1), addr: Addr(0x10_0000 + line * 64), width: 8, kind };
        (ThreadId(thread), access)
    };
    (0..length).map(one).collect()
}

fn run(trace: &[(ThreadId, Access)], sampling: Sampling) -> (Vec<ReuseCell>, Exact) {
    let config = Config { sampling, shared: true, ..Config::default() };
    let mut exact = Exact::new(&config).expect("valid");
    for (thread, access) in trace {
        exact.access(*thread, Domain(0), access);
    }
    let cells = [0, 1].into_iter().flat_map(|thread| exact.drain(ThreadId(thread))).collect();
    (cells, exact)
}

/// Miss ratios of the shared cache at powers of two; the number of all touches.
fn curve(cells: &[ReuseCell]) -> (Vec<f64>, u64) {
    let counted =
        || cells.iter().filter(|cell| (cell.scope, cell.distance) == (Scope::Shared, DistanceKind::Stack));
    let all: u64 = counted().map(|cell| cell.count).sum();
    let misses = |size: u64| -> u64 {
        let missing =
            |cell: &&ReuseCell| !matches!(cell.class, CellClass::Reuse(_)) || cell.bin.low() >= size;
        counted().filter(missing).map(|cell| cell.count).sum()
    };
    ((4..20).map(|bit| misses(1 << bit) as f64 / all as f64).collect(), all)
}

fn check(sampling: Sampling, most: f64) {
    let trace = trace(100_000, 1_000_000);
    let (truth, touches) = curve(&run(&trace, Sampling::All).0);
    assert_eq!(touches, 1_000_000);
    let (cells, exact) = run(&trace, sampling);
    let (estimate, touches) = curve(&cells);
    // The correction compensates for which places are followed; fractions of a touch remain, less than one per cell.
    assert!(touches.abs_diff(1_000_000) < cells.len() as u64, "{touches}");
    let error = truth.iter().zip(&estimate).map(|(truth, estimate)| (truth - estimate).abs());
    let mean = error.sum::<f64>() / truth.len() as f64;
    assert!(mean <= most, "{mean}: {truth:.3?} {estimate:.3?}");
    let said = exact.sampling(ThreadId(0), Scope::Shared, 64).expect("it is sampled");
    // Two thirds of the errors are below one standard error; the mean over sizes is below three.
    assert!(said.standard_error > 0.0 && mean < 3.0 * said.standard_error, "{said:?} {mean}");
    assert!(said.standard_error < 3.0 * most, "{said:?}");
    assert!(said.rate < 0.3 && said.touches > 400_000 && said.sampled < 200_000, "{said:?}");
}

#[test]
fn a_fixed_rate_is_close() {
    check(Sampling::Rate(0.05), 0.01);
}

/// 110,000 places in two private stacks or one shared one.
#[test]
fn a_fixed_size_is_close() {
    check(Sampling::Places(8192), 0.01);
}

#[test]
fn nothing_is_said_of_what_is_exact() {
    let (_, exact) = run(&trace(100, 100), Sampling::All);
    assert_eq!(exact.sampling(ThreadId(0), Scope::Private, 64), None);
}
