//! Instructions as small numbers.

use carom_base::Ip;

use super::hash::product;

const FEWEST: usize = 1 << 12;

/// Hash entries for each instruction.
const ROOM: usize = 8;

/// Numbers instructions from 0 in the order in which they appear.
#[derive(Clone, Debug)]
pub(super) struct Sites {
    ips: Vec<Ip>,
    /// By hash, with linear probing, a power of two of them. With enough room that most are found at once.
    entries: Vec<SiteEntry>,
}

#[derive(Clone, Copy, Debug, Default)]
struct SiteEntry {
    ip: Ip,
    /// One more than the number, 0 if vacant.
    next: u32,
}

impl Sites {
    pub fn new() -> Self {
        Self { ips: Vec::new(), entries: vec![SiteEntry::default(); FEWEST] }
    }

    #[inline(always)]
    pub fn number(&mut self, ip: Ip) -> u32 {
        let first = hash(ip) & (self.entries.len() - 1);
        match self.entries.get(first) {
            Some(entry) if entry.ip == ip && entry.next != 0 => entry.next - 1,
            _ => self.look_further(ip),
        }
    }

    #[inline(never)]
    fn look_further(&mut self, ip: Ip) -> u32 {
        let at = self.find(ip);
        if let Some(number) = self.entries[at].next.checked_sub(1) {
            return number;
        }
        self.ips.push(ip);
        let next = self.ips.len() as u32;
        self.entries[at] = SiteEntry { ip, next };
        if self.ips.len() * ROOM > self.entries.len() {
            self.entries = vec![SiteEntry::default(); self.entries.len() * 2];
            for number in 0..self.ips.len() {
                let ip = self.ips[number];
                let at = self.find(ip);
                self.entries[at] = SiteEntry { ip, next: number as u32 + 1 };
            }
        }
        next - 1
    }

    /// Its position, or the one where it would be.
    fn find(&self, ip: Ip) -> usize {
        let mut at = hash(ip) & (self.entries.len() - 1);
        while self.entries[at].next != 0 && self.entries[at].ip != ip {
            at = (at + 1) % self.entries.len();
        }
        at
    }

    /// The inverse.
    pub fn ip(&self, number: u32) -> Ip {
        self.ips.get(number as usize).copied().unwrap_or_default()
    }
}

/// The upper half of the product depends on all of the address.
#[inline(always)]
fn hash(ip: Ip) -> usize {
    (product(ip.0) >> u32::BITS) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_given_once_and_in_order() {
        let mut sites = Sites::new();
        for _ in 0..2 {
            for nth in 0..5000u32 {
                assert_eq!(sites.number(Ip(u64::from(nth) * 3)), nth);
            }
        }
        assert_eq!(sites.ip(4999), Ip(4999 * 3));
    }
}
