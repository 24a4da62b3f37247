//! Sampled uses and counts of the exact mode, as words.

use carom_base::{
    Addr, CellClass, Cpu, DistanceKind, Ip, Locality, LogBin, Nanos, ReuseCell, ReuseEvent, ReuseOutcome,
    Scope, StackId, ThreadId, Touch,
};

use super::{MAX_RECORD_WORDS, first_word, pack_access, unpack_access};

pub(super) const REUSE: u64 = 5;
pub(super) const CELL: u64 = 6;

const REUSE_HEAD: usize = 3;
const TOUCH_WORDS: usize = 6;
const CELL_WORDS: usize = 3;
const PAIR_WORDS: usize = 3;

/// Lengths of a use that was given up, and of one that another access decided.
pub(super) const REUSE_LENGTHS: [usize; 2] = [REUSE_HEAD + TOUCH_WORDS, REUSE_HEAD + 2 * TOUCH_WORDS];

/// Lengths of a count of all instructions, and of one pair of them.
pub(super) const CELL_LENGTHS: [usize; 2] = [CELL_WORDS, CELL_WORDS + PAIR_WORDS];

fn touch_words(touch: &Touch) -> [u64; TOUCH_WORDS] {
    [
        u64::from(touch.thread.0) | u64::from(touch.cpu.0) << 32,
        touch.time.0,
        touch.access.ip.0,
        touch.access.addr.0,
        pack_access(&touch.access),
        touch.stack.0,
    ]
}

fn touch(words: &[u64]) -> Option<Touch> {
    let &[place, time, ip, addr, packed, stack] = words else { return None };
    Some(Touch {
        thread: ThreadId(place as u32),
        time: Nanos(time),
        cpu: Cpu((place >> 32) as u32),
        access: unpack_access(ip, addr, packed)?,
        stack: StackId(stack),
    })
}

pub(super) fn encode_event(event: &ReuseEvent, words: &mut [u64; MAX_RECORD_WORDS]) -> usize {
    let length = REUSE_LENGTHS[usize::from(event.later.is_some())];
    let rest = event.scope as u64 | (event.locality as u64) << 8 | (event.outcome as u64) << 16;
    words[0] = first_word(REUSE, length, rest);
    words[1] = event.distance;
    words[2] = u64::from(event.weight.to_bits());
    words[REUSE_HEAD..REUSE_HEAD + TOUCH_WORDS].copy_from_slice(&touch_words(&event.earlier));
    if let Some(later) = &event.later {
        words[REUSE_HEAD + TOUCH_WORDS..length].copy_from_slice(&touch_words(later));
    }
    length
}

pub(super) fn event(body: &[u64]) -> Option<ReuseEvent> {
    let (head, touches) = body.split_first_chunk::<REUSE_HEAD>()?;
    let (earlier, later) = touches.split_at_checked(TOUCH_WORDS)?;
    let &[first, distance, weight] = head;
    let rest = first >> 16;
    let weight = f32::from_bits(weight as u32);
    // A use that was replaced may have passed its weight on.
    if !(weight.is_finite() && weight >= 0.0) {
        return None;
    }
    Some(ReuseEvent {
        scope: Scope::from_u8(rest as u8)?,
        locality: Locality::from_u8((rest >> 8) as u8)?,
        outcome: ReuseOutcome::from_u8((rest >> 16) as u8)?,
        earlier: touch(earlier)?,
        later: if later.is_empty() { None } else { Some(touch(later)?) },
        distance,
        weight,
    })
}

pub(super) fn encode_cell(cell: &ReuseCell, words: &mut [u64; MAX_RECORD_WORDS]) -> usize {
    let length = CELL_LENGTHS[usize::from(cell.pair.is_some())];
    let rest = cell.scope as u64
        | (cell.distance as u64) << 2
        | u64::from(cell.class.code()) << 3
        | u64::from(cell.from_other) << 6
        | u64::from(cell.granularity.trailing_zeros()) << 8
        | u64::from(cell.bin.0) << 16;
    words[..CELL_WORDS].copy_from_slice(&[
        first_word(CELL, length, rest),
        u64::from(cell.thread.0),
        cell.count,
    ]);
    if let Some((earlier, later)) = cell.pair {
        words[CELL_WORDS..length].copy_from_slice(&[earlier.0, later.0, cell.at.0]);
    }
    length
}

pub(super) fn cell(body: &[u64]) -> Option<ReuseCell> {
    let (head, rest_of_pair) = body.split_first_chunk::<CELL_WORDS>()?;
    let (pair, at) = match *rest_of_pair {
        [earlier, later, at] => (Some((Ip(earlier), Ip(later))), Addr(at)),
        _ => (None, Addr(0)),
    };
    let &[first, thread, count] = head;
    let rest = first >> 16;
    let bin = LogBin((rest >> 16) as u16);
    if usize::from(bin.0) >= LogBin::COUNT {
        return None;
    }
    Some(ReuseCell {
        thread: ThreadId(thread as u32),
        scope: Scope::from_u8((rest & 3) as u8)?,
        distance: DistanceKind::from_u8((rest >> 2 & 1) as u8)?,
        granularity: 1u32.checked_shl((rest >> 8) as u8 as u32)?,
        class: CellClass::from_code((rest >> 3 & 7) as u8)?,
        bin,
        from_other: rest >> 6 & 1 == 1,
        pair,
        at,
        count,
    })
}

