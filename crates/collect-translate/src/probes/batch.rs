//! What a thread has recorded, as accesses.

use carom_base::{Access, AccessKind, Addr, Ip};

use super::{templates, timed::Timed};
use crate::lane::records::{EXPLICIT_ACCESS_WORDS, EXPLICIT_WORDS, KIND_SHIFT, TIMED_WORDS, Token};

/// Accesses of one thread, in program order, from up to 64 KiB of buffer: some 8000 accesses, and more where repeated
/// instructions are among them.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    words: &'a [u64],
    until: u64,
}

/// One item of a batch.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// An access. A read-modify-write is one.
    Access(&'a Access),
    /// A reading of the time-stamp counter, after everything before it was accessed and before anything after it was.
    Stamp(u64),
    /// A timed load.
    Timed(&'a Timed),
    /// A note ([`note`](crate::note)), and a reading of the time-stamp counter, as of a stamp.
    Note {
        /// The time.
        ticks: u64,
        /// What was noted.
        words: [u64; 2],
    },
}

impl<'a> Batch<'a> {
    pub(crate) const fn new(words: &'a [u64], until: u64) -> Self {
        Self { words, until }
    }

    /// Whether there is nothing in it.
    pub const fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Its words in the buffer, for callers that only discard them.
    pub const fn words(&self) -> &'a [u64] {
        self.words
    }

    /// A reading of the time-stamp counter from before the batch was collected: whatever the thread records later was
    /// accessed after that, except what was in progress.
    pub const fn until(&self) -> u64 {
        self.until
    }

    /// Calls `each` for every access except timed loads. A read-modify-write is one access.
    #[inline]
    pub fn for_each(&self, mut each: impl FnMut(&Access)) {
        self.for_each_event(|event| {
            if let Event::Access(access) = event {
                each(access);
            }
        });
    }

    /// Calls `each` for every timed load.
    pub fn for_each_timed(&self, mut each: impl FnMut(&Timed)) {
        self.for_each_event(|event| {
            if let Event::Timed(load) = event {
                each(load);
            }
        });
    }

    /// Calls `each` for all items, in order.
    #[inline]
    pub fn for_each_event(&self, mut each: impl FnMut(Event<'_>)) {
        let mut words = self.words;
        while let Some((&token, rest)) = words.split_first() {
            let token = Token(token);
            let behind = if token.is_timed() {
                timed(token, rest, &mut |load| each(Event::Timed(load)))
            } else if token.template() == Token::EXPLICIT {
                Some(explicit(token, rest, &mut |access| each(Event::Access(access))))
            } else if token.template() == Token::STAMP {
                rest.split_first().map(|(&time, behind)| {
                    each(Event::Stamp(time));
                    behind
                })
            } else if token.template() == Token::NOTE {
                rest.split_first_chunk().map(|(&[ticks, first, second], behind)| {
                    each(Event::Note { ticks, words: [first, second] });
                    behind
                })
            } else {
                block(token, rest, &mut |access| each(Event::Access(access)))
            };
            match behind {
                Some(behind) => words = behind,
                None => return,
            }
        }
    }
}

/// Parses a timed load; returns the words after it. `None` where there is no such load.
fn timed<'a>(token: Token, rest: &'a [u64], each: &mut impl FnMut(&Timed)) -> Option<&'a [u64]> {
    let template = templates::from(token.template()).first()?;
    let (&[address, times], behind) = rest.split_first_chunk::<{ TIMED_WORDS - 1 }>()?;
    each(&Timed::new(template.at(address), times));
    Some(behind)
}

/// Parses the accesses of a block; returns the words after them. `None` where there is no such block.
#[inline]
fn block<'a>(token: Token, rest: &'a [u64], each: &mut impl FnMut(&Access)) -> Option<&'a [u64]> {
    let most = if token.accesses() == 0 { u32::MAX } else { token.accesses() };
    let known = templates::from(token.template());
    if known.is_empty() {
        return None;
    }
    if let Some(lanes) = known.first().filter(|template| template.has_mask()) {
        let (&[address, mask], behind) = rest.split_first_chunk()?;
        lanes.each_lane(address, mask, each);
        return Some(behind);
    }
    let mut done = 0;
    for (template, &address) in known.iter().zip(rest) {
        each(&template.at(address));
        done += 1;
        if template.is_last() || done == most {
            break;
        }
    }
    Some(rest.get(done as usize..).unwrap_or_default())
}

