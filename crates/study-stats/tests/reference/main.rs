//! Our statistics against SciPy's and statsmodels', on random data (`fixtures/statistics`).

mod comparisons;
mod fits;

/// The largest relative difference that passes.
const RELATIVE: f64 = 1e-9;

/// Compares one number. Where reference numbers are tiny, so may be the difference.
#[track_caller]
fn close(what: &str, ours: f64, reference: f64) {
    close_within(RELATIVE, what, ours, reference);
}

/// The same with another tolerance.
#[track_caller]
fn close_within(relative: f64, what: &str, ours: f64, reference: f64) {
    let most = relative * reference.abs();
    assert!((ours - reference).abs() <= most, "{what}: {ours:e} instead of {reference:e}");
}

/// The text of a fixture.
fn fixture(name: &str) -> String {
    let path = format!("{}/../../fixtures/statistics/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).expect("the fixture is in the repository")
}