#[cfg(test)]
mod tests {
    use carom_base::{Access, AccessKind, ReuseKind};
    use proptest::prelude::*;

    use super::super::{DecodeError, Record, decode, encode};
    use super::*;

    fn check(record: Record) {
        let mut words = [0; MAX_RECORD_WORDS];
        let length = encode(&record, &mut words);
        assert_eq!(decode(&words, ThreadId(7)), Ok((record, length)));
        assert_eq!(decode(&words[..length - 1], ThreadId(7)), Err(DecodeError::Incomplete));
    }

    fn any_touch() -> impl Strategy<Value = Touch> {
        (any::<(u32, u64, u32, u64, u64, u64)>(), 1..u32::MAX, 0_u8..3).prop_map(
            |((thread, time, cpu, ip, addr, stack), width, kind)| Touch {
                thread: ThreadId(thread),
                time: Nanos(time),
                cpu: Cpu(cpu),
                access: Access {
                    ip: Ip(ip),
                    addr: Addr(addr),
                    width,
                    kind: AccessKind::from_u8(kind).expect("a kind"),
                },
                stack: StackId(stack),
            },
        )
    }

    proptest! {
        #[test]
        fn every_use_survives_a_round_trip(
            (scope, locality, outcome) in (0_u8..2, 0_u8..3, 0_u8..4),
            earlier in any_touch(),
            later in proptest::option::of(any_touch()),
            distance: u64,
            weight in 0.0_f32..1e30,
        ) {
            check(Record::Reuse(ReuseEvent {
                scope: Scope::from_u8(scope).expect("a scope"),
                locality: Locality::from_u8(locality).expect("a locality"),
                outcome: ReuseOutcome::from_u8(outcome).expect("an outcome"),
                earlier,
                later,
                distance,
                weight,
            }));
        }

        #[test]
        fn every_count_survives_a_round_trip(
            (scope, distance, class) in (0_u8..2, 0_u8..2, 0_u8..6),
            (thread, count) in any::<(u32, u64)>(),
            bits in 0_u32..32,
            bin in 0..LogBin::COUNT as u16,
            from_other: bool,
            pair in proptest::option::of(any::<(u64, u64, u64)>()),
        ) {
            check(Record::Cell(ReuseCell {
                thread: ThreadId(thread),
                scope: Scope::from_u8(scope).expect("a scope"),
                distance: DistanceKind::from_u8(distance).expect("a distance"),
                granularity: 1 << bits,
                class: CellClass::from_code(class).expect("a class"),
                bin: LogBin(bin),
                from_other,
                pair: pair.map(|(earlier, later, _)| (Ip(earlier), Ip(later))),
                at: pair.map_or(Addr(0), |(.., at)| Addr(at)),
                count,
            }));
        }

        /// Whatever follows a first word that is possible: a record, or a refusal of just that length.
        #[test]
        fn hostile_bodies_are_refused_as_a_whole(
            kind in REUSE..=CELL,
            pick in 0_usize..2,
            rest: u64,
            body in proptest::collection::vec(any::<u64>(), 15),
        ) {
            let lengths = if kind == REUSE { REUSE_LENGTHS } else { CELL_LENGTHS };
            let mut words = body;
            words[0] = first_word(kind, lengths[pick], rest & 0xffff_ffff);
            match decode(&words, ThreadId(0)) {
                Ok((_, words)) | Err(DecodeError::BadContent { words }) => prop_assert_eq!(words, lengths[pick]),
                Err(other) => prop_assert!(false, "{:?}", other),
            }
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let cell = ReuseCell {
            thread: ThreadId(1),
            scope: Scope::Private,
            distance: DistanceKind::Time,
            granularity: 64,
            class: CellClass::Reuse(ReuseKind::Raw),
            bin: LogBin(0),
            from_other: false,
            pair: None,
            at: Addr(0),
            count: 1,
        };
        let refuses = |change: fn(u64) -> u64| {
            let mut words = [0; MAX_RECORD_WORDS];
            encode(&Record::Cell(cell), &mut words);
            words[0] = change(words[0]);
            assert_eq!(decode(&words, ThreadId(0)), Err(DecodeError::BadContent { words: 3 }));
        };
        // The granularity lies at bits 24 to 31, the bin at 32 to 47, the class at 19 to 21.
        refuses(|first| first | 32 << 24);
        refuses(|first| first | 1920 << 32);
        refuses(|first| first | 7 << 19);
    }
}
