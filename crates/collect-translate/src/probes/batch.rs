//! What a thread has recorded, as accesses.

use carom_base::{Access, AccessKind, Addr, Ip};

use super::{
    templates::{self, Template},
    timed::Timed,
};
use crate::lane::records::{EXPLICIT_ACCESS_WORDS, EXPLICIT_WORDS, KIND_SHIFT, TIMED_WORDS, Token};

/// Accesses of one thread, in program order, from up to 128 KiB of buffer: some 16,000 accesses, and more where repeated
/// instructions are among them.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    words: &'a [u64],
    until: u64,
}

/// What reads a batch, item by item.
pub trait BatchReader {
    /// A block that was executed, once or several times in a row. It comes again with the executions that were not gone through; one at
    /// least must be.
    #[inline]
    fn block(&mut self, block: &mut Block<'_>) {
        let begin = block.clone();
        block.executions().for_each(drop);
        begin.accesses().for_each(|access| self.access(&access));
    }

    /// Another access. A read-modify-write is one.
    fn access(&mut self, access: &Access);

    /// The accesses of an instruction that repeats them.
    fn repeated(&mut self, repeated: &Repeated<'_>) {
        repeated.accesses(0, repeated.times).for_each(|access| self.access(&access));
    }

    /// A timed load.
    fn timed(&mut self, _load: &Timed) {}

    /// A reading of the time-stamp counter, after everything before it was accessed and before anything after it was.
    fn stamp(&mut self, _ticks: u64) {}

    /// A note ([`note`](crate::note)), what was noted, and a reading of the time-stamp counter, as of a stamp.
    fn note(&mut self, _ticks: u64, _words: [u64; 2]) {}
}

/// A block that was executed, once or several times in a row.
#[derive(Clone, Debug)]
pub struct Block<'a> {
    token: u64,
    templates: &'static [Template],
    /// The words of its record behind the token.
    each: usize,
    /// All that is left of the batch: of each time its token, and these words.
    words: &'a [u64],
}

impl<'a> Block<'a> {
    /// Parses the first of `words`: a block of which all accesses are there. `known`: all templates.
    #[inline]
    fn whole(words: &'a [u64], known: &'static [Template]) -> Option<Self> {
        let &token = words.first()?;
        let templates = known.get(token as usize..)?;
        let first = templates.first().filter(|first| !first.has_mask() && first.words() < words.len())?;
        let (templates, each) = (templates.get(..first.left())?, first.words());
        Some(Self { token, templates, each, words })
    }

    /// Stands for all that the executions of the block have in common, everywhere in the process.
    pub const fn number(&self) -> u32 {
        self.token as u32
    }

    /// How many accesses there are each time.
    pub const fn sites(&self) -> usize {
        self.templates.len()
    }

    /// More executions than there are.
    pub const fn most_executions(&self) -> usize {
        self.words.len()
    }

    /// Goes through the executions: the addresses of each that are recorded, from which the others follow.
    #[inline]
    pub fn executions<'b>(&'b mut self) -> impl Iterator<Item = &'a [u64]> + use<'a, 'b> {
        std::iter::from_fn(|| self.next())
    }

    #[inline]
    fn next(&mut self) -> Option<&'a [u64]> {
        let (&token, behind) = self.words.split_first()?;
        if token != self.token {
            return None;
        }
        let (execution, behind) = behind.split_at_checked(self.each)?;
        self.words = behind;
        Some(execution)
    }

    /// The accesses of all times, in program order. A read-modify-write is one.
    #[inline]
    pub fn accesses(self) -> impl Iterator<Item = Access> + use<'a> {
        let templates = self.templates;
        let mut block = self;
        std::iter::from_fn(move || block.next())
            .flat_map(move |words| templates.iter().filter_map(move |template| template.among(words)))
    }

    /// Appends the accesses of at most `most` times; returns of how many.
    #[inline]
    pub fn append(&mut self, most: usize, to: &mut Vec<Access>) -> usize {
        let mut times = 0;
        while times < most
            && let Some(words) = self.next()
        {
            // All words are there. An iterator that may leave some out would be several times slower.
            let access =
                |template: &Template| template.at(words.get(template.of()).copied().unwrap_or_default());
            to.extend(self.templates.iter().map(access));
            times += 1;
        }
        times
    }

    /// The accesses of the first time, each with the number of the recorded address that it follows from. The first one that does is at
    /// that address.
    pub fn first(mut self) -> impl Iterator<Item = (Access, usize)> + use<'a> {
        let (templates, words) = (self.templates, self.next().unwrap_or_default());
        templates.iter().filter_map(move |template| Some((template.among(words)?, template.of())))
    }
}

