//! Where lanes lie, so that the program finds the same free address space as natively.
//!
//! Counters are as far above their arena as the lanes are above zero ([`super::lanes`]), and an arena is near its
//! original code. So the address of the lanes is limited by the address space above the highest code. The kernel maps
//! libraries up to 1 TiB below the stack, at random, and everything else below them. So in nearly all processes there
//! is room above, where natively nothing is placed. The engine uses addresses below 2 GiB, which `MAP_32BIT` and
//! programs' fixed addresses name, only where nothing else is free.

use std::ops::Range;

use super::{
    Mapping, MappingKind, Prefer, REACH, USER_END,
    holes::STACK_ROOM,
    lanes::{LANE_BYTES, LANES},
};

const GIB: u64 = 1 << 30;

/// Where lanes may lie, and how many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    pub lanes: usize,
    pub within: Range<u64>,
    pub prefer: Prefer,
}

/// The usual place of the lanes. Java keeps its heap below 32 GiB where it can, and its classes right behind it. It
/// is not a round address, which a program might have chosen for itself.
const USUAL: Range<u64> = 40 * GIB + (0x2b7 << 20)..48 * GIB;

/// At least this much is left below the stack then.
const SPARE: u64 = 8 * GIB;

/// The number of lanes where several windows must share the 2 GiB below the stack.
const FEW: usize = LANES / 2;

/// The place of lanes for which there is no other, for example because a sanitizer has its shadow above 2 GiB.
const LOW: Range<u64> = 64 << 20..REACH - LANE_BYTES;

/// The preferred start in that range: a position-dependent program's heap begins below.
const LOW_START: u64 = 512 << 20;

/// Where the libraries and the stack lie.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The end of the highest code.
    pub top: u64,
    /// The upper limit of the engine's mappings above it.
    pub ceiling: u64,
}

impl Layout {
    pub fn of(mappings: &[Mapping]) -> Self {
        let is_code = |mapping: &&Mapping| {
            let kind = matches!(mapping.kind, MappingKind::File | MappingKind::Vdso);
            kind && mapping.executable && mapping.end <= USER_END
        };
        let top = mappings.iter().filter(is_code).map(|mapping| mapping.end).max().unwrap_or(0);
        let is_stack = |mapping: &&Mapping| mapping.kind == MappingKind::Stack && mapping.start >= top;
        let stack = mappings.iter().find(is_stack).map(|stack| stack.start.saturating_sub(STACK_ROOM));
        Self { top, ceiling: stack.unwrap_or(USER_END) }
    }

    /// The end of the libraries, where the kernel maps downwards from below them. With an unlimited stack it maps
    /// upwards from a third of the address space.
    pub fn above_libraries(self) -> Option<u64> {
        const FARTHEST: u64 = 20 << 40;
        (self.ceiling.saturating_sub(self.top) < FARTHEST).then_some(self.top)
    }

    /// The possible places of the lanes, the best first.
    pub fn sites(self) -> [Site; 4] {
        let headroom = self.ceiling.saturating_sub(self.top);
        let usual = if headroom >= USUAL.end + SPARE { USUAL } else { REACH..REACH };
        [
            Site { lanes: LANES, within: usual, prefer: Prefer::Low },
            // Windows take as much as the lanes, within 2 GiB of the sum of the arena's address and the lanes'.
            Site { lanes: LANES, within: REACH..headroom.clamp(REACH, 32 * GIB), prefer: Prefer::High },
            // The arena lies nearly 2 GiB below the code, and its windows as much below that, plus the lanes.
            Site { lanes: FEW, within: REACH..REACH + GIB, prefer: Prefer::Low },
            Site { lanes: LANES, within: LOW, prefer: Prefer::Near(LOW_START) },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{find_hole, maps},
        *,
    };

    fn site_of(text: &str) -> (usize, u64) {
        let mappings = maps::parse(text.as_bytes());
        let find = |site: &Site| {
            let bytes = LANE_BYTES * site.lanes as u64;
            find_hole(&mappings, bytes, LANE_BYTES, site.within.clone(), site.prefer)
        };
        let sites = Layout::of(&mappings).sites();
        sites.iter().find_map(|site| Some((site.lanes, find(site)?))).expect("room")
    }

    #[test]
    fn low_memory_is_taken_only_where_nothing_else_is_free() {
        let stack = "7ffffffde000-7ffffffff000 rw-p 0 0 0 [stack]";
        let with_library = |at: &str| format!("{at} r-xp 0 0 1 /lib/ld.so\n{stack}");
        assert_eq!(site_of(&with_library("7f8000000000-7f8000100000")), (LANES, USUAL.start));
        // 10 GiB below the stack, minus the room that is kept free for it: counters are 9 GiB above the code.
        let (lanes, start) = site_of(&with_library("7ffd7fe00000-7ffd7ff00000"));
        assert!(lanes == LANES && (8 * GIB..9 * GIB).contains(&start), "{start:x}");
        // Without address space randomisation.
        assert_eq!(site_of(&with_library("7ffff7e00000-7ffff7fff000")), (FEW, REACH));
        // With an unlimited stack.
        let upwards = with_library("2aaaaaaab000-2aaaaabab000");
        assert_eq!(site_of(&upwards), (LANES, USUAL.start));
        assert_eq!(Layout::of(&maps::parse(upwards.as_bytes())).above_libraries(), None);
        // A sanitizer's shadow.
        let shadow =
            format!("7fff8000-10007fff8000 rw-p 0 0 0\n{}", with_library("7f8000000000-7f8000100000"));
        assert_eq!(site_of(&shadow), (LANES, LOW_START));
        // The kernel's code at the top is ignored.
        let vsyscall = "ffffffffff600000-ffffffffff601000 --xp 0 0 0 [vsyscall]";
        let text = format!("{}\n{vsyscall}", with_library("7f8000000000-7f8000100000"));
        assert_eq!(site_of(&text), (LANES, USUAL.start));
    }
}
