//! Where lanes lie, so that the program finds the same free address space as natively.
//!
//! Counters are as far above their arena as the lanes are above zero ([`super::lanes`]), and an arena is near its
//! original code. The kernel maps libraries up to 1 TiB below the stack, at random, and everything else below them. So in
//! most processes there is room above, where natively nothing is placed. Where there is not, counters lie beside the
//! lanes ([`super::bank`]).

use std::ops::Range;

use super::{Mapping, MappingKind, REACH, USER_END, holes::STACK_ROOM};

const GIB: u64 = 1 << 30;

/// Where lanes may lie, the best first. Addresses below 2 GiB, which `MAP_32BIT` and programs' fixed addresses name, are
/// left to the program.
///
/// Java keeps its heap below 32 GiB where it can, and its classes right behind it; SBCL has its own from 64 GiB on. The
/// usual place is not a round address, which a program might have chosen for itself. A sanitizer has its shadow there.
pub const SITES: [Range<u64>; 2] = [40 * GIB + (0x2b7 << 20)..60 * GIB, REACH..USER_END];

/// The end of the libraries, where the kernel maps downwards from below them. With an unlimited stack it maps
/// upwards from a third of the address space.
pub fn above_libraries(mappings: &[Mapping]) -> Option<u64> {
    const FARTHEST: u64 = 20 << 40;
    let is_code = |mapping: &&Mapping| {
        let kind = matches!(mapping.kind, MappingKind::File | MappingKind::Vdso);
        kind && mapping.executable && mapping.end <= USER_END
    };
    let top = mappings.iter().filter(is_code).map(|mapping| mapping.end).max().unwrap_or(0);
    let is_stack = |mapping: &&Mapping| mapping.kind == MappingKind::Stack && mapping.start >= top;
    let stack = mappings.iter().find(is_stack).map(|stack| stack.start.saturating_sub(STACK_ROOM));
    (stack.unwrap_or(USER_END).saturating_sub(top) < FARTHEST).then_some(top)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            Prefer,
            bank::{BANK_BYTES, COLUMN_BYTES},
            find_hole, maps,
        },
        *,
    };

    fn site_of(mappings: &[Mapping]) -> u64 {
        let find = |site: Range<u64>| find_hole(mappings, BANK_BYTES, COLUMN_BYTES, site, Prefer::Low);
        SITES.into_iter().find_map(find).expect("room")
    }

    #[test]
    fn lanes_lie_in_one_place_unless_something_is_there() {
        let [usual, _] = SITES.map(|site| site.start);
        let stack = "7ffffffde000-7ffffffff000 rw-p 0 0 0 [stack]";
        let with_library = |at: &str| maps::parse(format!("{at} r-xp 0 0 1 /lib/ld.so\n{stack}").as_bytes());
        for library in ["7f8000000000-7f8000100000", "7ffff7e00000-7ffff7fff000"] {
            let mappings = with_library(library);
            assert_eq!(site_of(&mappings), usual);
            let top = u64::from_str_radix(&library[13..], 16).expect("an address");
            assert_eq!(above_libraries(&mappings), Some(top));
        }
        // With an unlimited stack.
        let upwards = with_library("2aaaaaaab000-2aaaaabab000");
        assert_eq!((site_of(&upwards), above_libraries(&upwards)), (usual, None));
        // A sanitizer's shadow.
        let shadow = maps::parse(format!("7fff8000-10007fff8000 rw-p 0 0 0\n{stack}").as_bytes());
        assert_eq!(site_of(&shadow), 0x1000_8000_0000);
        // The kernel's code at the top is ignored.
        let vsyscall = "7f8000000000-7f8000100000 r-xp 0 0 1 /lib/ld.so\n\
                        ffffffffff600000-ffffffffff601000 --xp 0 0 0 [vsyscall]";
        assert_eq!(above_libraries(&maps::parse(vsyscall.as_bytes())), Some(0x7f80_0010_0000));
    }
}
