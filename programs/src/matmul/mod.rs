//! A matrix multiplication in two orders: the textbook's, whose reuses do not fit into caches, and by tiles.

mod multiply;
mod reuses;

use std::time::Instant;

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::json;

use crate::error::Error;
use crate::output::Output;

/// Multiplies two square matrices of doubles, in one thread.
///
/// expected.reuses lists which loads come back to a line in which loop, and how many bytes a cache must hold to keep
/// it until then: those larger than a cache are its misses. Both variants have the same checksum, exactly.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  carom-workloads matmul --variant naive --size 512
  carom-workloads matmul --variant tiled --size 512 --tile 32")]
pub struct Options {
    /// In which order.
    #[arg(long, value_enum, default_value_t = Variant::Naive)]
    variant: Variant,

    /// Rows, and columns, of each matrix.
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u64).range(1..=LARGEST))]
    size: u64,

    /// Rows, and columns, of a tile.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u64).range(1..=LARGEST))]
    tile: u64,

    /// How often.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    repeat: u64,
}

/// The most rows: up to there all sums, of whole numbers below 60 * 3 * 5 * LARGEST^3 < 2^53, are exact.
const LARGEST: u64 = 16_384;

/// The order of the loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Over i, j and k.
    Naive,
    /// Over tiles, and in each over i, j and k.
    Tiled,
}

impl Variant {
    fn function(self) -> &'static str {
        match self {
            Self::Naive => "multiply_naive",
            Self::Tiled => "multiply_tiled",
        }
    }
}

/// An element of the first factor: whole, from 0 to 6.
fn of_a(row: usize, column: usize) -> f64 {
    ((3 * row + column) % 7) as f64
}

/// An element of the second factor: whole, from 0 to 10.
fn of_b(row: usize, column: usize) -> f64 {
    ((row + 5 * column) % 11) as f64
}

/// What a row, and a column, of the product counts in the checksum: whole, from 1 to 3, and 1 to 5.
fn row_weight(row: usize) -> f64 {
    (1 + row % 3) as f64
}

fn column_weight(column: usize) -> f64 {
    (1 + column % 5) as f64
}

/// The checksum of the product, without it: sum over k of (sum over i of u_i a_ik) * (sum over j of b_kj v_j).
fn expected_checksum(size: usize) -> f64 {
    (0..size)
        .map(|k| {
            let column: f64 = (0..size).map(|i| row_weight(i) * of_a(i, k)).sum();
            let row: f64 = (0..size).map(|j| of_b(k, j) * column_weight(j)).sum();
            column * row
        })
        .sum()
}

fn checksum(product: &[f64], size: usize) -> f64 {
    product
        .iter()
        .enumerate()
        .map(|(at, value)| row_weight(at / size) * column_weight(at % size) * value)
        .sum()
}

/// Runs the workload.
///
/// # Errors
/// None so far.
#[inline(never)]
pub fn run(options: &Options) -> Result<Output, Error> {
    let (size, tile) = (options.size as usize, options.tile as usize);
    let elements = size * size;
    // Each on a line of its own, by which profilers name them.
    let mut a = vec![0.0; elements];
    let mut b = vec![0.0; elements];
    let mut c = vec![0.0; elements];
    for (at, (of_first, of_second)) in a.iter_mut().zip(&mut b).enumerate() {
        (*of_first, *of_second) = (of_a(at / size, at % size), of_b(at / size, at % size));
    }
    let start = Instant::now();
    for _ in 0..options.repeat {
        c.fill(0.0);
        match options.variant {
            Variant::Naive => multiply::multiply_naive(&a, &b, &mut c, size),
            Variant::Tiled => multiply::multiply_tiled(&a, &b, &mut c, size, tile),
        }
    }
    let wall = start.elapsed();

    let tile_bytes = 3 * tile * tile * size_of::<f64>();
    Ok(Output {
        workload: "matmul",
        parameters: json!({
            "variant": options.variant, "size": size, "tile": tile, "repeat": options.repeat,
        }),
        expected: json!({
            "checksum": expected_checksum(size),
            "function": options.variant.function(),
            "multiplications": elements as u64 * options.size * options.repeat,
            "matrix_bytes": elements * size_of::<f64>(),
            "three_tiles_bytes": (options.variant == Variant::Tiled).then_some(tile_bytes),
            "granularity_bytes": crate::padded::LINE_BYTES,
            "reuses": reuses::reuses(options.variant, size, tile),
        }),
        measured: json!({ "checksum": checksum(&c, size), "wall_s": wall.as_secs_f64() }),
        notes: vec![
            "reuses: of the loads of a and b in the multiplication; a fully associative cache of less than `bytes` \
             misses them. Approximate: first accesses and the ends of rows and tiles are left out"
                .to_owned(),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Size 2: a = [0 1; 3 4], b = [0 5; 1 6], so c = [1 6; 4 39]; weights 1, 2 by row and by column:
    /// 1 + 2 * 6 + 2 * 4 + 4 * 39 = 177.
    #[test]
    fn the_checksum_by_hand() {
        assert_eq!(checksum(&[1.0, 6.0, 4.0, 39.0], 2), 177.0);
        assert_eq!(expected_checksum(2), 177.0);
    }
}
