//! Thread-by-thread matrices from each thread's own counts.

use serde_json::{Value, json};

/// A square matrix, by thread: rows are the earlier writer, columns the later accessor, as in carom's reports.
pub type Matrix = Vec<Vec<f64>>;

/// Attributes each thread's accesses to the threads whose writes they can have followed.
///
/// A thread counts its own accesses, but cannot tell whose write preceded each of them without changing the program.
/// If the order of accesses is random, thread i's write is the last one by another thread before an access of j with
/// a probability proportional to i's number of writes. So the accesses of j are divided among the other threads of
/// its group in proportion to their writes: column j adds up to `accesses[j]`, unless no other thread writes, and the
/// diagonal is 0. In a group of two nothing is assumed: the only other thread gets all.
///
/// Threads with the same number in `group` share a word.
pub fn attribute(accesses: &[u64], writes: &[u64], group: impl Fn(usize) -> usize) -> Matrix {
    let threads = accesses.len();
    let shares = |i: usize, j: usize| i != j && group(i) == group(j);
    let mut matrix = vec![vec![0.0; threads]; threads];
    for (j, &made) in accesses.iter().enumerate() {
        let others: u64 = writes.iter().enumerate().filter(|&(i, _)| shares(i, j)).map(|(_, w)| w).sum();
        if others == 0 {
            continue;
        }
        for (i, &written) in writes.iter().enumerate().filter(|&(i, _)| shares(i, j)) {
            if let Some(cell) = matrix.get_mut(i).and_then(|row| row.get_mut(j)) {
                *cell = made as f64 * written as f64 / others as f64;
            }
        }
    }
    matrix
}

/// How often the word changed owners: rows are the previous writer, columns the writer that found it.
/// `found[j][i]` counts how often j found i's number; finding one's own is no change, so the diagonal is 0.
pub fn ownership_changes(found: &[Vec<u64>]) -> Vec<Vec<u64>> {
    let threads = found.len();
    let cell = |i: usize, j: usize| {
        if i == j { 0 } else { found.get(j).and_then(|by| by.get(i)).copied().unwrap_or(0) }
    };
    (0..threads).map(|i| (0..threads).map(|j| cell(i, j)).collect()).collect()
}

/// `part` divided by `whole`; null if `whole` is 0.
pub fn share(part: u64, whole: u64) -> Value {
    if whole == 0 { Value::Null } else { json!(part as f64 / whole as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_follow_the_others_in_proportion_to_their_writes() {
        // Thread 0 made 60 accesses; the others wrote 10 and 20 times, so 20 and 40 of the 60 are theirs.
        // Thread 1: 10 accesses over 60 and 20 writes: 7.5 and 2.5. Thread 2: 20 over 60 and 10: 120/7, 20/7.
        let matrix = attribute(&[60, 10, 20], &[60, 10, 20], |_| 0);
        let column = |j: usize| matrix.iter().map(|row| row[j]).collect::<Vec<_>>();
        assert_eq!(column(0), [0.0, 20.0, 40.0]);
        assert_eq!(column(1), [7.5, 0.0, 2.5]);
        assert!((column(2).iter().sum::<f64>() - 20.0).abs() < 1e-9);
    }

    #[test]
    fn pairs_keep_to_themselves() {
        let matrix = attribute(&[1, 2, 3, 4], &[1, 2, 3, 4], |thread| thread / 2);
        assert_eq!(
            matrix,
            [[0.0, 2.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 4.0], [0.0, 0.0, 3.0, 0.0]]
        );
    }

    #[test]
    fn a_lone_writer_receives_nothing() {
        // Thread 0 writes, thread 1 reads: 0's accesses follow no write, 1's all follow 0's.
        assert_eq!(attribute(&[5, 7], &[5, 0], |_| 0), [[0.0, 7.0], [0.0, 0.0]]);
    }

    #[test]
    fn finding_oneself_is_no_change() {
        // Writer 0 found itself 9 times and 1 twice; writer 1 found 0 three times.
        assert_eq!(ownership_changes(&[vec![9, 2], vec![3, 4]]), [[0, 3], [2, 0]]);
    }
}
