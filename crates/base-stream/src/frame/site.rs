//! The sites of a batch, and the order in which they follow each other.

use carom_base::{AccessKind, Addr, Ip};

use super::codes::ATOMIC;
use crate::record::Streamed;

/// The common properties of all accesses of one operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    pub ip: Ip,
    pub width: u32,
    /// The kind, as in a frame.
    pub kind: u8,
}

impl Site {
    #[inline]
    pub const fn of(streamed: &Streamed) -> Self {
        let Streamed { access, atomic } = *streamed;
        let kind = match access.kind {
            AccessKind::ReadModifyWrite if atomic => ATOMIC,
            kind => kind as u8,
        };
        Self { ip: access.ip, width: access.width, kind }
    }

    /// Its kind, and whether its instruction is locked.
    pub const fn kind(self) -> Option<(AccessKind, bool)> {
        match self.kind {
            ATOMIC => Some((AccessKind::ReadModifyWrite, true)),
            kind => match AccessKind::from_u8(kind) {
                Some(kind) => Some((kind, false)),
                None => None,
            },
        }
    }
}

/// The prediction of the next access: the same for encoder and decoder.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// The site that is expected next.
    next: u32,
    /// The site of the last access.
    last: Option<u32>,
    /// By site.
    sites: Vec<Last>,
}

/// The last access of a site.
#[derive(Clone, Copy, Debug)]
struct Last {
    addr: Addr,
    /// The site of the access after it.
    followed_by: u32,
}

impl Expected {
    pub fn clear(&mut self) {
        (self.next, self.last) = (0, None);
        self.sites.clear();
    }

    /// Adds a site, about which nothing is known: after it the next new site is expected.
    pub fn add_site(&mut self) {
        let followed_by = self.sites.len() as u32 + 1;
        self.sites.push(Last { addr: Addr(0), followed_by });
    }

    /// The site of the next access.
    #[inline]
    pub const fn site(&self) -> u32 {
        self.next
    }

    /// The last address of a site; `None` where there is no such site.
    #[inline]
    pub fn address(&self, site: u32) -> Option<Addr> {
        self.sites.get(site as usize).map(|last| last.addr)
    }

    /// Notes that the next access was of this site, to this address.
    #[inline]
    pub fn note(&mut self, site: u32, addr: Addr) {
        if site != self.next
            && let Some(before) = self.last.and_then(|last| self.sites.get_mut(last as usize))
        {
            before.followed_by = site;
        }
        if let Some(last) = self.sites.get_mut(site as usize) {
            last.addr = addr;
            self.next = last.followed_by;
        }
        self.last = Some(site);
    }
}