/// Accesses that an instruction repeats, each time so many bytes further on: those of a string instruction.
#[derive(Clone, Copy, Debug)]
pub struct Repeated<'a> {
    ip: Ip,
    /// How often they were made; mostly more than once.
    pub times: u64,
    /// From one time to the next. What goes down has a negative one, as two's complement.
    pub stride: u64,
    words: &'a [u64],
}

impl Repeated<'_> {
    /// The accesses of the first time. A read-modify-write is one.
    pub fn first(&self) -> impl Iterator<Item = Access> + Clone {
        let Self { ip, words, .. } = *self;
        words.chunks_exact(EXPLICIT_ACCESS_WORDS).filter_map(move |access| {
            let &[address, what] = access else { return None };
            let kind = AccessKind::from_u8((what >> KIND_SHIFT) as u8)?;
            Some(Access { ip, addr: Addr(address), width: what as u32, kind })
        })
    }

    /// The accesses of the times from `begin` on, so many times.
    pub fn accesses(&self, begin: u64, times: u64) -> impl Iterator<Item = Access> + Clone {
        (begin..begin.saturating_add(times)).flat_map(|time| {
            let offset = time.wrapping_mul(self.stride);
            self.first()
                .map(move |access| Access { addr: Addr(access.addr.0.wrapping_add(offset)), ..access })
        })
    }
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
    pub fn for_each(&self, each: impl FnMut(&Access)) {
        self.read(&mut Accesses(each));
    }

    /// Calls `each` for every timed load.
    pub fn for_each_timed(&self, each: impl FnMut(&Timed)) {
        self.read(&mut TimedLoads(each));
    }

    /// Gives all items to `reader`, in order.
    #[inline]
    pub fn read(&self, reader: &mut impl BatchReader) {
        // All that the batch has recorded is there already.
        let known = templates::all();
        let mut words = self.words;
        while let Some((&token, rest)) = words.split_first() {
            if let Some(mut block) = Block::whole(words, known) {
                reader.block(&mut block);
                words = block.words;
                continue;
            }
            match other(Token(token), rest, reader) {
                Some(behind) => words = behind,
                None => return,
            }
        }
    }
}

/// Reads accesses, one by one.
struct Accesses<F>(F);

impl<F: FnMut(&Access)> BatchReader for Accesses<F> {
    #[inline]
    fn access(&mut self, access: &Access) {
        (self.0)(access);
    }
}

/// Reads timed loads.
struct TimedLoads<F>(F);

impl<F: FnMut(&Timed)> BatchReader for TimedLoads<F> {
    fn block(&mut self, block: &mut Block<'_>) {
        block.executions().for_each(drop);
    }

    fn access(&mut self, _: &Access) {}

    fn timed(&mut self, load: &Timed) {
        (self.0)(load);
    }
}

/// Parses an item that is no whole block; returns the words after it. `None` where there is no such item.
fn other<'a>(token: Token, rest: &'a [u64], reader: &mut impl BatchReader) -> Option<&'a [u64]> {
    if token.is_timed() {
        return timed(token, rest, &mut |load| reader.timed(load));
    }
    match token.template() {
        Token::EXPLICIT => explicit(token, rest).map(|(repeated, behind)| {
            reader.repeated(&repeated);
            behind
        }),
        Token::STAMP => rest.split_first().map(|(&time, behind)| {
            reader.stamp(time);
            behind
        }),
        Token::NOTE => rest.split_first_chunk().map(|(&[ticks, first, second], behind)| {
            reader.note(ticks, [first, second]);
            behind
        }),
        _ => part(token, rest, &mut |access| reader.access(access)),
    }
}

/// Parses a timed load; returns the words after it. `None` where there is no such load.
fn timed<'a>(token: Token, rest: &'a [u64], each: &mut impl FnMut(&Timed)) -> Option<&'a [u64]> {
    let template = templates::from(token.template()).first()?;
    let (&[address, times], behind) = rest.split_first_chunk::<{ TIMED_WORDS - 1 }>()?;
    each(&Timed::new(template.at(address), times));
    Some(behind)
}

