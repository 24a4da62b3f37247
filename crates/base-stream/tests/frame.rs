//! Streams as bytes and back.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use carom_base::{Access, AccessKind, Addr, Domain, Ip, MAX_VARINT_BYTES, Nanos, ThreadId};
use carom_base_stream::{
    Act, Mark, Stamp, Streamed, Synchronisation,
    frame::{
        BatchHead, Content, Encoder, Frame, FrameError, Head, MAX_FRAME_BYTES, MOST_ACCESSES, split,
        with_thread,
    },
};
use proptest::prelude::*;

fn encode(frame: &Frame) -> Vec<u8> {
    let (mut encoder, mut out) = (Encoder::default(), Vec::new());
    let Frame { thread, at, content } = frame;
    match content {
        Content::Begin => encoder.begin(*thread, *at, &mut out),
        Content::End => encoder.end(*thread, *at, &mut out),
        Content::Batch { domain, pauses, stamps, marks, accesses } => {
            let head =
                BatchHead { thread: *thread, domain: *domain, at: *at, pauses: *pauses, stamps, marks };
            accesses.iter().for_each(|access| encoder.accesses().push(access));
            encoder.batch(&head, &mut out);
        }
    }
    out
}

/// The only frame in `bytes`, without its length.
fn only(bytes: &[u8]) -> &[u8] {
    let (frame, rest) = split(bytes).unwrap().unwrap();
    assert_eq!(rest, []);
    frame
}

fn streamed(ip: u64, addr: u64, kind: AccessKind) -> Streamed {
    Streamed { access: Access { ip: Ip(ip), addr: Addr(addr), width: 8, kind }, atomic: false }
}

/// Three rounds of a loop that loads from a row and stores at one place.
#[test]
fn bytes_are_as_documented() {
    let (load, store) = (AccessKind::Load, AccessKind::Store);
    let round = |n: u64| [streamed(16, 3 + 8 * n, load), streamed(20, 9, store)];
    let accesses: Vec<_> = (0..3).flat_map(round).collect();
    let stamps = vec![Stamp { accesses: 2, at: Nanos(99) }];
    let content = Content::Batch { domain: Domain(5), pauses: true, stamps, marks: Vec::new(), accesses };
    let frame = Frame { thread: ThreadId(7), at: Nanos(100), content };
    let bytes = encode(&frame);
    let expected = [
        28, // bytes
        7, 100, 6, // a batch of thread 7, handed over at 100
        6, // accesses
        5, 1, // in domain 5; it pauses
        1, 2, 1, // a stamp: two accesses; difference -1
        2, 1, 1, // two blocks of one site
        32, 8, 0, 6, 8, 8, 1, 12, // +16, 8 bytes, loads, first at 3; +4, 8 bytes, stores, first at +6
        3,  // bytes of executions
        9, 0,  // two blocks as expected, then block 0, where 2 was
        12, // three as expected
        2, 16, 1,
        16, // after two accesses, and after one more, one that is +8 from the last of its site
    ];
    assert_eq!(bytes, expected);
    assert_eq!(Frame::decode(only(&bytes)), Ok(frame));
}

