//! Threads count words in one table under a mutex of parking_lot.
use std::collections::HashMap;

use parking_lot::Mutex;

const WORDS: [&str; 5] = ["carom", "line", "store", "load", "share"];

type Table = HashMap<&'static str, u64>;

fn count(table: &Mutex<Table>, word: &'static str) {
    *table.lock().entry(word).or_default() += 1;
}

fn count_all(table: &Mutex<Table>) {
    let words = WORDS.iter().cycle().take(10_000_000);
    if cfg!(fix) {
        let mut own = Table::new();
        words.for_each(|word| *own.entry(word).or_default() += 1);
        let mut table = table.lock();
        own.into_iter().for_each(|(word, number)| *table.entry(word).or_default() += number);
    } else {
        words.for_each(|word| count(table, word));
    }
}

fn main() {
    let table = Mutex::new(Table::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| count_all(&table));
        }
    });
    println!("{}", table.lock()["carom"]);
}
