//! Where lanes lie, so that the program finds the room that it would find natively.
//!
//! Counters are as far above their arena as the lanes are above zero ([`super::lanes`]), and an arena is near the code that
//! it is for. So the lanes cannot lie higher than the address space goes on above the highest code. The kernel maps
//! libraries up to 1 TiB below the stack, at random, and everything else below them: in nearly all processes there is
//! room above, where natively nothing comes to. Below 2 GiB, what `MAP_32BIT` and fixed addresses of programs name, we
//! lie where nothing else is free.

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

/// Where lanes lie mostly. Java keeps its heap below 32 GiB where it can, and its classes right behind that. It is no round
/// address, which a program might have chosen for something of its own.
const USUAL: Range<u64> = 40 * GIB + (0x2b7 << 20)..48 * GIB;

/// What is left below the stack then, at least.
const SPARE: u64 = 8 * GIB;

/// How many lanes there are where several windows must share the 2 GiB below the stack.
const FEW: usize = LANES / 2;

/// Where lanes lie that find no other place, as where a sanitizer has its shadow above 2 GiB.
const LOW: Range<u64> = 64 << 20..REACH - LANE_BYTES;

/// Where in that: a position-dependent program's heap begins below.
const LOW_START: u64 = 512 << 20;

/// Where libraries and stack lie.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The end of the highest code.
    pub top: u64,
    /// How far our mappings above it may reach.
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

    /// The end of the libraries, where the kernel maps downwards from below them. With an unlimited stack it maps upwards
    /// from a third of the address space on.
    pub fn above_libraries(self) -> Option<u64> {
        const FARTHEST: u64 = 20 << 40;
        (self.ceiling.saturating_sub(self.top) < FARTHEST).then_some(self.top)
    }

    /// Where lanes may lie, the best first.
    pub fn sites(self) -> [Site; 4] {
        let headroom = self.ceiling.saturating_sub(self.top);
        let usual = if headroom >= USUAL.end + SPARE { USUAL } else { REACH..REACH };
        [
            Site { lanes: LANES, within: usual, prefer: Prefer::Low },
            // Windows take as much as the lanes, within 2 GiB of where the arena is plus the lanes.
            Site { lanes: LANES, within: REACH..headroom.clamp(REACH, 32 * GIB), prefer: Prefer::High },
            // The arena lies nearly 2 GiB below the code, and windows as much below that, plus the lanes.
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
        // 10 GiB below the stack, less what is kept free for it: counters are 9 GiB above the code.
        let (lanes, start) = site_of(&with_library("7ffd7fe00000-7ffd7ff00000"));
        assert!(lanes == LANES && (8 * GIB..9 * GIB).contains(&start), "{start:x}");
        // Addresses are not randomised.
        assert_eq!(site_of(&with_library("7ffff7e00000-7ffff7fff000")), (FEW, REACH));
        // The stack is unlimited.
        let upwards = with_library("2aaaaaaab000-2aaaaabab000");
        assert_eq!(site_of(&upwards), (LANES, USUAL.start));
        assert_eq!(Layout::of(&maps::parse(upwards.as_bytes())).above_libraries(), None);
        // A sanitizer's shadow.
        let shadow =
            format!("7fff8000-10007fff8000 rw-p 0 0 0\n{}", with_library("7f8000000000-7f8000100000"));
        assert_eq!(site_of(&shadow), (LANES, LOW_START));
        // The kernel's code at the top is nobody's.
        let vsyscall = "ffffffffff600000-ffffffffff601000 --xp 0 0 0 [vsyscall]";
        let text = format!("{}\n{vsyscall}", with_library("7f8000000000-7f8000100000"));
        assert_eq!(site_of(&text), (LANES, USUAL.start));
    }
}
