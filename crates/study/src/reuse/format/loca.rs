//! `.dat` of Loca's footprint tools: a line of totals, then a window size per line with the average footprint, the
//! part of the accesses with that reuse time, and the miss ratio, for places of 64 and of 4 bytes.
//!
//! Loca counts a reuse time from use to reuse: ours and one. [`from_times`] converts.

use thiserror::Error;

/// A whole file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loca {
    /// Accesses.
    pub accesses: u64,
    /// Different places of 64 and of 4 bytes.
    pub places: [u64; 2],
    /// Duration of the run in seconds.
    pub seconds: u64,
    /// Window sizes, ascending.
    pub windows: Vec<Window>,
}

/// One window size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Loca's number of the bin: exact below 256, then 256 to a doubling.
    pub index: u32,
    /// Accesses in the window, the smallest of the bin.
    pub accesses: u64,
    /// For places of 64 and of 4 bytes; NaN where not known.
    pub places: [Footprint; 2],
}

/// What a window of this size holds on average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Footprint {
    /// Average bytes of different places.
    pub bytes: f64,
    /// Part of the accesses whose reuse time is in the bin.
    pub part: f64,
    /// Part of the accesses whose reuse time is longer, or that are no reuse: the miss ratio of a cache of `bytes`.
    pub miss_ratio: f64,
}

impl Footprint {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self { bytes: f64::NAN, part: f64::NAN, miss_ratio: f64::NAN };
}

/// The text is not a file of Loca's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LocaError {
    /// The first line lacks a total.
    #[error("the first line has no {0}")]
    NoTotal(&'static str),
    /// A line that is not two whole numbers and six others.
    #[error("line {0}: expected a number, a window size and six numbers")]
    NoWindow(usize),
}

/// Bits of a window size that are kept behind its leading one.
const KEPT_BITS: u32 = 8;

/// The bin of a reuse time.
pub fn index(time: u64) -> u32 {
    if time < 1 << KEPT_BITS {
        return time as u32;
    }
    let shift = time.ilog2() - KEPT_BITS;
    ((shift + 1) << KEPT_BITS) + ((time >> shift) as u32 & ((1 << KEPT_BITS) - 1))
}

/// The smallest reuse time of a bin.
fn window(index: u32) -> u64 {
    match index >> KEPT_BITS {
        0 => u64::from(index),
        shift => {
            let kept = u64::from((1 << KEPT_BITS) + (index & ((1 << KEPT_BITS) - 1)));
            kept.checked_shl(shift - 1).unwrap_or(u64::MAX)
        }
    }
}

/// A file from time distances, ascending, each with its part of the accesses (the rest are first accesses), of places
/// of 64 bytes.
///
/// The average footprint grows with the window by the miss ratio (Xiang and others, ASPLOS 2013, equation 9), which
/// leaves out the borders of the trace: exact where windows are short against it.
pub fn from_times(
    times: impl IntoIterator<Item = (u64, f64)>,
    accesses: u64,
    lines: u64,
    seconds: u64,
) -> Loca {
    const LINE: f64 = 64.0;
    let mut parts: Vec<(u32, f64)> = Vec::new();
    for (distance, part) in times {
        let bin = index(distance.saturating_add(1));
        match parts.last_mut() {
            Some((last, sum)) if *last == bin => *sum += part,
            _ => parts.push((bin, part)),
        }
    }
    let (mut footprint, mut miss_ratio, mut before) = (0.0, 1.0_f64, 0);
    let mut windows = Vec::new();
    for (bin, part) in parts {
        let size = window(bin);
        footprint += miss_ratio * (size - before) as f64;
        before = size;
        miss_ratio = (miss_ratio - part).max(0.0);
        let known = Footprint { bytes: footprint * LINE, part, miss_ratio };
        windows.push(Window { index: bin, accesses: size, places: [known, Footprint::UNKNOWN] });
    }
    Loca { accesses, places: [lines, 0], seconds, windows }
}

