//! The planted false sharing of a workload: elements of several threads as neighbours.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::padded::LINE_BYTES;

/// A field of the elements.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Field {
    /// As in the source.
    pub name: &'static str,
    /// From the element's start.
    pub offset_bytes: usize,
    /// Its width.
    pub bytes: usize,
}

/// The lines that elements of several threads lie in, with these threads. Element `n` belongs to thread `n` modulo
/// `threads`, begins at `place(n)`, and its fields are `bytes` long.
pub fn shared_lines(
    name: &str,
    elements: usize,
    bytes: usize,
    threads: usize,
    place: impl Fn(usize) -> usize,
) -> Vec<Value> {
    let mut owners: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for element in 0..elements {
        let first = place(element);
        for line in first / LINE_BYTES..=(first + bytes - 1) / LINE_BYTES {
            owners.entry(line).or_default().insert(element % threads);
        }
    }
    owners.retain(|_, owners| owners.len() > 1);
    owners
        .into_iter()
        .map(|(line, owners)| {
            let address = format!("{:#x}", line * LINE_BYTES);
            json!({ "name": name, "address": address, "sharing": "false", "threads": owners })
        })
        .collect()
}

/// Operations of all threads per second.
pub fn per_second(operations: &[u64], wall: Duration) -> f64 {
    operations.iter().sum::<u64>() as f64 / wall.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_one_thread_are_not_shared() {
        let threads = |elements, threads, stride: usize| -> Vec<Value> {
            shared_lines("x", elements, 16, threads, |n| 4096 + n * stride)
                .iter()
                .map(|line| line["threads"].clone())
                .collect()
        };
        // Four elements of 16 bytes fill a line; the fifth has one for itself.
        assert_eq!(threads(5, 2, 16), [json!([0, 1])]);
        assert_eq!(threads(8, 3, 16), [json!([0, 1, 2]), json!([0, 1, 2])]);
        assert_eq!(threads(8, 1, 16).len() + threads(8, 2, 64).len(), 0);
        // 24 bytes apart, the third lies in two lines: at 48 to 63, and it ends there; with 56 it would not.
        assert_eq!(threads(3, 2, 24), [json!([0, 1])]);
        assert_eq!(threads(2, 2, 56), [json!([0, 1])]);
    }
}
