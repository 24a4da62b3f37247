//! Instructions by small numbers.

use carom_base::Ip;

const FEWEST: usize = 1 << 10;

/// From the fraction of the golden ratio.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Numbers instructions in the order in which they are met, from 0.
#[derive(Debug)]
pub(super) struct Sites {
    ips: Vec<Ip>,
    /// By hash, with linear probing: one more than the number, 0 where vacant. At most half full.
    numbers: Vec<u32>,
}

impl Sites {
    pub fn new() -> Self {
        Self { ips: Vec::new(), numbers: vec![0; FEWEST] }
    }

    #[inline]
    pub fn number(&mut self, ip: Ip) -> u32 {
        let mut at = self.first(ip);
        loop {
            match self.numbers[at].checked_sub(1) {
                None => return self.insert(ip, at),
                Some(number) if self.ips[number as usize] == ip => return number,
                Some(_) => at = (at + 1) % self.numbers.len(),
            }
        }
    }

    /// The inverse.
    pub fn ip(&self, number: u32) -> Ip {
        self.ips.get(number as usize).copied().unwrap_or_default()
    }

    fn first(&self, ip: Ip) -> usize {
        (ip.0.wrapping_mul(MULTIPLIER) >> (u64::BITS - self.numbers.len().ilog2())) as usize
    }

    #[cold]
    fn insert(&mut self, ip: Ip, vacant: usize) -> u32 {
        let number = self.ips.len() as u32;
        self.ips.push(ip);
        self.numbers[vacant] = number + 1;
        if self.ips.len() * 2 > self.numbers.len() {
            self.numbers = vec![0; self.numbers.len() * 2];
            for number in 0..self.ips.len() {
                let mut at = self.first(self.ips[number]);
                while self.numbers[at] != 0 {
                    at = (at + 1) % self.numbers.len();
                }
                self.numbers[at] = number as u32 + 1;
            }
        }
        number
    }
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
