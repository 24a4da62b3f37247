//! A loop with an exact number of instructions, and one contended access at a chosen position.
//!
//! Timer-driven profilers are biased towards what follows slow instructions, and the bias depends on the length of
//! the loop and on the position of the slow access. Here both are known exactly.

mod code;
mod position;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use clap::Args;
use serde_json::{Value, json};

use self::code::{Contended, PRIVATE_WORDS, Row};
use self::position::Position;
use crate::error::Error;
use crate::options::Common;
use crate::output::{Output, parameters};
use crate::padded::{LINE_BYTES, Padded, address};
use crate::runner;

/// Runs a loop of exactly LENGTH instructions of which one, number POSITION, accesses a contended word.
///
/// About every fourth of the other instructions accesses private memory; the last two count down and jump
/// back, so positions run from 0 to LENGTH - 3. There are loops of 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128,
/// 160 and 200 instructions (--list).
///
/// expected tells the word's address, and the instruction's: absolute, and as function and offset. With
/// --contended load, worker-0 runs the loop that stores. After lock-add, measured.final_value is the sum of
/// the iterations; after add, the rest was lost to races.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  carom-workloads contended-loop --length 64 --position middle --seconds 4
  carom-workloads contended-loop --length 200 --position 17 --contended store
  carom-workloads contended-loop --list")]
pub struct Options {
    #[command(flatten)]
    common: Common,

    /// Instructions per iteration.
    #[arg(long, default_value_t = 16)]
    length: u64,

    /// Where the contended instruction is: a number from 0, first, quarter, middle, three-quarters or last.
    #[arg(long, default_value = "middle")]
    position: Position,

    /// The contended instruction.
    #[arg(long, value_enum, default_value_t = Contended::LockAdd)]
    contended: Contended,

    /// Print the lengths and positions that there are, instead of running.
    #[arg(long)]
    list: bool,
}

/// The contended word.
static CONTENDED_WORD: Padded<AtomicU64> = Padded(AtomicU64::new(0));

/// Runs the workload, or lists the loops.
///
/// # Errors
/// Where there is no such loop, or the threads cannot be started or pinned.
pub fn run(options: &Options) -> Result<Output, Error> {
    if options.list {
        return Ok(list());
    }
    let main = find(options, options.contended)?;
    // A line that is only read moves nowhere, so among readers there is one writer.
    let writer = match options.contended {
        Contended::Load => Some(find(options, Contended::Store)?),
        Contended::LockAdd | Contended::Add | Contended::Store => None,
    };
    let finished = runner::run(options.common.team(), |worker| {
        let row = writer.filter(|_| worker == 0).unwrap_or(main);
        let mut private = Padded([0; PRIVATE_WORDS]);
        let mut iterations = 0_u64;
        for pass in options.common.length().passes() {
            row.run(&CONTENDED_WORD, &mut private, pass);
            iterations += pass;
        }
        iterations
    })?;

    let adds = matches!(options.contended, Contended::LockAdd | Contended::Add);
    let threads: Vec<usize> = (0..options.common.threads).collect();
    let split = threads.len().min(usize::from(writer.is_some()));
    let (writers, others) = threads.split_at(split);
    let mut loops = vec![describe(main, options.contended, others)];
    loops.extend(writer.map(|row| describe(row, Contended::Store, writers)));
    Ok(Output {
        workload: "contended-loop",
        parameters: parameters(
            &options.common,
            &finished,
            json!({ "length": main.length, "position": main.position, "contended": options.contended }),
        ),
        expected: json!({
            "word": address(&CONTENDED_WORD),
            "line": format!("{:#x}", CONTENDED_WORD.as_ptr() as usize / LINE_BYTES * LINE_BYTES),
            "object": "CONTENDED_WORD",
            "function": main.symbol(options.contended),
            "contended_offset_bytes": main.contended_offset,
            "loops": loops,
        }),
        measured: json!({
            "iterations": finished.results,
            "final_value": adds.then(|| CONTENDED_WORD.load(Relaxed)),
            "wall_s": finished.wall.as_secs_f64(),
        }),
        notes: Vec::new(),
    })
}

/// One loop for the reader: its code, and which threads run it.
fn describe(row: &Row, contended: Contended, threads: &[usize]) -> Value {
    json!({
        "function": row.symbol(contended),
        "function_address": format!("{:#x}", row.address()),
        "function_bytes": row.size,
        "loop_offset_bytes": row.loop_offset,
        "contended_offset_bytes": row.contended_offset,
        "contended_address": format!("{:#x}", row.address() as u64 + row.contended_offset),
        "contended": contended,
        "threads": threads,
    })
}

/// The loop that was asked for.
fn find(options: &Options, contended: Contended) -> Result<&'static Row, Error> {
    let length = options.length;
    if !lengths().contains(&length) {
        let available = lengths().iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        return Err(Error::NoSuchLength { length, available });
    }
    let position = options.position.in_loop_of(length);
    code::table()
        .iter()
        .find(|row| row.is(contended) && row.length == length && row.position == position)
        .ok_or(Error::NoSuchPosition { position, length, last: Position::LAST.in_loop_of(length) })
}

/// The lengths that there are, ascending.
fn lengths() -> Vec<u64> {
    let mut lengths: Vec<u64> = code::table().iter().map(|row| row.length).collect();
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

/// The positions that there are in loops of this length, ascending.
fn positions(length: u64) -> Vec<u64> {
    let mut positions: Vec<u64> =
        code::table().iter().filter(|row| row.length == length).map(|row| row.position).collect();
    positions.sort_unstable();
    positions.dedup();
    positions
}

/// All loops, as the expected values of a run.
fn list() -> Output {
    let loops: Vec<Value> = lengths()
        .into_iter()
        .map(|length| json!({ "length": length, "positions": positions(length) }))
        .collect();
    Output {
        workload: "contended-loop",
        parameters: json!({ "list": true }),
        expected: json!({ "loops": loops }),
        measured: json!({}),
        notes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_has_all_positions_before_its_two_closing_instructions() {
        assert_eq!(lengths(), [4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 160, 200]);
        for length in lengths() {
            assert_eq!(positions(length), (0..length - 2).collect::<Vec<_>>());
            assert_eq!(positions(length).last(), Some(&Position::LAST.in_loop_of(length)));
        }
    }
}