/// The same loop as a block, with another load 4 bytes behind the first: there is nothing to tell but how often it was executed, and where
/// it begins.
#[test]
fn a_block_is_executed_as_one() {
    let mut encoder = Encoder::default();
    let (load, store) = (AccessKind::Load, AccessKind::Store);
    let round = |n: u64| {
        [(streamed(16, 3 + 8 * n, load), 0), (streamed(20, 9, store), 1), (streamed(24, 7 + 8 * n, load), 0)]
    };
    for n in 0..100 {
        let addresses = [3 + 8 * n, 9];
        let times = encoder.accesses().block(7, [&addresses[..]].into_iter(), || round(n).into_iter());
        assert_eq!(times, 1);
    }
    assert_eq!(encoder.accesses().len(), 300);
    let head = BatchHead {
        thread: ThreadId(7),
        domain: Domain(5),
        at: Nanos(100),
        pauses: false,
        stamps: &[],
        marks: &[],
    };
    let mut bytes = Vec::new();
    encoder.batch(&head, &mut bytes);
    let expected = [
        30, 7, 100, 6, 0xac, 2, 5, 0, 0, // a batch of 300 accesses
        1, 3, 32, 8, 0, 6, 8, 8, 1, 12, // one block of three sites: of the first two as above,
        8, 8, 4, 0, 8, // and of a load (0, and 4) at the block's first address, and 4
        2, // bytes of executions
        2, 100, // the block as expected, but 100 times instead of once
        2, 16, 1, 16, // after two addresses, and after one more, +8: from then on that is expected
    ];
    assert_eq!(bytes, expected);
    let frame = Frame::decode(only(&bytes)).unwrap();
    let Content::Batch { accesses, .. } = frame.content else { panic!("a batch") };
    assert_eq!(accesses, (0..100).flat_map(round).map(|(access, _)| access).collect::<Vec<_>>());
    let head = Head { thread: ThreadId(7), at: Nanos(100), accesses: Some(300) };
    assert_eq!(Head::decode(only(&bytes)), Ok(head));
}

/// Blocks of memory that are copied byte by byte, up and down, some in a row, by two instructions, among other accesses: the bytes do not
/// depend on their sizes, and all accesses come back.
#[test]
fn what_an_instruction_repeats_is_told_once() {
    let byte = |ip, addr, kind| {
        let Streamed { access, atomic } = streamed(ip, addr, kind);
        Streamed { access: Access { width: 1, ..access }, atomic }
    };
    let copy = |ip, from: u64, to: u64| [byte(ip, from, AccessKind::Load), byte(ip, to, AccessKind::Store)];
    let lengths = [1, 2, 3, 4, 5, 1000, 7, 8000];
    let sizes = |scale: usize| {
        let (mut encoder, mut expected, mut bytes) = (Encoder::default(), Vec::new(), Vec::new());
        for (n, length) in (0..).zip(lengths) {
            for (ip, times, stride) in [(16, length, 1), (16, length * scale / 2, u64::MAX), (20, 3, 8)] {
                let first = copy(ip, 0x10_0000 * n, 0x1000_0000 + 0x9_0000 * n);
                encoder.accesses().repeated(first.into_iter(), times, stride);
                for time in 0..times as u64 {
                    let offset = stride.wrapping_mul(time);
                    let [load, store] = first.map(|each| each.access.addr.0.wrapping_add(offset));
                    expected.extend(copy(ip, load, store));
                }
            }
            let other = streamed(24, 8 * n, AccessKind::Load);
            encoder.accesses().repeated([other].into_iter(), 1, 0);
            encoder.accesses().push(&byte(16, n, AccessKind::Load));
            expected.extend([other, byte(16, n, AccessKind::Load)]);
        }
        // The code at this address is another one now.
        let other = [byte(16, 1, AccessKind::Load), byte(16, 2, AccessKind::ReadModifyWrite)];
        encoder.accesses().repeated(other.into_iter(), 9, 0);
        expected.extend([other; 9].concat());
        assert_eq!(encoder.accesses().len(), expected.len());
        let (thread, domain, at) = (ThreadId(7), Domain(5), Nanos(100));
        let head = BatchHead { thread, domain, at, pauses: false, stamps: &[], marks: &[] };
        encoder.batch(&head, &mut bytes);
        let Content::Batch { accesses, .. } = Frame::decode(only(&bytes)).unwrap().content else {
            panic!("a batch")
        };
        assert!(accesses == expected);
        bytes.len()
    };
    // Numbers of executions and of accesses take another byte.
    let [short, long] = [sizes(1), sizes(2)];
    assert!(long < short + 8, "{short} {long}");
}