/// Parses lanes, or a block that was cut off; returns the words after it. `None` where there is none.
fn part<'a>(token: Token, rest: &'a [u64], each: &mut impl FnMut(&Access)) -> Option<&'a [u64]> {
    let block = templates::block(token.template());
    let first = block.first()?;
    if first.has_mask() {
        let (&[address, mask], behind) = rest.split_first_chunk()?;
        first.each_lane(address, mask, each);
        return Some(behind);
    }
    let done = match token.accesses() {
        0 => block,
        accesses => block.get(..accesses as usize)?,
    };
    for template in done {
        each(&template.among(rest)?);
    }
    Some(rest.get(templates::words(done)..).unwrap_or_default())
}

/// Parses an explicit record, and gives the words after it. `None` where it is cut off.
fn explicit(token: Token, rest: &[u64]) -> Option<(Repeated<'_>, &[u64])> {
    let (&[ip, times, stride], behind) = rest.split_first_chunk::<{ EXPLICIT_WORDS - 1 }>()?;
    let words = token.accesses() as usize * EXPLICIT_ACCESS_WORDS;
    let (words, behind) = behind.split_at_checked(words)?;
    Some((Repeated { ip: Ip(ip), times, stride, words }, behind))
}

#[cfg(test)]
mod tests {
    use carom_base_insn::Lanes;
    use iced_x86::{Decoder, DecoderOptions};

    use super::*;
    use crate::{
        analyse::relative::Relative,
        probes::templates::{Template, Templates},
        threads::explicit::Explicit,
    };

    fn all(words: &[u64]) -> Vec<(u64, u64, u32, AccessKind)> {
        let mut found = Vec::new();
        Batch::new(words, 0).for_each(|a| found.push((a.ip.0, a.addr.0, a.width, a.kind)));
        found
    }

    /// Addresses of blocks, stamps behind a 0, and notes around their times.
    #[derive(Default)]
    struct Seen(Vec<[u64; 3]>);

    impl BatchReader for Seen {
        fn block(&mut self, block: &mut Block<'_>) {
            self.0.extend(block.clone().accesses().map(|access| [access.addr.0, 0, 0]));
            block.executions().for_each(drop);
        }

        fn access(&mut self, access: &Access) {
            panic!("{access:?} is of no block");
        }

        fn stamp(&mut self, ticks: u64) {
            self.0.push([0, ticks, 0]);
        }

        fn note(&mut self, ticks: u64, [first, second]: [u64; 2]) {
            self.0.push([first, ticks, second]);
        }
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
        let mut seen = Seen::default();
        Batch::new(&words, 0).read(&mut seen);
        let found =
            seen.0.into_iter().map(|[addr, time, _]| if time == 0 { (false, addr) } else { (true, time) });
        let found: Vec<_> = found.collect();
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
        let mut seen = Seen::default();
        Batch::new(&words, 0).read(&mut seen);
        assert_eq!(seen.0, [[0x100, 0, 0], [7, 1000, 8], [0x200, 0, 0]]);
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

    /// A block of three accesses, of which the last one follows from the first: all of it, cut behind the first and behind the second; then
    /// three times a copy from the end downwards.
    #[test]
    fn records_of_all_kinds_are_read() {
        use AccessKind::{Load, Store};
        let _turn = templates::tests::turn();
        let mut templates = Templates::default();
        let relative =
            |ip, width, kind, of, offset| Template::new(ip, width, kind).relative(Relative { of, offset });
        let block =
            [relative(10, 8, Load, 0, 0), relative(14, 4, Store, 1, 0), relative(18, 2, Load, 0, -16)];
        let first = templates.add(&block).unwrap();
        let next = templates.add(&[Template::new(20, 1, Load)]).unwrap();
        assert_eq!(next, first + 3);
        let access = |addr, width, kind| Access { ip: Ip(30), addr: Addr(addr), width, kind };
        let copy = [access(0x500, 2, Load), access(0x600, 2, Store)];
        let mut words =
            vec![u64::from(first), 0x100, 0x200, Token::cut(first, 1).0, 0x300, u64::from(next), 0x400];
        words.extend([Token::cut(first, 2).0, 0x310, 0x320]);
        Explicit { ip: 30, times: 3, stride: -2, accesses: &copy }.words(|word| words.push(word));
        words.extend([u64::from(next), 0x700]);
        let expected = [
            (10, 0x100, 8, Load),
            (14, 0x200, 4, Store),
            (18, 0xf0, 2, Load),
            (10, 0x300, 8, Load),
            (20, 0x400, 1, Load),
            (10, 0x310, 8, Load),
            (14, 0x320, 4, Store),
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
