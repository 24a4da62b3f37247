//! The stacks of one layer, and their effects on each other.

use super::{
    grid::{Grid, Key},
    presence::Presence,
    stack::Stack,
    table::Home,
};

/// A stack for each *holder*: a thread, or a domain.
///
/// The state is that of the MESI protocol (Papamarcos and Patel, ISCA 1984), without dirtiness: a place is
/// *exclusive* to one stack, or several have it, or were invalidated. A touch affects the other stacks only if it
/// writes and its place is not exclusive, or if its stack did not have the place.
#[derive(Clone, Debug)]
pub(super) struct Holders {
    grid: Grid,
    stacks: Vec<Option<Box<Stack>>>,
    /// None while there is only one stack.
    presence: Option<Presence>,
    /// The widths of places, see [`Grid::overlapping`].
    widths: u64,
}

impl Holders {
    pub fn new(grid: Grid) -> Self {
        Self { grid, stacks: Vec::new(), presence: None, widths: 0 }
    }

    /// All stacks except the one that is taken out.
    pub fn others(&mut self) -> impl Iterator<Item = &mut Stack> {
        self.stacks.iter_mut().flatten().map(|stack| &mut **stack)
    }

    /// Forgets a stack.
    pub fn end(&mut self, holder: usize) {
        if let Some(stack) = self.stacks.get_mut(holder) {
            *stack = None;
        }
    }

    /// Puts a stack back.
    #[inline(always)]
    pub fn put(&mut self, holder: usize, stack: Box<Stack>) {
        if let Some(place) = self.stacks.get_mut(holder) {
            *place = Some(stack);
        }
    }

    /// Applies the effects of touches of a place, which is taken out, to the other stacks; they missed if its stack did not
    /// have it.
    #[inline(always)]
    pub fn settle(
        &mut self,
        holder: usize,
        stack: &mut Stack,
        place: (Key, Home),
        missed: bool,
        writes: bool,
    ) {
        if self.presence.is_some() && (missed || (writes && !stack.owns(place.1))) {
            self.tell_others(holder, stack, place, missed, writes);
        }
    }

    #[inline(never)]
    fn tell_others(
        &mut self,
        holder: usize,
        stack: &mut Stack,
        (key, home): (Key, Home),
        missed: bool,
        writes: bool,
    ) {
        if missed {
            self.note(holder, stack, key);
        }
        let Some(presence) = &self.presence else { return };
        let (first, last) = self.grid.blocks(key);
        let set = presence.of(first) | presence.of(last);
        let mut shared = false;
        for other in Presence::members(set, self.stacks.len()) {
            let Some(Some(other)) = self.stacks.get_mut(other) else { continue };
            self.grid.overlapping(key, Presence::kinds(set), self.widths, |key| {
                if writes {
                    other.invalidate(key);
                } else {
                    shared |= other.share(key);
                }
            });
        }
        if !shared {
            stack.own(home);
        }
    }

    /// A stack has a new place.
    fn note(&mut self, holder: usize, stack: &Stack, key: Key) {
        self.widths |= self.grid.width_bit(key);
        let Some(presence) = &mut self.presence else { return };
        note(presence, self.grid, key, holder);
        if presence.is_crowded() {
            let mut larger = presence.larger();
            stack.keys().for_each(|key| note(&mut larger, self.grid, key, holder));
            self.note_all(&mut larger);
            self.presence = Some(larger);
        }
    }

    /// Notes all places of the stacks that are not taken out.
    fn note_all(&mut self, presence: &mut Presence) {
        for (holder, stack) in self.stacks.iter().enumerate() {
            for key in stack.iter().flat_map(|stack| stack.keys()) {
                self.widths |= self.grid.width_bit(key);
                note(presence, self.grid, key, holder);
            }
        }
    }

    /// Takes out the stack of a holder, which is put back later.
    #[inline(always)]
    pub fn take(&mut self, holder: usize) -> Box<Stack> {
        let stack = self.stacks.get_mut(holder).and_then(Option::take);
        stack.unwrap_or_else(|| self.add(holder))
    }

    #[cold]
    #[inline(never)]
    fn add(&mut self, holder: usize) -> Box<Stack> {
        if self.stacks.len() <= holder {
            self.stacks.resize_with(holder + 1, || None);
        }
        if self.presence.is_none() && self.stacks.iter().any(Option::is_some) {
            let mut presence = Presence::new();
            self.note_all(&mut presence);
            self.presence = Some(presence);
        }
        Box::new(Stack::new(self.grid))
    }
}

fn note(presence: &mut Presence, grid: Grid, key: Key, holder: usize) {
    let ((first, last), kind) = (grid.blocks(key), grid.kind(key));
    presence.note(first, holder, kind);
    presence.note(last, holder, kind);
}