/// A lock is taken before the only access, and given back behind it.
#[test]
fn marks_are_as_documented() {
    let mark = |accesses, at, what| Mark {
        accesses,
        at: Nanos(at),
        synchronisation: Synchronisation { what, object: Addr(64) },
    };
    let content = Content::Batch {
        domain: Domain(0),
        pauses: false,
        stamps: Vec::new(),
        marks: vec![mark(0, 97, Act::Lock), mark(1, 99, Act::Unlock)],
        accesses: vec![streamed(0, 1, AccessKind::Load)],
    };
    let frame = Frame { thread: ThreadId(7), at: Nanos(100), content };
    let bytes = encode(&frame);
    let expected = [
        25, // bytes
        7, 100, 7, // a batch with marks
        1, 0, 0, 0, // one access; no stamps
        2, 0, 5, 8, 0x80, 1, // two marks: before the first access, -3, a lock, +64;
        1, 4, 10, 0, // one access later, +2, an unlock, of the same
        1, 1, 0, 8, 0, 2, // one block of one site, first accessed at 1
        1, 4, // one execution, as expected
    ];
    assert_eq!(bytes, expected);
    assert_eq!(Frame::decode(only(&bytes)), Ok(frame));
}

#[test]
fn beginnings_and_ends_are_short() {
    for (content, what) in [(Content::Begin, 0), (Content::End, 2)] {
        let frame = Frame { thread: ThreadId(1), at: Nanos(128), content };
        assert_eq!(encode(&frame), [4, 1, 0x80, 1, what]);
        assert_eq!(Frame::decode(only(&encode(&frame))), Ok(frame));
    }
}

#[test]
fn every_mistake_is_named() {
    use FrameError::*;
    // Two accesses of one site, with a stamp behind them.
    // Block 0 as expected, but twice.
    let good = [1, 9, 6, 2, 0, 0, 1, 2, 0, 1, 1, 2, 8, 0, 2, 2, 2, 2];
    assert!(Frame::decode(&good).is_ok());
    let missed = [&good[..], &[5, 2]].concat();
    assert_eq!(Frame::decode(&missed), Err(MissBehindEnd));
    for (at, byte, error) in [
        (2, 1, Earlier),
        (2, 4, Earlier),
        (2, 8, UnknownFrame(8)),
        (3, 1, StampBehindEnd),
        (3, 3, TooFew(1)),
        (5, 2, OutOfRange("whether the thread pauses")),
        (7, 3, StampBehindEnd),
        (9, 9, TooMany("blocks")),
        (10, 0, OutOfRange("a number of sites")),
        (10, 3, TooMany("sites")),
        (12, 0, OutOfRange("a width")),
        (13, 8, OutOfRange("a kind")),
        // It follows from an address that is not there.
        (13, 4, OutOfRange("an address")),
        // -1, of 8 bytes.
        (14, 1, AddressWraps),
        (15, 9, TooMany("executions")),
        // Block 2; two as expected, of which the second is 1.
        (16, 1, UnknownBlock(2)),
        (16, 9, UnknownBlock(1)),
        (17, 0, OutOfRange("a number of executions")),
        (17, 3, TooMany("accesses")),
    ] {
        let mut bytes = good;
        bytes[at] = byte;
        assert_eq!(Frame::decode(&bytes), Err(error), "{byte} at {at}");
    }
    // One access with a mark behind it.
    let good = [1, 9, 7, 1, 0, 0, 0, 1, 1, 0, 8, 0, 1, 1, 0, 8, 0, 2, 1, 4];
    assert!(Frame::decode(&good).is_ok());
    for (at, byte, error) in [
        (2, 5, Earlier),
        (7, 0, OutOfRange("a number of marks")),
        (7, 9, TooMany("marks")),
        (8, 2, MarkBehindEnd),
        (10, 19, OutOfRange("a synchronisation")),
    ] {
        let mut bytes = good;
        bytes[at] = byte;
        assert_eq!(Frame::decode(&bytes), Err(error), "{byte} at {at}");
    }
    let most = [1, 9, 6, 0x81, 0x80, 4];
    assert_eq!((MOST_ACCESSES, Frame::decode(&most)), (0x1_0000, Err(TooMany("accesses"))));
    assert_eq!(Frame::decode(&[1, 9, 2, 0]), Err(LeftOver(1)));
    assert_eq!(split(&[0xff, 0xff, 0xff, 0xff, 1]), Err(TooLong(0x1fff_ffff)));
}

