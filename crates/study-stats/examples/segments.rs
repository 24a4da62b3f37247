//! Segments of signals with known changes: a row of CSV for each signal, for `measurements/phases-01-segments`.
//!
//! Usage: `segments POINTS SIGNALS`

use std::{env, time::Instant};

use carom_study_stats::{Number, segments};

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
struct Random(u64);

impl Random {
    /// From 0 to below 1, all alike.
    fn fraction(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Nearly normal with deviation 1: the sum of twelve uniform numbers.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.fraction()).sum::<f64>() - 6.0
    }
}

/// Where a signal changes, in parts of its length, and the signal at each of `points` moments. It rises or falls between changes,
/// and jumps at them.
fn signal(points: usize, changes: usize, noise: f64, random: &mut Random) -> (Vec<f64>, Vec<f64>) {
    let places: Vec<f64> = (1..=changes)
        .map(|index| (index as f64 + 0.4 * (random.fraction() - 0.5)) / (changes + 1) as f64)
        .collect();
    let parts: Vec<(f64, f64)> = (0..=changes)
        .map(|index| {
            let sign = if index % 2 == 0 { 1.0 } else { -1.0 };
            (sign * (0.5 + random.fraction()), 3.0 * (random.fraction() - 0.5))
        })
        .collect();
    let (mut height, mut from, mut part) = (0.0, 0.0, 0);
    let mut y = Vec::with_capacity(points);
    for index in 0..points {
        let t = index as f64 / points as f64;
        while places.get(part).is_some_and(|place| t >= *place) {
            height += parts[part].1 * (places[part] - from) + parts[part + 1].0;
            from = places[part];
            part += 1;
        }
        y.push(height + parts[part].1 * (t - from) + noise * random.normal());
    }
    (places, y)
}

fn main() {
    const NOISE: f64 = 0.05;
    let mut arguments = env::args().skip(1).map(|argument| argument.parse::<usize>().unwrap_or(0));
    let (points, signals) = (arguments.next().unwrap_or(1_000_000), arguments.next().unwrap_or(15));
    let mut random = Random(7);
    println!("points,changes,found,near,seconds");
    for number in 0..signals {
        let (places, y) = signal(points, 2 + number % 5, NOISE, &mut random);
        let t: Vec<f64> = (0..points).map(|index| index as f64 / points as f64).collect();
        let begun = Instant::now();
        let found = segments(&t, &y, points / 50, Number::AtMost(8));
        let seconds = begun.elapsed().as_secs_f64();
        // Within a hundredth of the length.
        let is_near = |place: &&f64| found.iter().skip(1).any(|each| (t[each.begin] - **place).abs() < 0.01);
        let near = places.iter().filter(is_near).count();
        println!("{points},{},{},{near},{seconds:.4}", places.len(), found.len() - 1);
    }
}
