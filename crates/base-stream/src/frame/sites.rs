use carom_base::{Access, AccessKind, Addr, Ip, at_difference, take_varint};

use super::{
    MOST_SITES,
    blocks::Blocks,
    codes,
    error::FrameError,
    head::{take_byte, take_count, take_u32},
    stride::Stride,
};
use crate::record::Streamed;

/// A site of which accesses are read.
pub struct Site<A> {
    pub form: A,
    pub width: u32,
    /// The number of the address that its own follows from, among those of its block, and the distance from it.
    pub of: u32,
    pub offset: u64,
}

/// Blocks, their sites, and their addresses.
pub type Sites<A> = (Blocks, Vec<Site<A>>, Vec<Stride>);

/// Takes the blocks and the sites of a batch from the front of `rest`; `form`: what a reader has of a site, by its first access.
pub fn take_sites<A>(rest: &mut &[u8], mut form: impl FnMut(&Streamed) -> A) -> Result<Sites<A>, FrameError> {
    let mut sizes = Vec::new();
    // Each has a byte for its size, and a site of four.
    for _ in 0..take_count(rest, 5, "blocks")? {
        let sites = take_varint(rest)? as usize;
        if !(1..=MOST_SITES).contains(&sites) {
            return Err(FrameError::OutOfRange("a number of sites"));
        }
        sizes.push(sites);
    }
    let all: usize = sizes.iter().sum();
    if all > rest.len() / 4 {
        return Err(FrameError::TooMany("sites"));
    }
    let (mut blocks, mut sites, mut strides) = (Blocks::default(), Vec::with_capacity(all), Vec::new());
    let (mut ip, mut told) = (0, 0);
    // Of the block.
    let mut addresses: Vec<u64> = Vec::new();
    for size in sizes {
        addresses.clear();
        for _ in 0..size {
            ip = at_difference(ip, take_varint(rest)?);
            let width = take_u32(rest, "a width")?;
            let kind = take_byte(rest)?;
            let follows = kind & codes::FOLLOWS != 0;
            let (of, from) = if follows {
                let of = take_u32(rest, "an address")?;
                let from = addresses.get(of as usize).ok_or(FrameError::OutOfRange("an address"))?;
                (of, *from)
            } else {
                told = at_difference(told, take_varint(rest)?);
                addresses.push(told);
                strides.push(Stride::new(Addr(told)));
                (addresses.len() as u32 - 1, told)
            };
            let addr = if follows { at_difference(from, take_varint(rest)?) } else { told };
            if width == 0 {
                return Err(FrameError::OutOfRange("a width"));
            }
            let (kind, atomic) =
                self::kind(kind & !codes::FOLLOWS).ok_or(FrameError::OutOfRange("a kind"))?;
            let first = Streamed { access: Access { ip: Ip(ip), addr: Addr(addr), width, kind }, atomic };
            sites.push(Site { form: form(&first), width, of, offset: addr.wrapping_sub(from) });
        }
        blocks.add(size as u32, addresses.len() as u32, 0);
    }
    Ok((blocks, sites, strides))
}

/// The kind of access that a byte stands for, and whether its instruction is locked.
const fn kind(code: u8) -> Option<(AccessKind, bool)> {
    if code == codes::ATOMIC {
        return Some((AccessKind::ReadModifyWrite, true));
    }
    match AccessKind::from_u8(code) {
        Some(kind) => Some((kind, false)),
        None => None,
    }
}