/// Parses the accesses of an explicit record; returns the words after it.
fn explicit<'a>(token: Token, rest: &'a [u64], each: &mut impl FnMut(&Access)) -> &'a [u64] {
    const HEAD: usize = EXPLICIT_WORDS - 1;
    let words = token.accesses() as usize * EXPLICIT_ACCESS_WORDS;
    let (Some(&[ip, times, stride]), Some(accesses)) =
        (rest.first_chunk::<HEAD>(), rest.get(HEAD..HEAD + words))
    else {
        return &[];
    };
    let mut offset = 0u64;
    for _ in 0..times {
        for access in accesses.chunks_exact(EXPLICIT_ACCESS_WORDS) {
            let &[address, what] = access else { continue };
            let Some(kind) = AccessKind::from_u8((what >> KIND_SHIFT) as u8) else { continue };
            let addr = Addr(address.wrapping_add(offset));
            each(&Access { ip: Ip(ip), addr, width: what as u32, kind });
        }
        offset = offset.wrapping_add(stride);
    }
    rest.get(HEAD + words..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use carom_base_insn::Lanes;
    use iced_x86::{Decoder, DecoderOptions};

    use super::*;
    use crate::{
        probes::templates::{Template, Templates},
        threads::explicit::Explicit,
    };

    fn all(words: &[u64]) -> Vec<(u64, u64, u32, AccessKind)> {
        let mut found = Vec::new();
        Batch::new(words, 0).for_each(|a| found.push((a.ip.0, a.addr.0, a.width, a.kind)));
        found
    }

    /// A timed load between two blocks: its counter passed 2^32 meanwhile.
    #[test]
    fn timed_loads_lie_among_accesses() {
        use AccessKind::{ReadModifyWrite, Store};
        let _turn = templates::tests::turn();
        let mut templates = Templates::default();
        let block = templates.add(&[Template::new(40, 8, Store)]).unwrap();
        let timed = templates.add(&[Template::new(44, 4, ReadModifyWrite)]).unwrap();
        // The word that an instruction stores from a constant of 32 bits.
        let token = i64::from(Token::timed(timed) as i32) as u64;
        let times = 0xffff_fff0 | 0x20 << 32;
        let words = [u64::from(block), 0x100, token, 0x200, times, u64::from(block), 0x300];
        assert_eq!(all(&words), [(40, 0x100, 8, Store), (40, 0x300, 8, Store)]);
        let mut found = Vec::new();
        Batch::new(&words, 0).for_each_timed(|load| found.push(*load));
        let access = Access { ip: Ip(44), addr: Addr(0x200), width: 4, kind: ReadModifyWrite };
        assert_eq!(found, [Timed { access, ticks: 0x30 }]);
        for length in 0..words.len() {
            Batch::new(&words[..length], 0)
                .for_each_timed(|load| assert_eq!((load.ticks, length > 4), (0x30, true)));
        }
    }

    /// Three accesses, and the times in front of them, between the second and the third, and behind.
    #[test]
    fn stamps_lie_among_accesses() {
        let _turn = templates::tests::turn();
        let mut templates = Templates::default();
        let block = u64::from(templates.add(&[Template::new(60, 8, AccessKind::Load)]).unwrap());
        let stamp = u64::from(Token::STAMP);
        let words =
            [stamp, 1000, block, 0x100, block, 0x200, stamp, 1 << 40, block, 0x300, stamp, 1 << 41, stamp];
        let mut found = Vec::new();
        Batch::new(&words, 0).for_each_event(|event| match event {
            Event::Access(access) => found.push((false, access.addr.0)),
            Event::Stamp(time) => found.push((true, time)),
            Event::Timed(_) | Event::Note { .. } => panic!("none was timed or noted"),
        });
        let [at, stamped] = [false, true];
        let expected =
            [(stamped, 1000), (at, 0x100), (at, 0x200), (stamped, 1 << 40), (at, 0x300), (stamped, 1 << 41)];
        assert_eq!(found, expected);
    }

    /// A note between two accesses, and one that was cut off.
    #[test]
    fn notes_lie_among_accesses() {
        let _turn = templates::tests::turn();
        let mut templates = Templates::default();
        let block = u64::from(templates.add(&[Template::new(70, 8, AccessKind::Load)]).unwrap());
        let note = u64::from(Token::NOTE);
        let words = [block, 0x100, note, 1000, 7, 8, block, 0x200, note, 2000, 9];
        let mut found = Vec::new();
        Batch::new(&words, 0).for_each_event(|event| match event {
            Event::Access(access) => found.push([access.addr.0; 3]),
            Event::Note { ticks, words: [first, second] } => found.push([ticks, first, second]),
            Event::Stamp(_) | Event::Timed(_) => panic!("none is there"),
        });
        assert_eq!(found, [[0x100; 3], [1000, 7, 8], [0x200; 3]]);
    }

    /// Four lanes of 4 bytes, of which the second and the fourth are active, in their places and packed; and a mask with bits
    /// beyond the lanes.
    #[test]
    fn active_lanes_are_accesses() {
        use AccessKind::Load;
        let _turn = templates::tests::turn();
        let mut templates = Templates::default();
        // vmovdqu32 xmm1 {k2}, [rdi]; vpexpandd xmm1 {k2}, [rdi]
        let lanes =
            |bytes: &[u8]| Lanes::of(&Decoder::new(64, bytes, DecoderOptions::NONE).decode()).unwrap();
        let moved = lanes(&[0x62, 0xf1, 0x7e, 0x0a, 0x6f, 0x0f]);
        let packed = lanes(&[0x62, 0xf2, 0x7d, 0x0a, 0x89, 0x0f]);
        let mut add = |ip, lanes| u64::from(templates.add(&[Template::lanes(ip, lanes)]).unwrap());
        let words =
            [add(50, &moved), 0x100, 0b1010, add(56, &packed), 0x200, 0b1010, add(50, &moved), 0x300, 0xf4];
        let expected = [
            (50, 0x104, 4, Load),
            (50, 0x10c, 4, Load),
            (56, 0x200, 4, Load),
            (56, 0x204, 4, Load),
            (50, 0x308, 4, Load),
        ];
        assert_eq!(all(&words[..8]), expected[..4], "a record that is cut off is none");
        assert_eq!(all(&words), expected);
    }

    /// A block of two accesses, all of it and cut behind the first; then three times a copy from the end downwards.
    #[test]
    fn records_of_all_kinds_are_read() {
        use AccessKind::{Load, Store};
        let _turn = templates::tests::turn();
        let mut templates = Templates::default();
        let first = templates.add(&[Template::new(10, 8, Load), Template::new(14, 4, Store)]).unwrap();
        let next = templates.add(&[Template::new(20, 1, Load)]).unwrap();
        assert_eq!(next, first + 2);
        let access = |addr, width, kind| Access { ip: Ip(30), addr: Addr(addr), width, kind };
        let copy = [access(0x500, 2, Load), access(0x600, 2, Store)];
        let mut words =
            vec![u64::from(first), 0x100, 0x200, Token::cut(first, 1).0, 0x300, u64::from(next), 0x400];
        Explicit { ip: 30, times: 3, stride: -2, accesses: &copy }.words(|word| words.push(word));
        words.extend([u64::from(next), 0x700]);
        let expected = [
            (10, 0x100, 8, Load),
            (14, 0x200, 4, Store),
            (10, 0x300, 8, Load),
            (20, 0x400, 1, Load),
            (30, 0x500, 2, Load),
            (30, 0x600, 2, Store),
            (30, 0x4fe, 2, Load),
            (30, 0x5fe, 2, Store),
            (30, 0x4fc, 2, Load),
            (30, 0x5fc, 2, Store),
            (20, 0x700, 1, Load),
        ];
        assert_eq!(all(&words), expected);
        // A buffer that is cut off or overwritten yields at most fewer accesses.
        for length in 0..words.len() {
            assert!(all(&words[..length]).len() < expected.len());
        }
        assert_eq!(all(&[u64::MAX, 1, 2]), []);
        assert_eq!(all(&[u64::from(Token::STAMP) - 1, 1]), []);
    }
}
