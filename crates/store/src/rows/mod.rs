//! How rows become columns and back.

mod access;
mod counter;
mod event;
mod footprint;
mod instruction;
mod name;
mod object;
mod place;
mod reuse_cell;
mod reuse_event;
mod sample;
mod stack;
mod stream_frame;

use std::fmt;

use access::{Accesses, check_access, encode_accesses, share_line};
pub use counter::CounterRow;
pub use footprint::FootprintRow;
pub use instruction::InstructionCounts;
pub use name::{About, Name, Question};
pub use object::HeapObject;
pub use place::PlaceCounts;
pub use stack::{MAX_FRAMES, Stack};
pub use stream_frame::{FrameTotals, StreamFrame};

use crate::chunk::{ColumnReader, ColumnWriter, Kind};
use crate::error::Damage;
use crate::rules::{Report, RowContext};

/// A kind of row that a recording holds: the type of one table. Nothing outside this crate can implement it; a type
/// that does is listed in `tables.rs`.
pub trait Row: Clone + fmt::Debug + Send + Sized + 'static {
    /// The code in chunks, and the file.
    const KIND: Kind;

    /// Whether rows refer to call paths, which are on disk before them then.
    const HAS_STACKS: bool;

    /// Bytes that the row takes in memory: the measure by which the writer decides when a chunk is due. The
    /// columns of a row take at most twice as many.
    fn bytes(&self) -> usize {
        size_of::<Self>()
    }

    /// Appends the rows' columns.
    #[doc(hidden)]
    fn encode(rows: &[Self], columns: &mut ColumnWriter);

    /// The inverse of `encode` for `rows` rows.
    #[doc(hidden)]
    fn decode(rows: u32, columns: &mut ColumnReader<'_>) -> Result<Vec<Self>, Damage>;

    /// Reports every rule that the row breaks.
    #[doc(hidden)]
    fn check(&self, context: &mut RowContext<'_>, report: Report<'_>);
}

