//! The sum of a matrix, row by row or column by column: the same instructions, and other misses (thesis of A. Sterz, section
//! 4.1.3).

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::json;

use crate::error::Error;
use crate::output::Output;
use crate::padded::LINE_BYTES;

/// Sums a square matrix of 64-bit words, in one thread.
///
/// Both orders execute the same instructions. expected.misses is the number of loads that come to another cache line than a cache
/// of fewer than expected.column_bytes bytes still has.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  carom-workloads traverse --order rows --size 4096
  carom-workloads traverse --order columns --size 4096")]
pub struct Options {
    /// In which order.
    #[arg(long, value_enum, default_value_t = Order::Rows)]
    order: Order,

    /// Rows, and columns.
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u64).range(8..=LARGEST))]
    size: u64,

    /// How often.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    repeat: u64,
}

/// The most rows: 2 GiB.
const LARGEST: u64 = 16_384;

/// The order of the loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Along the rows, as the words lie in memory.
    Rows,
    /// Along the columns: each load is a row further.
    Columns,
}

/// Adds up `size` times `size` words. From one word of the inner loop to the next are `inner` words, from one of the outer loop to
/// the next `outer`. Loads of atomics stay one each in an optimised build.
#[inline(never)]
fn sum(matrix: &[AtomicU64], size: usize, outer: usize, inner: usize) -> u64 {
    let mut sum = 0_u64;
    for i in 0..size {
        for j in 0..size {
            sum = sum.wrapping_add(matrix[i * outer + j * inner].load(Relaxed));
        }
    }
    sum
}

/// Runs the workload.
///
/// # Errors
/// None so far.
#[inline(never)]
pub fn run(options: &Options) -> Result<Output, Error> {
    let size = options.size as usize;
    let words = options.size * options.size;
    let matrix: Vec<AtomicU64> = (0..words).map(AtomicU64::new).collect();
    let (outer, inner) = match options.order {
        Order::Rows => (size, 1),
        Order::Columns => (1, size),
    };
    let start = Instant::now();
    let mut total = 0_u64;
    for _ in 0..options.repeat {
        total = total.wrapping_add(sum(&matrix, size, black_box(outer), black_box(inner)));
    }
    let wall = start.elapsed();
    let words_of_line = (LINE_BYTES / size_of::<u64>()) as u64;
    let misses = match options.order {
        Order::Rows => words.div_ceil(words_of_line),
        Order::Columns => words,
    };
    Ok(Output {
        workload: "traverse",
        parameters: json!({ "order": options.order, "size": size, "repeat": options.repeat }),
        expected: json!({
            "checksum": (words * (words - 1) / 2).wrapping_mul(options.repeat),
            "function": "sum",
            "loads": words * options.repeat,
            "misses": misses * options.repeat,
            "column_bytes": size * LINE_BYTES,
            "matrix_bytes": words * size_of::<u64>() as u64,
            "granularity_bytes": LINE_BYTES,
        }),
        measured: json!({ "checksum": total, "wall_s": wall.as_secs_f64() }),
        notes: vec![
            "loads and misses: of the function alone; the matrix is written once before, along the rows"
                .to_owned(),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_orders_have_the_sum_of_all_words() {
        for (order, misses) in [(Order::Rows, 2 * 13), (Order::Columns, 2 * 100)] {
            let output = run(&Options { order, size: 10, repeat: 2 }).unwrap();
            // 0 + 1 + ... + 99 is 4950.
            assert_eq!(output.expected["checksum"], 9900);
            assert_eq!(output.measured["checksum"], 9900);
            assert_eq!(output.expected["misses"], misses);
        }
    }
}
