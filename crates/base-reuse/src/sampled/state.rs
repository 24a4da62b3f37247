/// The phase of a slot's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Free,
    /// A thread is storing a use.
    Writing,
    /// A use is watched.
    Active,
}

/// The state of a slot in one word: the number of its use, and the phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub generation: u32,
    pub phase: Phase,
}

impl State {
    pub const fn to_bits(self) -> u64 {
        ((self.generation as u64) << 2) | self.phase as u64
    }

    pub const fn from_bits(bits: u64) -> Self {
        let phase = match bits & 3 {
            0 => Phase::Free,
            2 => Phase::Active,
            _ => Phase::Writing,
        };
        Self { generation: (bits >> 2) as u32, phase }
    }

    /// The state when a thread stores the next use.
    pub const fn next_writing(self) -> Self {
        Self { generation: self.generation.wrapping_add(1), phase: Phase::Writing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeroed_memory_is_free() {
        assert_eq!(State::from_bits(0), State { generation: 0, phase: Phase::Free });
    }

    #[test]
    fn states_survive_the_way_through_a_word() {
        for phase in [Phase::Free, Phase::Writing, Phase::Active] {
            for generation in [0, 1, u32::MAX] {
                let state = State { generation, phase };
                assert_eq!(State::from_bits(state.to_bits()), state);
            }
        }
    }
}
