//! Coherence protocols as tables.
//!
//! A transition depends on the state of one copy and on what its own core or another core does. MSI, MESI and MOESI
//! are those of Culler, Singh and Gupta, *Parallel Computer Architecture* (1999), sections 5.3 and 5.4, and of the
//! AMD64 manual, volume 2, section 7.3 (MOESI: a dirty line moves between caches without being written back). MESIF
//! is Intel's: the newest of several clean copies is F, and answers the next request.

use serde::Deserialize;

/// A coherence protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Protocol {
    /// Modified, shared, invalid.
    Msi,
    /// And exclusive: clean, and in no other cache.
    #[default]
    Mesi,
    /// And forward: of several clean copies, the one that answers.
    Mesif,
    /// And owned: dirty, and in other caches too.
    Moesi,
}

/// The state of a line in the private caches of one core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum State {
    /// Not held.
    #[default]
    Invalid,
    /// Held, maybe by others too.
    Shared,
    /// Shared, and answers the next request.
    Forward,
    /// Dirty, and maybe held by others as [`State::Shared`].
    Owned,
    /// Clean, and held by no other core.
    Exclusive,
    /// Dirty, and held by no other core.
    Modified,
}

impl State {
    /// Whether memory has older bytes.
    pub const fn is_dirty(self) -> bool {
        matches!(self, Self::Modified | Self::Owned)
    }

    /// Whether the copy answers another core's request: at most one copy of a line does.
    pub const fn answers(self) -> bool {
        !matches!(self, Self::Invalid | Self::Shared)
    }

    /// Whether the core may write without asking: no other copy exists.
    pub const fn may_write(self) -> bool {
        matches!(self, Self::Modified | Self::Exclusive)
    }

    /// One letter, as in the names of the protocols.
    pub const fn letter(self) -> char {
        match self {
            Self::Invalid => 'I',
            Self::Shared => 'S',
            Self::Forward => 'F',
            Self::Owned => 'O',
            Self::Exclusive => 'E',
            Self::Modified => 'M',
        }
    }
}

/// What another core's access does to a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The state afterwards.
    pub state: State,
    /// Whether the copy's bytes are written back, to the shared cache or to memory.
    pub writes_back: bool,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Msi, Self::Mesi, Self::Mesif, Self::Moesi];

    /// The state of a line that is loaded. `alone`: no other core holds it, and no shared cache of another socket.
    pub const fn loaded(self, alone: bool) -> State {
        match (self, alone) {
            (Self::Msi, _) | (Self::Mesi | Self::Moesi, false) => State::Shared,
            (Self::Mesif, false) => State::Forward,
            (_, true) => State::Exclusive,
        }
    }

    /// What a load by another core does to a copy.
    pub const fn remote_load(self, state: State) -> Answer {
        match (self, state) {
            (_, State::Invalid) => Answer { state, writes_back: false },
            // The dirty copy answers from now on; memory stays old.
            (Self::Moesi, State::Modified | State::Owned) => {
                Answer { state: State::Owned, writes_back: false }
            }
            (_, State::Modified | State::Owned) => Answer { state: State::Shared, writes_back: true },
            (_, State::Exclusive | State::Forward | State::Shared) => {
                Answer { state: State::Shared, writes_back: false }
            }
        }
    }

    /// What a store by another core does to a copy.
    pub const fn remote_store(self, state: State) -> Answer {
        // With MOESI the writer gets the dirty bytes, and the duty to write them back.
        let writes_back = state.is_dirty() && !matches!(self, Self::Moesi);
        Answer { state: State::Invalid, writes_back }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: [State; 6] =
        [State::Invalid, State::Shared, State::Forward, State::Owned, State::Exclusive, State::Modified];

    /// The state after a transition, and `!` where the copy is written back.
    fn row(states: &str, answer: impl Fn(State) -> Answer) -> String {
        let of = |letter| STATES.into_iter().find(|state| state.letter() == letter).unwrap();
        let words = states.chars().map(|letter| {
            let Answer { state, writes_back } = answer(of(letter));
            format!("{letter}>{}{}", state.letter(), if writes_back { "!" } else { "" })
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// Each state of each protocol, from the books' diagrams.
    #[test]
    fn another_core_loads() {
        let row = |protocol: Protocol, states| row(states, |state| protocol.remote_load(state));
        assert_eq!(row(Protocol::Msi, "MSI"), "M>S! S>S I>I");
        assert_eq!(row(Protocol::Mesi, "MESI"), "M>S! E>S S>S I>I");
        assert_eq!(row(Protocol::Mesif, "MESIF"), "M>S! E>S S>S I>I F>S");
        assert_eq!(row(Protocol::Moesi, "MOESI"), "M>O O>O E>S S>S I>I");
    }

    #[test]
    fn another_core_stores() {
        let row = |protocol: Protocol, states| row(states, |state| protocol.remote_store(state));
        assert_eq!(row(Protocol::Msi, "MSI"), "M>I! S>I I>I");
        assert_eq!(row(Protocol::Mesi, "MESI"), "M>I! E>I S>I I>I");
        assert_eq!(row(Protocol::Mesif, "MESIF"), "M>I! E>I S>I I>I F>I");
        assert_eq!(row(Protocol::Moesi, "MOESI"), "M>I O>I E>I S>I I>I");
    }

    #[test]
    fn the_core_itself_loads() {
        let states = Protocol::ALL.map(|protocol| [true, false].map(|alone| protocol.loaded(alone).letter()));
        assert_eq!(states, [['S', 'S'], ['E', 'S'], ['E', 'F'], ['E', 'S']]);
    }
}
