//! Instructions as small numbers.

use carom_base::Ip;

use super::hash::product;

const FEWEST: usize = 1 << 12;

/// Hash places for each instruction.
const ROOM: usize = 8;

/// Numbers instructions from 0 in the order in which they appear.
#[derive(Clone, Debug)]
pub(super) struct Sites {
    ips: Vec<Ip>,
    /// By hash, with linear probing, a power of two of them. With enough room that most are found at once.
    places: Vec<Place>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    ip: Ip,
    /// One more than the number, 0 if vacant.
    next: u32,
}

impl Sites {
    pub fn new() -> Self {
        Self { ips: Vec::new(), places: vec![Place::default(); FEWEST] }
    }

    #[inline(always)]
    pub fn number(&mut self, ip: Ip) -> u32 {
        let first = hash(ip) & (self.places.len() - 1);
        match self.places.get(first) {
            Some(place) if place.ip == ip && place.next != 0 => place.next - 1,
            _ => self.look_further(ip),
        }
    }

    #[inline(never)]
    fn look_further(&mut self, ip: Ip) -> u32 {
        let at = self.find(ip);
        if let Some(number) = self.places[at].next.checked_sub(1) {
            return number;
        }
        self.ips.push(ip);
        let next = self.ips.len() as u32;
        self.places[at] = Place { ip, next };
        if self.ips.len() * ROOM > self.places.len() {
            self.places = vec![Place::default(); self.places.len() * 2];
            for number in 0..self.ips.len() {
                let ip = self.ips[number];
                let at = self.find(ip);
                self.places[at] = Place { ip, next: number as u32 + 1 };
            }
        }
        next - 1
    }

    /// Its position, or the one where it would be.
    fn find(&self, ip: Ip) -> usize {
        let mut at = hash(ip) & (self.places.len() - 1);
        while self.places[at].next != 0 && self.places[at].ip != ip {
            at = (at + 1) % self.places.len();
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
