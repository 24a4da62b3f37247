//! From an error number to its cause.

use std::ffi::CStr;

use super::{
    MemoryError, PAGE_BYTES, maps,
    sys::{self, Errno, File},
};

/// What the cause of ENOMEM depends on, in bytes or numbers of mappings.
#[derive(Clone, Debug, Default)]
struct Facts {
    address_space: u64,
    address_space_limit: Option<u64>,
    data: u64,
    data_limit: Option<u64>,
    strict_commit: bool,
    mappings: u64,
    most_mappings: Option<u64>,
}

/// A call may split one mapping into three.
const SPLIT_MAPPINGS: u64 = 2;

/// Why `call` on `bytes` bytes of `what` failed with `errno`.
pub fn explain(what: &'static str, call: &'static str, bytes: u64, errno: Errno) -> MemoryError {
    match errno {
        libc::ENOMEM => diagnose(what, call, bytes, &facts()),
        libc::EAGAIN => MemoryError::LockedLimit { what },
        errno => MemoryError::System { what, call, errno },
    }
}

/// The checks in the order of the kernel's own (mm/mmap.c, mm/mprotect.c): number of mappings, address space, data,
/// commit.
fn diagnose(what: &'static str, call: &'static str, bytes: u64, facts: &Facts) -> MemoryError {
    let exceeds = |used: u64, limit: Option<u64>| limit.filter(|&limit| used.saturating_add(bytes) > limit);
    let mappings = facts.mappings;
    if let Some(limit) = facts.most_mappings.filter(|&most| mappings.saturating_add(SPLIT_MAPPINGS) > most) {
        MemoryError::TooManyMappings { what, mappings, limit }
    } else if let Some(limit) = exceeds(facts.address_space, facts.address_space_limit) {
        MemoryError::AddressSpaceLimit { what, limit }
    } else if let Some(limit) = exceeds(facts.data, facts.data_limit) {
        MemoryError::DataLimit { what, limit }
    } else if facts.strict_commit {
        MemoryError::CommitLimit { what }
    } else {
        MemoryError::System { what, call, errno: libc::ENOMEM }
    }
}

fn facts() -> Facts {
    // proc(5): size, resident, shared, text, lib, data + stack; all in pages.
    let [address_space, _, _, _, _, data, ..] = numbers(c"/proc/thread-self/statm");
    let [overcommit, ..] = numbers(c"/proc/sys/vm/overcommit_memory");
    let [most_mappings, ..] = numbers(c"/proc/sys/vm/max_map_count");
    Facts {
        address_space: address_space.unwrap_or(0).saturating_mul(PAGE_BYTES),
        address_space_limit: sys::limit(libc::RLIMIT_AS),
        data: data.unwrap_or(0).saturating_mul(PAGE_BYTES),
        data_limit: sys::limit(libc::RLIMIT_DATA),
        strict_commit: overcommit == Some(2),
        mappings: maps::read().map_or(0, |mappings| mappings.len() as u64),
        most_mappings,
    }
}

/// The first seven numbers of a small file.
fn numbers(path: &CStr) -> [Option<u64>; 7] {
    let mut buffer = [0; 256];
    let read = File::open(path).and_then(|file| file.read(&mut buffer)).unwrap_or(0);
    let text = buffer.get(..read).and_then(|text| str::from_utf8(text).ok()).unwrap_or("");
    let mut words = text.split_ascii_whitespace();
    std::array::from_fn(|_| words.next().and_then(|word| word.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(facts: &Facts) -> MemoryError {
        diagnose("lanes", "mmap", 100, facts)
    }

    #[test]
    fn the_first_exceeded_limit_is_the_cause() {
        // 950 bytes used and 100 asked for: a limit of 1000 is exceeded, one of 1050 just holds.
        let mut facts = Facts {
            address_space: 950,
            address_space_limit: Some(1050),
            data: 950,
            data_limit: Some(1000),
            strict_commit: true,
            mappings: 998,
            most_mappings: Some(1000),
        };
        assert_eq!(cause(&facts), MemoryError::DataLimit { what: "lanes", limit: 1000 });
        facts.data_limit = None;
        assert_eq!(cause(&facts), MemoryError::CommitLimit { what: "lanes" });
        facts.address_space_limit = Some(1049);
        assert_eq!(cause(&facts), MemoryError::AddressSpaceLimit { what: "lanes", limit: 1049 });
        // One mapping more fits, but splitting one into three exceeds a thousand.
        facts.mappings = 999;
        assert_eq!(cause(&facts), MemoryError::TooManyMappings { what: "lanes", mappings: 999, limit: 1000 });
        let unknown = MemoryError::System { what: "lanes", call: "mmap", errno: libc::ENOMEM };
        assert_eq!(cause(&Facts::default()), unknown);
    }

    #[test]
    fn facts_of_this_process_are_plausible() {
        let facts = facts();
        assert!(facts.address_space > facts.data && facts.data > 0, "{facts:?}");
        assert!(facts.mappings > 5 && facts.most_mappings.is_some_and(|most| most > facts.mappings));
    }
}
