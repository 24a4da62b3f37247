//! The 20 named cases of tables 6.5 to 6.7. Three pairs are the same: `short-bell` and `short-bell-1`, `long-bell` and
//! `long-bell-1`, `short-decreasing` and `short-decreasing-1`.

use serde_json::{Value, json};

use super::bins::Bins;
use super::parameters::{ARRAYS, Parameters, Repeated};

/// One case.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// As given on the command line.
    pub name: &'static str,
    /// The number of the table in chapter 6 of the thesis.
    pub table: u8,
    /// What the table says.
    pub parameters: Parameters,
    /// The bins of its histogram.
    pub bins: Bins,
}

impl Preset {
    /// As an object.
    pub fn json(&self) -> Value {
        let mut object = self.parameters.json();
        object["name"] = json!(self.name);
        object["table"] = json!(format!("6.{}", self.table));
        object["bin_start"] = json!(self.bins.start);
        object["bin_ratio"] = json!(self.bins.ratio);
        object
    }
}

/// Finds a case by its name.
///
/// # Errors
/// A sentence for the command line, where there is none.
pub fn find(name: &str) -> Result<&'static Preset, String> {
    PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| {
        let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        format!("none of {}", names.join(", "))
    })
}

/// Iterations of the outer loop in all cases.
const OUTER: u64 = 10;

const fn preset(name: &'static str, table: u8, bins: Bins, loops: [(u64, u64); ARRAYS], inv: u64) -> Preset {
    let [a, b, c, d, e] = loops;
    let loops = [repeated(a), repeated(b), repeated(c), repeated(d), repeated(e)];
    Preset { name, table, parameters: Parameters { outer: OUTER, loops, inv }, bins }
}

const fn repeated((passes, accesses): (u64, u64)) -> Repeated {
    Repeated { passes, accesses }
}

/// Bins of the cases whose distances are below a sampling period of 100,000.
const SHORT: Bins = Bins { start: 1100, ratio: 2 };

/// Bins of the others.
const LONG: Bins = Bins { start: 110_000, ratio: 2 };

/// All cases, in the order of the tables. A pair is passes and accesses.
#[rustfmt::skip]
pub static PRESETS: [Preset; 20] = [
    preset("short-increasing", 5, SHORT, [(20, 1000), (20, 2000), (20, 4000), (20, 8000), (20, 16_000)], 0),
    preset("short-decreasing", 5, SHORT, [(200, 1000), (60, 2000), (15, 4000), (4, 8000), (2, 16_000)], 0),
    preset("short-bell", 5, SHORT, [(50, 1000), (40, 2000), (40, 4000), (10, 8000), (3, 16_000)], 0),
    preset("short-multimodal", 5, SHORT, [(100, 1000), (30, 2000), (24, 4000), (8, 8000), (7, 16_000)], 0),
    preset("long-increasing", 5, LONG, [(10, 100_000), (10, 200_000), (10, 400_000), (10, 800_000), (10, 1_600_000)], 0),
    preset("long-decreasing", 5, LONG, [(100, 100_000), (30, 200_000), (12, 400_000), (5, 800_000), (2, 1_600_000)], 0),
    preset("long-bell", 5, LONG, [(50, 100_000), (40, 200_000), (40, 400_000), (10, 800_000), (3, 1_600_000)], 0),
    preset("long-multimodal", 5, LONG, [(100, 100_000), (30, 200_000), (24, 400_000), (8, 800_000), (7, 1_600_000)], 0),
    preset("short-bell-1", 6, SHORT, [(50, 1000), (40, 2000), (40, 4000), (10, 8000), (3, 16_000)], 0),
    preset("short-bell-2", 6, SHORT, [(50, 500), (40, 1500), (40, 3500), (10, 7500), (3, 15_500)], 1000),
    preset("short-bell-3", 6, SHORT, [(50, 0), (40, 1000), (40, 3000), (10, 7000), (3, 15_000)], 2000),
    preset("long-bell-1", 6, LONG, [(50, 100_000), (40, 200_000), (40, 400_000), (10, 800_000), (3, 1_600_000)], 0),
    preset("long-bell-2", 6, LONG, [(50, 50_000), (40, 150_000), (40, 350_000), (10, 750_000), (3, 1_550_000)], 100_000),
    preset("long-bell-3", 6, LONG, [(50, 0), (40, 100_000), (40, 300_000), (10, 700_000), (3, 1_500_000)], 200_000),
    preset("short-decreasing-1", 7, SHORT, [(200, 1000), (60, 2000), (15, 4000), (4, 8000), (2, 16_000)], 0),
    preset("short-decreasing-2", 7, SHORT, [(200, 500), (60, 1500), (15, 3500), (4, 7500), (2, 15_500)], 1000),
    preset("short-decreasing-3", 7, SHORT, [(200, 0), (60, 1000), (15, 3000), (4, 7000), (2, 15_000)], 2000),
    preset("long-decreasing-1", 7, LONG, [(200, 100_000), (60, 200_000), (15, 400_000), (4, 800_000), (2, 1_600_000)], 0),
    preset("long-decreasing-2", 7, LONG, [(200, 50_000), (60, 150_000), (15, 350_000), (4, 750_000), (2, 1_550_000)], 100_000),
    preset("long-decreasing-3", 7, LONG, [(200, 0), (60, 100_000), (15, 300_000), (4, 700_000), (2, 1_500_000)], 200_000),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seventeen_of_the_twenty_differ() {
        let mut different: Vec<Parameters> = Vec::new();
        for preset in &PRESETS {
            if !different.contains(&preset.parameters) {
                different.push(preset.parameters);
            }
        }
        assert_eq!(different.len(), 17);
    }

    /// Short distances are below the sampling period of 100,000, long ones are not (section 6.5.2); and none lies on an
    /// edge, so that it does not matter whether a distance is counted in the thesis' way or in carom's.
    #[test]
    fn distances_are_as_short_or_long_as_the_names_say_and_off_the_edges() {
        for preset in &PRESETS {
            let parameters = &preset.parameters;
            for &of in &parameters.loops {
                let distance = parameters.pass(of);
                assert_eq!(distance < 100_000, preset.name.starts_with("short"), "{}", preset.name);
                assert_eq!(preset.bins.of(distance), preset.bins.of(distance - 1), "{}", preset.name);
            }
            assert!(parameters.are_countable(1024));
        }
    }
}
