//! A program that logs its own accesses, so that every sample of them can be checked.
//!
//! Every address is accessed by only one instruction, and lies at a random place among bytes that nothing else
//! accesses. So a sample with a wrong instruction, address, width or kind is not in the log.

mod sites;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use self::sites::{SITES, Site};
use crate::error::Error;
use crate::output::Output;
use crate::random::Random;
use crate::rest::Rest;

/// Accesses memory in a random order, by instructions of many forms, and writes down every access.
///
/// The log is a CSV file: ip, address, width, kind, count. The program accesses other memory as well, at other
/// instructions.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  carom-workloads access-log --log accesses.csv --passes 64")]
pub struct Options {
    /// Where to write the log.
    #[arg(long)]
    log: PathBuf,

    /// Addresses to access, as a power of two.
    #[arg(long, default_value_t = 14, value_parser = clap::value_parser!(u8).range(1..=24))]
    addresses_log2: u8,

    /// How often each is accessed.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..))]
    passes: u64,

    /// Where the random numbers start.
    #[arg(long, default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    rest: Rest,
}

/// The size of the room around each address. An access begins anywhere in the first part, and the widest one ends
/// within.
const ROOM_BYTES: u64 = 64;
const STARTS: u64 = 48;

/// One planned access.
struct Planned {
    site: &'static Site,
    base: u64,
    index: u64,
    address: u64,
}

/// Makes the accesses and the log.
///
/// # Errors
/// Where the log cannot be written.
pub fn run(options: &Options) -> Result<Output, Error> {
    let mut random = Random::new(options.seed, 0);
    let addresses = 1_u64 << options.addresses_log2;
    let mut memory = vec![0_u8; (addresses * ROOM_BYTES) as usize];
    let first = memory.as_mut_ptr() as u64;
    let planned: Vec<Planned> = (0..addresses)
        .filter_map(|room| plan(first + room * ROOM_BYTES + below(&mut random, STARTS), &mut random))
        .collect();
    write_log(&options.log, &planned, options.passes)?;
    let stretch = options.rest.stretch(options.passes.saturating_mul(addresses)).div_ceil(addresses);
    for pass in 0..options.passes {
        if pass.is_multiple_of(stretch) {
            options.rest.rest();
        }
        visit_all(&planned, &mut random);
    }
    Ok(Output {
        workload: "access-log",
        parameters: json!({ "addresses": addresses, "passes": options.passes, "seed": options.seed }),
        expected: json!({ "accesses": addresses * options.passes, "instructions": SITES.len() }),
        measured: json!({}),
        notes: Vec::new(),
    })
}

/// A random number below `n`, from the generator's good upper half.
fn below(random: &mut Random, n: u64) -> u64 {
    ((random.next() >> 32) * n) >> 32
}

/// An access to `address` by a random instruction.
fn plan(address: u64, random: &mut Random) -> Option<Planned> {
    /// Any small number: it is subtracted from the base.
    const INDICES: u64 = 1000;
    let site = SITES.get(below(random, SITES.len() as u64) as usize)?;
    let index = below(random, INDICES);
    Some(Planned { site, base: site.base(address, index), index, address })
}

/// Makes every planned access once, in a random order: that of a linear congruential generator of full period (Hull and
/// Dobell 1962: an odd increment, a multiplier of 1 modulo 4, a modulus that is a power of two).
fn visit_all(planned: &[Planned], random: &mut Random) {
    let mask = planned.len() as u64 - 1;
    let (multiplier, increment) = (random.next() << 2 | 1, random.next() | 1);
    let mut at = random.next() & mask;
    for _ in planned {
        if let Some(Planned { site, base, index, .. }) = planned.get(at as usize) {
            // SAFETY: the access is to the room of its address, which nothing else uses.
            unsafe { (site.function)(*base, *index) };
        }
        at = at.wrapping_mul(multiplier).wrapping_add(increment) & mask;
    }
}

fn write_log(path: &Path, planned: &[Planned], count: u64) -> Result<(), Error> {
    let mut log = BufWriter::new(File::create(path)?);
    writeln!(log, "ip,address,width,kind,count")?;
    for Planned { site, address, .. } in planned {
        writeln!(log, "{:#x},{address:#x},{},{},{count}", site.ip(), site.width, site.kind.name())?;
    }
    Ok(log.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 256 rooms of zeroes. Every load leaves them unchanged, every store of zeroes too; `not` does not.
    #[test]
    fn every_address_is_visited_once_per_pass() {
        let mut random = Random::new(1, 0);
        let mut memory = vec![0_u8; 256 * ROOM_BYTES as usize];
        let first = memory.as_mut_ptr() as u64;
        let invert = SITES.iter().find(|site| {
            site.width == 8 && site.scale == 0 && {
                // `not qword ptr [rdi]`
                // SAFETY: the function's first bytes.
                let code = unsafe { std::slice::from_raw_parts(site.function as *const u8, 3) };
                code == [0x48, 0xf7, 0x17]
            }
        });
        let site = invert.expect("there is one");
        let planned: Vec<Planned> = (0..256)
            .map(|room| {
                let address = first + room * ROOM_BYTES + room % STARTS;
                Planned { site, base: site.base(address, 0), index: 0, address }
            })
            .collect();
        visit_all(&planned, &mut random);
        for (room, bytes) in memory.chunks(ROOM_BYTES as usize).enumerate() {
            let start = room % STARTS as usize;
            assert!(
                bytes
                    .iter()
                    .enumerate()
                    .all(|(at, &byte)| { byte == if (start..start + 8).contains(&at) { 0xff } else { 0 } })
            );
        }
    }

    #[test]
    fn bases_lead_to_their_addresses() {
        let scaled = Site { scale: 4, displacement: -64, ..SITES[0] };
        assert_eq!(scaled.base(0x1000, 3), 0x1000 - 12 + 64);
    }
}