/// Collects rows without trusting their stated number with an allocation.
fn collect<R>(rows: u32, row: impl FnMut(u32) -> Result<R, Damage>) -> Result<Vec<R>, Damage> {
    (0..rows).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use carom_base::{
        Access, AccessKind, Addr, CellClass, Cpu, DistanceKind, EarlierWrite, Ip, Locality, LogBin, Nanos,
        Population, ProcessId, ReuseCell, ReuseEvent, ReuseKind, ReuseOutcome, Sample, SampleOutcome, Scope,
        SharingClass, SharingEvent, Skip, StackId, ThreadId, Touch, Via,
    };

    /// The columns as `docs/format.md` lists them: `i` integers, `b` bytes, `w` words, `f` floats, each with
    /// the bytes of its entries in hexadecimal. An integer n that comes first is the byte 2n.
    fn columns<R: Row>(rows: &[R]) -> String {
        let mut columns = ColumnWriter::default();
        R::encode(rows, &mut columns);
        let payload = columns.into_payload();
        let mut rest = &payload[..];
        let mut text = Vec::new();
        while let [kind, a, b, c, d, tail @ ..] = rest {
            let length = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
            let bytes: String = tail[..length].iter().map(|byte| format!("{byte:02x}")).collect();
            text.push(format!("{}:{bytes}", ["b", "i", "w", "f"][usize::from(*kind)]));
            rest = &tail[length..];
        }
        text.join(" ")
    }

    const ACCESS: Access = Access { ip: Ip(0x11), addr: Addr(0x12), width: 0x13, kind: AccessKind::Store };

    #[test]
    fn columns_of_samples() {
        let hit = Sample {
            thread: ThreadId(1),
            time: Nanos(2),
            cpu: Cpu(3),
            population: Population::Step,
            part: 5,
            outcome: SampleOutcome::Access(ACCESS),
            stack: StackId(6),
            doublings: 7,
        };
        let skipped = Sample { outcome: SampleOutcome::Skipped(Ip(0x12), Skip::AddressLost), ..hit };
        assert_eq!(
            columns(&[hit, skipped]),
            "i:0200 i:0400 i:0600 b:0101 b:0505 b:0183 i:2202 i:24 i:26 w:06000000000000000600000000000000 b:0707",
        );
    }

    /// Before the period could change there was no column of doublings.
    #[test]
    fn columns_of_samples_of_a_fixed_period() {
        let mut columns = ColumnWriter::default();
        let sample = |doublings| Sample {
            thread: ThreadId(1),
            time: Nanos(2),
            cpu: Cpu(3),
            population: Population::Step,
            part: 5,
            outcome: SampleOutcome::Access(ACCESS),
            stack: StackId(6),
            doublings,
        };
        Sample::encode(&[sample(0)], &mut columns);
        let mut payload = columns.into_payload();
        // Its type, its length and its only entry.
        payload.truncate(payload.len() - 6);
        let decoded = Sample::decode(1, &mut ColumnReader::new(&payload));
        assert_eq!(decoded.ok(), Some(vec![sample(0)]));
        let mut columns = ColumnWriter::default();
        Sample::encode(&[sample(Sample::MOST_DOUBLINGS + 1)], &mut columns);
        let refused = Sample::decode(1, &mut ColumnReader::new(&columns.into_payload()));
        assert_eq!(refused.err(), Some(Damage::Value));
    }

    #[test]
    fn columns_of_events() {
        let event = SharingEvent {
            thread: ThreadId(1),
            time: Nanos(2),
            cpu: Cpu(3),
            population: Population::Step,
            via: Via::Watchpoint,
            class: SharingClass::False,
            weight: 8.0,
            later: ACCESS,
            exact: true,
            stack: StackId(9),
            earlier: EarlierWrite {
                thread: ThreadId(4),
                time: Nanos(5),
                cpu: Cpu(6),
                access: Access { ip: Ip(0x21), kind: AccessKind::ReadModifyWrite, ..ACCESS },
                stack: StackId(7),
            },
        };
        // 8.0 is 2^3: exponent 127 + 3 = 130, which is 0x41 and one bit of the next byte.
        assert_eq!(
            columns(&[event]),
            "i:02 i:04 i:06 b:01 b:01 b:01 f:00000041 i:22 i:24 i:26 b:01 b:01 w:0900000000000000 \
             i:08 i:0a i:0c i:42 i:24 i:26 b:02 w:0700000000000000",
        );
    }

    #[test]
    fn columns_of_stacks() {
        let long =
            Stack { process: ProcessId(1), id: StackId(2), frames: vec![Ip(3), Ip(5)], truncated: true };
        let short = Stack { frames: vec![Ip(4)], truncated: false, ..long.clone() };
        // Depths 2 and 1; frames 3, 5, 4 as +3, +2, -1.
        assert_eq!(
            columns(&[long, short]),
            "i:0200 w:02000000000000000200000000000000 b:0100 i:0401 i:060401",
        );
    }

    #[test]
    fn columns_of_objects() {
        let object =
            HeapObject { process: ProcessId(1), base: Addr(2), size: 3, site: StackId(4), seen: Nanos(5) };
        assert_eq!(columns(&[object]), "i:02 i:04 i:06 w:0400000000000000 i:0a");
    }

    #[test]
    fn columns_of_names() {
        let question = Question { process: ProcessId(1), about: About::Field, at: Addr(2), of: 3 };
        let name = Name { question, answer: r#""a""#.to_owned() };
        let short = Name { answer: "1".to_owned(), ..name.clone() };
        assert_eq!(
            columns(&[name, short]),
            "i:0200 b:0202 i:0400 w:03000000000000000300000000000000 i:0603 b:22612231",
        );
    }

    #[test]
    fn columns_of_reuse_events() {
        let earlier =
            Touch { thread: ThreadId(1), time: Nanos(2), cpu: Cpu(3), access: ACCESS, stack: StackId(9) };
        let later = Touch { thread: ThreadId(4), time: Nanos(5), cpu: Cpu(6), stack: StackId(7), ..earlier };
        let reused = ReuseEvent {
            scope: Scope::Shared,
            locality: Locality::Spatial,
            outcome: ReuseOutcome::Reused,
            earlier,
            later: Some(later),
            distance: 10,
            weight: 8.0,
        };
        let replaced = ReuseEvent { outcome: ReuseOutcome::Replaced, later: None, ..reused };
        assert_eq!(
            columns(&[reused, replaced]),
            "b:0101 b:0101 b:0002 i:1400 f:0000004100000041 \
             i:0200 i:0400 i:0600 i:2200 i:2400 i:2600 b:0101 w:09000000000000000900000000000000 \
             b:0100 i:08 i:0a i:0c i:22 i:24 i:26 b:01 w:0700000000000000",
        );
    }

    #[test]
    fn columns_of_reuse_cells() {
        let all = ReuseCell {
            thread: ThreadId(1),
            scope: Scope::Private,
            distance: DistanceKind::Stack,
            granularity: 64,
            class: CellClass::Reuse(ReuseKind::Waw),
            bin: LogBin(5),
            from_other: true,
            pair: None,
            at: Addr(0),
            count: 3,
        };
        let pair = ReuseCell { pair: Some((Ip(1), Ip(2))), at: Addr(3), class: CellClass::First, ..all };
        // 64 is the code 128, which takes two bytes of seven bits.
        assert_eq!(
            columns(&[all, pair]),
            "i:0200 b:0000 b:0101 b:0204 i:800100 i:0a00 i:0600 b:0101 b:0001 i:02 i:04 i:06",
        );
    }
}