/// The text of a file.
pub fn write(loca: &Loca) -> String {
    let [lines, words] = loca.places;
    let mut text = format!("N:{} M1:{lines} M2:{words} total_time:{}\n", loca.accesses, loca.seconds);
    for Window { index, accesses, places } in &loca.windows {
        text.push_str(&format!("{index}\t{accesses}"));
        for Footprint { bytes, part, miss_ratio } in places {
            text.push_str(&format!("\t{bytes}\t{part}\t{miss_ratio}"));
        }
        text.push('\n');
    }
    text
}

/// A file's text.
///
/// # Errors
/// The first line that is not as Loca writes it.
pub fn read(text: &str) -> Result<Loca, LocaError> {
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default();
    let total = |name: &'static str| {
        let mut words = head.split_whitespace();
        let value = words.find_map(|word| word.strip_prefix(name)?.strip_prefix(':')?.parse().ok());
        value.ok_or(LocaError::NoTotal(name))
    };
    let mut loca = Loca {
        accesses: total("N")?,
        places: [total("M1")?, total("M2")?],
        seconds: total("total_time")?,
        windows: Vec::new(),
    };
    for (number, line) in (2..).zip(lines).filter(|(_, line)| !line.trim().is_empty()) {
        loca.windows.push(parse(line).ok_or(LocaError::NoWindow(number))?);
    }
    Ok(loca)
}

fn parse(line: &str) -> Option<Window> {
    let mut words = line.split_whitespace();
    let index = words.next()?.parse().ok()?;
    let accesses = words.next()?.parse().ok()?;
    let mut footprint = || {
        let mut number = || words.next()?.parse::<f64>().ok();
        Some(Footprint { bytes: number()?, part: number()?, miss_ratio: number()? })
    };
    Some(Window { index, accesses, places: [footprint()?, footprint()?] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_locas() {
        for time in (0..2000).chain([1 << 20, (1 << 20) + 4095, 1 << 40]) {
            let bin = index(time);
            assert!(window(bin) <= time && time < window(bin + 1), "{time}");
        }
        // 1,000 is 0b1111101000: shift 1, 500 = 256 + 244 kept, in the group behind the exact ones and the first.
        assert_eq!((index(255), index(256), index(1000)), (255, 256, 2 * 256 + 244));
    }

    /// A loop over 10 lines, 1,000 times: all but 10 of 10,000 accesses have 9 others in between, reuse time 10. The
    /// footprint grows by one a step up to 10 lines, and 10 lines leave the first accesses as misses.
    #[test]
    fn a_loop_has_its_size_as_footprint() {
        let loca = from_times([(9, 0.999)], 10_000, 10, 1);
        let [window] = loca.windows[..] else { panic!("{loca:?}") };
        assert_eq!((window.index, window.accesses), (10, 10));
        let [lines, words] = window.places;
        assert_eq!((lines.bytes, lines.part), (640.0, 0.999));
        assert!((lines.miss_ratio - 0.001).abs() < 1e-12);
        assert!(words.bytes.is_nan());
    }

    #[test]
    fn a_file_is_read_back() {
        let text = "N:1000 M1:10 M2:100 total_time:3\n1\t1\t64\t0.5\t0.5\t4\t0.25\t0.75\n2\t2\t96\t0.25\t0.25\t7\t0\t0.75\n";
        let loca = read(text).unwrap();
        assert_eq!((loca.accesses, loca.places, loca.seconds, loca.windows.len()), (1000, [10, 100], 3, 2));
        assert_eq!(loca.windows[1].places[1], Footprint { bytes: 7.0, part: 0.0, miss_ratio: 0.75 });
        assert_eq!(write(&loca), text);
    }

    #[test]
    fn what_is_no_such_file_is_refused() {
        let error = |text| read(text).unwrap_err().to_string();
        assert_eq!(error(""), "the first line has no N");
        assert_eq!(error("N:1 M1:x M2:3 total_time:4"), "the first line has no M1");
        assert_eq!(
            error("N:1 M1:2 M2:3 total_time:4\n1 2 3"),
            "line 2: expected a number, a window size and six numbers"
        );
    }
}
