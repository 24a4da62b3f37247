//! `/tmp/perf-PID.map`: one routine in a line, `START SIZE NAME`, numbers in hexadecimal digits (Linux,
//! `tools/perf/Documentation/jit-interface.txt`).

use std::io::{BufRead, Read};
use std::ops::Range;

use super::{MOST_NAME_BYTES, Malformed};

/// Longer lines are cut: two numbers and a name.
const MOST_LINE_BYTES: u64 = MOST_NAME_BYTES as u64 + 40;

/// Hands every routine to `add`, in order. Lines of another form are skipped, and so is a last one without an end, which the
/// process did not finish.
pub(super) fn read(
    input: &mut impl BufRead,
    mut add: impl FnMut(Range<u64>, &str) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    let mut line = Vec::new();
    loop {
        line.clear();
        input.by_ref().take(MOST_LINE_BYTES).read_until(b'\n', &mut line)?;
        match line.pop() {
            None => return Ok(()),
            Some(b'\n') => {}
            Some(_) if line.len() as u64 + 1 < MOST_LINE_BYTES => return Ok(()),
            Some(_) => {
                input.skip_until(b'\n')?;
            }
        }
        if let Some((code, name)) = parse(&String::from_utf8_lossy(&line)) {
            add(code, name)?;
        }
    }
}

fn parse(line: &str) -> Option<(Range<u64>, &str)> {
    let (start, rest) = line.split_once(' ')?;
    let (size, name) = rest.split_once(' ')?;
    let start = hexadecimal(start)?;
    Some((start..start.saturating_add(hexadecimal(size)?), name.trim())).filter(|(_, name)| !name.is_empty())
}

/// Java writes `0x` before its numbers.
fn hexadecimal(digits: &str) -> Option<u64> {
    u64::from_str_radix(digits.strip_prefix("0x").unwrap_or(digits), 16).ok()
}
