//! Counts of the exact mode, which agents append to a file of their own.

use std::path::Path;

use carom_base::{ReuseCell, ThreadId};
use carom_base_wire::{DecodeError, Record, decode};

use super::tail::Tail;

/// Read in one go at most; the rest waits for the next visit.
const MOST_BYTES: u64 = 16 << 20;

/// How far a file of counts has been read.
#[derive(Default)]
pub struct CellFile {
    /// It ends with the beginning of a record that was not whole yet.
    tail: Tail,
}

/// The result of one visit.
#[derive(Debug, Default, PartialEq)]
pub struct Cells {
    /// The counts, their threads being serials.
    pub cells: Vec<ReuseCell>,
    /// Words that were no count.
    pub garbage: u64,
}

impl CellFile {
    /// The new counts of the file.
    pub fn read(&mut self, path: &Path) -> Cells {
        self.tail.read(path, MOST_BYTES);
        let bytes = &mut self.tail.bytes;
        let words: Vec<u64> =
            bytes.chunks_exact(8).filter_map(|b| b.try_into().ok()).map(u64::from_le_bytes).collect();
        let (found, used) = parse(&words);
        bytes.drain(..used * 8);
        found
    }
}

/// The counts at the front of `words`, and the number of words that were used, garbage included.
fn parse(words: &[u64]) -> (Cells, usize) {
    let mut found = Cells::default();
    let mut rest = words;
    while !rest.is_empty() {
        let taken = match decode(rest, ThreadId(0)) {
            Ok((Record::Cell(cell), length)) => {
                found.cells.push(cell);
                length
            }
            Ok((_, length)) | Err(DecodeError::BadContent { words: length }) => {
                found.garbage += length as u64;
                length
            }
            Err(DecodeError::Incomplete) => break,
            Err(DecodeError::BadLength) => {
                found.garbage += rest.len() as u64;
                rest.len()
            }
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    let used = words.len() - rest.len();
    (found, used)
}

#[cfg(test)]
mod tests {
    use carom_base::{Addr, CellClass, DistanceKind, Ip, LogBin, ReuseKind, Scope};
    use carom_base_wire::{MAX_RECORD_WORDS, encode};

    use super::*;

    fn cell(count: u64) -> ReuseCell {
        ReuseCell {
            thread: ThreadId(3),
            scope: Scope::Shared,
            distance: DistanceKind::Stack,
            granularity: 64,
            class: CellClass::First,
            bin: LogBin(0),
            from_other: false,
            pair: None,
            at: Addr(0),
            count,
        }
    }

    fn pair(count: u64) -> ReuseCell {
        let class = CellClass::Reuse(ReuseKind::Rar);
        ReuseCell { class, pair: Some((Ip(7), Ip(8))), at: Addr(9), ..cell(count) }
    }

    fn bytes(cell: ReuseCell) -> Vec<u8> {
        let mut words = [0; MAX_RECORD_WORDS];
        let length = encode(&Record::Cell(cell), &mut words);
        words[..length].iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn a_count_that_is_half_written_waits_for_its_rest() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("7.1.cells");
        let whole = [bytes(cell(1)), bytes(pair(2))].concat();
        let mut file = CellFile::default();
        assert_eq!(file.read(&path), Cells::default(), "not there yet");
        std::fs::write(&path, &whole[..bytes(cell(1)).len() + 11]).unwrap();
        assert_eq!(file.read(&path).cells, [cell(1)]);
        std::fs::write(&path, &whole).unwrap();
        assert_eq!(file.read(&path), Cells { cells: vec![pair(2)], garbage: 0 });
        assert_eq!(file.read(&path), Cells::default());
    }

    #[test]
    fn what_is_no_count_is_counted() {
        // A record of kind 1, a sample, has 6 words; here it is in the wrong file and has no width.
        let mut words = vec![1 | 6 << 8, 0, 0, 0, 0, 0];
        words.extend(bytes(cell(5)).chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())));
        assert_eq!(parse(&words), (Cells { cells: vec![cell(5)], garbage: 6 }, 9));
        assert_eq!(parse(&[u64::MAX, 1, 2]), (Cells { cells: Vec::new(), garbage: 3 }, 3));
    }
}
