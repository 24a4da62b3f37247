//! Converts a thread's exact counts from its slot to its entry in the manifest.

use carom_base_wire::{Count, Leave, NOT_COUNTED, SlotSnapshot};
use carom_store::{Leaves, ThreadCounts};

/// The counts of the thread of this slot; `None` where nothing was counted.
pub fn of(head: &SlotSnapshot) -> Option<ThreadCounts> {
    let of = |count: Count| Some(head.counts[count as usize]).filter(|&number| number != NOT_COUNTED);
    let instructions = of(Count::Instructions)?;
    Some(ThreadCounts {
        instructions: Some(instructions),
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
        translated_ns: head.translated_ns,
        native_ns: head.native_ns,
        unbooked_ns: head.unbooked_ns,
        ticks: head.ticks,
        leaves: leaves(head),
    })
}

fn leaves(head: &SlotSnapshot) -> Leaves {
    let of = |leave: Leave| head.leaves[leave as usize];
    Leaves {
        foreign_code: of(Leave::ForeignCode),
        instruction: of(Leave::Instruction),
        native_call: of(Leave::NativeCall),
        thread_start: of(Leave::ThreadStart),
        signal_frame: of(Leave::SignalFrame),
        no_memory: of(Leave::NoMemory),
        ended: of(Leave::Ended),
        other: of(Leave::Other),
        program_gs: of(Leave::ProgramGs),
        stepped_aside: of(Leave::SteppedAside),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_was_not_counted_has_no_counts() {
        let mut head = SlotSnapshot { native_ns: 5, ..SlotSnapshot::default() };
        // It slept while the others were counted.
        assert_eq!(of(&head).unwrap().instructions, Some(0));
        head.counts[Count::Instructions as usize] = NOT_COUNTED;
        assert_eq!(of(&head), None);
    }

    #[test]
    fn what_is_not_counted_is_not_zero() {
        let mut head = SlotSnapshot { translated_ns: 95, native_ns: 5, ..SlotSnapshot::default() };
        head.counts[Count::Instructions as usize] = 12;
        head.counts[Count::BranchesTaken as usize] = NOT_COUNTED;
        head.counts[Count::SystemCalls as usize] = 2;
        head.leaves[Leave::ForeignCode as usize] = 3;
        let counts = of(&head).unwrap();
        assert_eq!((counts.instructions, counts.stores), (Some(12), Some(0)));
        assert_eq!((counts.branches_taken, counts.system_calls), (None, Some(2)));
        assert_eq!((counts.translated_ns, counts.native_ns, counts.leaves.foreign_code), (95, 5, 3));
    }
}
