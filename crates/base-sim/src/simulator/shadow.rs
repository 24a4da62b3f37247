use rustc_hash::FxHashMap;

/// A fully associative LRU cache beside a set-associative one of the same size: what it has and the other one lacks was
/// replaced because of a conflict.
#[derive(Debug)]
pub struct Shadow {
    capacity: usize,
    slots: FxHashMap<u64, u32>,
    nodes: Vec<Node>,
    /// Slots of removed lines.
    free: Vec<u32>,
    newest: u32,
    oldest: u32,
}

/// A line in the list from the newest to the oldest.
#[derive(Clone, Copy, Debug)]
struct Node {
    line: u64,
    newer: u32,
    older: u32,
}

const NONE: u32 = u32::MAX;

impl Shadow {
    pub fn new(lines: usize) -> Self {
        Self {
            capacity: lines,
            slots: FxHashMap::default(),
            nodes: Vec::new(),
            free: Vec::new(),
            newest: NONE,
            oldest: NONE,
        }
    }

    /// Uses a line. Whether it was there.
    pub fn use_line(&mut self, line: u64) -> bool {
        if self.nodes.get(self.newest as usize).is_some_and(|node| node.line == line) {
            return true;
        }
        let slot = self.slots.get(&line).copied();
        let slot_now = match slot {
            Some(slot) => {
                self.unlink(slot);
                slot
            }
            None => self.place(line),
        };
        self.link(slot_now);
        slot.is_some()
    }

    /// Another core's store takes the line.
    pub fn remove(&mut self, line: u64) {
        if let Some(slot) = self.slots.remove(&line) {
            self.unlink(slot);
            self.free.push(slot);
        }
    }

    /// A slot for a new line, in no list.
    fn place(&mut self, line: u64) -> u32 {
        let slot = if let Some(slot) = self.free.pop() {
            slot
        } else if self.nodes.len() < self.capacity {
            self.nodes.push(Node { line, newer: NONE, older: NONE });
            self.nodes.len() as u32 - 1
        } else {
            let oldest = self.oldest;
            self.unlink(oldest);
            self.slots.remove(&self.nodes[oldest as usize].line);
            oldest
        };
        self.nodes[slot as usize].line = line;
        self.slots.insert(line, slot);
        slot
    }

    fn link(&mut self, slot: u32) {
        let older = self.newest;
        let node = &mut self.nodes[slot as usize];
        (node.newer, node.older) = (NONE, older);
        match self.nodes.get_mut(older as usize) {
            Some(node) => node.newer = slot,
            None => self.oldest = slot,
        }
        self.newest = slot;
    }

    fn unlink(&mut self, slot: u32) {
        let Node { newer, older, .. } = self.nodes[slot as usize];
        match self.nodes.get_mut(newer as usize) {
            Some(node) => node.older = older,
            None => self.newest = older,
        }
        match self.nodes.get_mut(older as usize) {
            Some(node) => node.newer = newer,
            None => self.oldest = newer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_line_makes_room() {
        let mut shadow = Shadow::new(3);
        let hits: Vec<bool> = [1, 2, 3, 1, 4, 2, 1].map(|line| shadow.use_line(line)).into();
        // 4 replaces 2, which is older than 3 and 1; then 2 replaces 3.
        assert_eq!(hits, [false, false, false, true, false, false, true]);
    }

    #[test]
    fn a_removed_line_leaves_room() {
        let mut shadow = Shadow::new(2);
        shadow.use_line(1);
        shadow.use_line(2);
        shadow.remove(2);
        shadow.remove(7);
        assert!(!shadow.use_line(3));
        assert!(shadow.use_line(1) && shadow.use_line(3) && !shadow.use_line(2));
    }
}
