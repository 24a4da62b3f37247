//! A small rayon program of known result: sorts and folds numbers in parallel and prints a checksum that
//! depends on the arguments alone, not on the number of threads.

use std::process::ExitCode;

use clap::Parser;
use rayon::prelude::*;

/// Sorts and folds N numbers in parallel, several times, and prints a checksum.
#[derive(Parser)]
#[command(name = "carom-rayon", version)]
struct Cli {
    /// How many numbers.
    #[arg(long, default_value_t = 4_000_000)]
    numbers: u64,

    /// How often everything is done.
    #[arg(long, default_value_t = 30)]
    rounds: u64,

    /// Where the numbers start.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// SplitMix64: number `index` of a sequence, computable in any order and so by any thread.
fn number(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Sorts the numbers and sums each times its rank, so that the sum depends on the order.
fn round(numbers: u64, seed: u64) -> u64 {
    let mut values: Vec<u64> = (0..numbers).into_par_iter().map(|index| number(seed, index)).collect();
    values.par_sort_unstable();
    values
        .par_iter()
        .enumerate()
        .map(|(rank, &value)| value.wrapping_mul(rank as u64 + 1))
        .reduce(|| 0, u64::wrapping_add)
}

fn main() -> ExitCode {
    let Cli { numbers, rounds, seed } = Cli::parse();
    let checksum = (0..rounds)
        .map(|turn| round(numbers, seed.wrapping_add(turn)))
        .fold(0_u64, |sum, value| sum.rotate_left(1) ^ value);
    println!("numbers {numbers} rounds {rounds} checksum {checksum:016x}");
    ExitCode::SUCCESS
}