/// 64 Ki accesses, as many as are handed over at once: each of another instruction, all as far from each other as can be.
#[test]
fn the_largest_batch_fits() {
    let far = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 1;
    let accesses: Vec<_> =
        (0..MOST_ACCESSES as u64).map(|n| streamed(far(n), far(n + 1), AccessKind::Load)).collect();
    let stamps =
        (1..=accesses.len()).map(|accesses| Stamp { accesses, at: Nanos(far(accesses as u64)) }).collect();
    let content = Content::Batch { domain: Domain(0), pauses: false, stamps, marks: Vec::new(), accesses };
    let bytes = encode(&Frame { thread: ThreadId(0), at: Nanos(0), content });
    assert!((MAX_FRAME_BYTES / 2..MAX_FRAME_BYTES).contains(&bytes.len()), "{}", bytes.len());
}

fn accesses() -> impl Strategy<Value = Vec<Streamed>> {
    let kind = prop::sample::select(vec![
        (AccessKind::Load, false),
        (AccessKind::Store, false),
        (AccessKind::ReadModifyWrite, false),
        (AccessKind::ReadModifyWrite, true),
    ]);
    // Few instructions, so that some follow each other again; near addresses and far ones.
    let addr = prop_oneof![0..300u64, any::<u64>()];
    let width = prop_oneof![4 => Just(8u32), 1 => 1..=u32::MAX];
    let access = (0..6u64, addr, width, kind).prop_map(|(ip, addr, width, (kind, atomic))| {
        let addr = Addr(addr.min(u64::MAX - u64::from(width)));
        Streamed { access: Access { ip: Ip(ip * 3), addr, width, kind }, atomic }
    });
    prop::collection::vec(access, 0..100)
}

fn batch() -> impl Strategy<Value = Content> {
    let stamps = prop::collection::vec((any::<prop::sample::Index>(), any::<u64>()), 0..10);
    let act = prop::sample::select(Act::ALL);
    let marks = prop::collection::vec((any::<prop::sample::Index>(), any::<u64>(), act, any::<u64>()), 0..10);
    let all = (any::<u32>(), any::<bool>(), stamps, marks, accesses());
    all.prop_map(|(domain, pauses, stamps, marks, accesses)| {
        let count = accesses.len() + 1;
        let mut marks: Vec<_> = marks
            .into_iter()
            .map(|(n, at, what, object)| Mark {
                accesses: n.index(count),
                at: Nanos(at),
                synchronisation: Synchronisation { what, object: Addr(object) },
            })
            .collect();
        marks.sort_by_key(|mark| mark.accesses);
        let mut stamps: Vec<_> =
            stamps.into_iter().map(|(n, at)| Stamp { accesses: n.index(count), at: Nanos(at) }).collect();
        stamps.sort_by_key(|stamp| stamp.accesses);
        Content::Batch { domain: Domain(domain), pauses, stamps, marks, accesses }
    })
}

fn frame() -> impl Strategy<Value = Frame> {
    let content = prop_oneof![1 => Just(Content::Begin), 1 => Just(Content::End), 6 => batch()];
    (any::<u32>(), any::<u64>(), content).prop_map(|(thread, at, content)| Frame {
        thread: ThreadId(thread),
        at: Nanos(at),
        content,
    })
}

/// Blocks for which one to five addresses are told, again and again: some rounds with a stride, some anywhere.
fn executions() -> impl Strategy<Value = Vec<(u32, Vec<u64>)>> {
    let execution = (0..4u32, prop::collection::vec(prop_oneof![3 => 0..64u64, 1 => any::<u64>()], 5));
    prop::collection::vec((execution, 1..20u64), 0..60).prop_map(|rounds| {
        let round = |((key, at), times): ((u32, Vec<u64>), u64)| {
            let at = move |n| at.iter().take(key as usize + 1).map(|at| (at >> 1) + 8 + 8 * n).collect();
            (0..times).map(move |n| (key, at(n))).collect::<Vec<_>>()
        };
        rounds.into_iter().flat_map(round).collect()
    })
}

