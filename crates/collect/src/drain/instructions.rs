//! Counts by instruction, which agents append to a file of their own.

use std::{collections::BTreeMap, path::Path};

use carom_base::{Ip, ProcessId};
use carom_base_wire::{Count, InstructionRecord};
use carom_store::InstructionCounts;

use super::tail::Tail;

/// Read in one go at most.
const MOST_BYTES: u64 = 16 << 20;

/// What instructions have executed: the sums of all records.
#[derive(Default)]
pub struct Instructions(BTreeMap<(ProcessId, Ip), [i64; Count::COUNT]>);

impl Instructions {
    /// Adds all records of a process's file. Returns the bytes at its end that are no whole record.
    pub fn read(&mut self, path: &Path, process: ProcessId) -> u64 {
        let mut tail = Tail::default();
        loop {
            tail.read(path, MOST_BYTES);
            let (records, rest) = tail.bytes.as_chunks();
            if records.is_empty() {
                return rest.len() as u64;
            }
            for record in records {
                let InstructionRecord { ip, counts } = InstructionRecord::decode(record);
                let sums = self.0.entry((process, Ip(ip))).or_default();
                sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum = sum.saturating_add(count));
            }
            let used = tail.bytes.len() - rest.len();
            tail.bytes.drain(..used);
        }
    }

    /// As the store has them.
    pub fn rows(self) -> Vec<InstructionCounts> {
        self.0.into_iter().map(|((process, ip), counts)| row(process, ip, &counts)).collect()
    }
}

fn row(process: ProcessId, ip: Ip, counts: &[i64; Count::COUNT]) -> InstructionCounts {
    // Nothing is executed less than never: the program may have written over it.
    let of = |count: Count| counts.get(count as usize).map_or(0, |value| (*value).max(0) as u64);
    InstructionCounts {
        process,
        ip,
        instructions: of(Count::Instructions),
        loads: of(Count::Loads),
        stores: of(Count::Stores),
        loaded_bytes: of(Count::LoadedBytes),
        stored_bytes: of(Count::StoredBytes),
        branches: of(Count::Branches),
        branches_taken: of(Count::BranchesTaken),
        calls: of(Count::Calls),
        returns: of(Count::Returns),
        atomics: of(Count::Atomics),
        system_calls: of(Count::SystemCalls),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_one_instruction_are_added_up() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("7.1.counts");
        let record = |ip, count: Count, value| {
            let mut counts = [0; Count::COUNT];
            counts[count as usize] = value;
            InstructionRecord { ip, counts }.encode().collect::<Vec<u8>>()
        };
        let mut found = Instructions::default();
        assert_eq!(found.read(&path, ProcessId(3)), 0, "not there");
        let records = [
            record(0x20, Count::Loads, 5),
            record(0x10, Count::Calls, 1),
            record(0x20, Count::Loads, -2),
            record(0x20, Count::SystemCalls, 4),
            record(0x30, Count::BranchesTaken, -1),
            vec![1; 9],
        ];
        std::fs::write(&path, records.concat()).unwrap();
        assert_eq!(found.read(&path, ProcessId(3)), 9);
        let at = |ip| InstructionCounts { process: ProcessId(3), ip: Ip(ip), ..InstructionCounts::default() };
        let expected = [
            InstructionCounts { calls: 1, ..at(0x10) },
            InstructionCounts { loads: 3, system_calls: 4, ..at(0x20) },
            at(0x30),
        ];
        assert_eq!(found.rows(), expected);
    }
}
