//! Streams as bytes and back.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use carom_base::{Access, AccessKind, Addr, Domain, Ip, MAX_VARINT_BYTES, Nanos, ThreadId};
use carom_base_stream::{
    Act, Mark, Stamp, Streamed, Synchronisation,
    frame::{BatchHead, Content, Encoder, Frame, FrameError, MAX_FRAME_BYTES, split, with_thread},
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
            encoder.batch(&head, accesses.iter().copied(), &mut out);
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

/// Two rounds of a loop that loads from a row and stores at one place.
#[test]
fn bytes_are_as_documented() {
    let (load, store) = (AccessKind::Load, AccessKind::Store);
    let accesses =
        vec![streamed(16, 3, load), streamed(20, 9, store), streamed(16, 11, load), streamed(20, 9, store)];
    let stamps = vec![Stamp { accesses: 2, at: Nanos(99) }];
    let content = Content::Batch { domain: Domain(5), pauses: true, stamps, marks: Vec::new(), accesses };
    let frame = Frame { thread: ThreadId(7), at: Nanos(100), content };
    let bytes = encode(&frame);
    let expected = [
        24, // bytes
        7, 100, 1, // a batch of thread 7, handed over at 100
        5, 1, // in domain 5; it pauses
        1, 2, 1, // a stamp: two accesses; difference -1
        2, 32, 8, 0, 8, 8, 1, // two sites: +16, 8 bytes, loads; +4, 8 bytes, stores
        4, // accesses
        0, 0, 1,
        0, // behind the first site the second, as numbered; then site 0, where 2 was expected; then as before
        6, 18, 16, 0, // +3, +9, +8, 0
    ];
    assert_eq!(bytes, expected);
    assert_eq!(Frame::decode(only(&bytes)), Ok(frame));
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
        23, // bytes
        7, 100, 3, // a batch with marks
        0, 0, 0, // no stamps
        2, 0, 5, 8, 0x80, 1, // two marks: before the first access, -3, a lock, +64;
        1, 4, 10, 0, // one access later, +2, an unlock, of the same
        1, 0, 8, 0, 1, 0, 2, // one site, one access
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
    // One access of one site, with a stamp behind it.
    let good = [1, 9, 1, 0, 0, 1, 1, 0, 1, 2, 8, 0, 1, 0, 2];
    assert!(Frame::decode(&good).is_ok());
    for (at, byte, error) in [
        (2, 4, UnknownFrame(4)),
        (4, 2, OutOfRange("whether the thread pauses")),
        (6, 2, StampBehindEnd),
        (10, 0, OutOfRange("a width")),
        (11, 4, OutOfRange("a kind")),
        (12, 9, TooMany("accesses")),
        (13, 2, UnknownSite(1)),
        // -1, of 8 bytes.
        (14, 1, AddressWraps),
    ] {
        let mut bytes = good;
        bytes[at] = byte;
        assert_eq!(Frame::decode(&bytes), Err(error), "{byte} at {at}");
    }
    // The same with a mark behind it.
    let good = [1, 9, 3, 0, 0, 0, 1, 1, 0, 8, 0, 1, 0, 8, 0, 1, 0, 2];
    assert!(Frame::decode(&good).is_ok());
    for (at, byte, error) in [
        (6, 0, OutOfRange("a number of marks")),
        (6, 9, TooMany("marks")),
        (7, 2, MarkBehindEnd),
        (9, 19, OutOfRange("a synchronisation")),
    ] {
        let mut bytes = good;
        bytes[at] = byte;
        assert_eq!(Frame::decode(&bytes), Err(error), "{byte} at {at}");
    }
    assert_eq!(Frame::decode(&[1, 9, 2, 0]), Err(LeftOver(1)));
    assert_eq!(split(&[0xff, 0xff, 0xff, 0xff, 1]), Err(TooLong(0x1fff_ffff)));
}

/// 64 Ki accesses, as many as are handed over at once: each of another instruction, all as far from each other as can be.
#[test]
fn the_largest_batch_fits() {
    let far = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 1;
    let accesses: Vec<_> = (0..64 << 10).map(|n| streamed(far(n), far(n + 1), AccessKind::Load)).collect();
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

proptest! {
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