proptest! {
    /// Whole blocks, once or several times at once, with single accesses among them. Behind each address that is told, a second access follows
    /// from it in some blocks, and one from the first address.
    #[test]
    fn executions_survive_the_way_through_bytes(executions in executions(), single: u64) {
        let access = |key: u32, nth: usize, addr| streamed(u64::from(key * 100) + nth as u64, addr, AccessKind::Load);
        let all = |key: u32, addresses: &[u64]| {
            let followers = |(of, &addr): (usize, &u64)| {
                let near = (key % 2 == 1).then(|| (addr.wrapping_add(key.into()), of));
                [Some((addr, of)), near, (of == 2).then(|| (addresses[0].wrapping_sub(4), 0))].into_iter().flatten()
            };
            let places: Vec<_> = addresses.iter().enumerate().flat_map(followers).collect();
            let full = places.into_iter().enumerate().map(|(nth, (addr, of))| (access(key, nth, addr), of));
            full.collect::<Vec<_>>()
        };
        let (mut encoder, mut expected) = (Encoder::default(), Vec::new());
        let same = |one: &(u32, Vec<u64>), other: &(u32, Vec<u64>)| one.0 == other.0;
        for (n, row) in executions.chunk_by(same).enumerate() {
            // All at once, or one by one.
            for part in row.chunks(if n % 2 == 0 { row.len() } else { 1 }) {
                let [(key, first), ..] = part else { continue };
                let addresses = part.iter().map(|(_, addresses)| &addresses[..]);
                let times = encoder.accesses().block(*key, addresses, || all(*key, first).into_iter());
                prop_assert_eq!(times, part.len());
                expected.extend(part.iter().flat_map(|(key, addresses)| all(*key, addresses)).map(|(it, _)| it));
            }
            if n % 7 == 0 {
                let single = streamed(1, single >> (n % 40 + 1), AccessKind::Store);
                encoder.accesses().push(&single);
                expected.push(single);
            }
        }
        prop_assert_eq!(encoder.accesses().len(), expected.len());
        let head = BatchHead {
            thread: ThreadId(1), domain: Domain(0), at: Nanos(1), pauses: false, stamps: &[], marks: &[],
        };
        for _ in 0..2 {
            let mut bytes = Vec::new();
            encoder.batch(&head, &mut bytes);
            let Content::Batch { accesses, .. } = Frame::decode(only(&bytes)).unwrap().content else { panic!("a batch") };
            prop_assert_eq!(accesses, std::mem::take(&mut expected));
        }
    }

    #[test]
    fn frames_survive_the_way_through_bytes(frames in prop::collection::vec(frame(), 0..6), other: u32) {
        let bytes: Vec<u8> = frames.iter().flat_map(encode).collect();
        let (mut rest, mut found, mut renumbered) = (&bytes[..], Vec::new(), Vec::new());
        while let Some((frame, behind)) = split(rest).unwrap().filter(|_| !rest.is_empty()) {
            found.push(Frame::decode(frame).unwrap());
            renumbered.push(Frame::decode(&with_thread(frame, |_| ThreadId(other)).unwrap()).unwrap());
            rest = behind;
        }
        prop_assert_eq!(&found, &frames);
        for frame in &mut found {
            frame.thread = ThreadId(other);
        }
        prop_assert_eq!(renumbered, found);
    }

    #[test]
    fn a_frame_that_is_cut_short_is_none(frame in frame(), end: prop::sample::Index) {
        let bytes = encode(&frame);
        prop_assert_eq!(split(&bytes[..end.index(bytes.len())]), Ok(None));
    }

    /// What can be decoded is encoded again equally, except for the length of numbers.
    #[test]
    fn any_bytes_are_decoded_or_refused(frame in frame(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = encode(&frame);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(Some((bytes, _))) = split(&bytes)
            && let Ok(frame) = Frame::decode(bytes)
        {
            prop_assert_eq!(Frame::decode(only(&encode(&frame))), Ok(frame));
        }
        let _ = split(&[0xff; MAX_VARINT_BYTES]);
    }
}
