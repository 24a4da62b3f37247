//! What a thread has written, as accesses.

use carom_base::{Access, AccessKind, Addr, Ip};

use super::{
    Token,
    record::{EXPLICIT_ACCESS_WORDS, EXPLICIT_WORDS, KIND_SHIFT},
    templates,
};

/// Accesses of one thread, in the order of the program. Up to 64 KiB of it: some 8000, and more where repeated
/// instructions are among them.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    words: &'a [u64],
}

impl<'a> Batch<'a> {
    pub(crate) const fn new(words: &'a [u64]) -> Self {
        Self { words }
    }

    /// Whether there is nothing in it.
    pub const fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The words that it takes, for those who only throw it away.
    pub const fn words(&self) -> &'a [u64] {
        self.words
    }

    /// Calls `each` for every access. One that reads and writes is one.
    #[inline]
    pub fn for_each(&self, mut each: impl FnMut(&Access)) {
        let mut words = self.words;
        while let Some((&token, rest)) = words.split_first() {
            let token = Token(token);
            words = if token.template() == Token::EXPLICIT {
                explicit(token, rest, &mut each)
            } else {
                let most = if token.accesses() == 0 { u32::MAX } else { token.accesses() };
                let known = templates::from(token.template());
                if known.is_empty() {
                    return;
                }
                let mut done = 0;
                for (template, &address) in known.iter().zip(rest) {
                    each(&template.at(address));
                    done += 1;
                    if template.is_last() || done == most {
                        break;
                    }
                }
                rest.get(done as usize..).unwrap_or_default()
            };
        }
    }
}

/// The accesses of an explicit record, and the words behind it.
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
    use super::*;
    use crate::stream::{Explicit, Template, Templates};

    fn all(words: &[u64]) -> Vec<(u64, u64, u32, AccessKind)> {
        let mut found = Vec::new();
        Batch::new(words).for_each(|a| found.push((a.ip.0, a.addr.0, a.width, a.kind)));
        found
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
        // Whatever is cut off or written over is at most less.
        for length in 0..words.len() {
            assert!(all(&words[..length]).len() < expected.len());
        }
        assert_eq!(all(&[u64::MAX, 1, 2]), []);
        assert_eq!(all(&[u64::from(Token::EXPLICIT) - 1, 1]), []);
    }
}
