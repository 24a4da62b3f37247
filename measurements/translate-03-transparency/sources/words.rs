//! Something for rustc to compile with two threads.
use std::{
    collections::{BTreeMap, HashMap},
    io::Write,
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Word {
    text: String,
    lengths: Vec<usize>,
}

pub fn count(text: &str) -> BTreeMap<Word, usize> {
    let mut found: HashMap<Word, usize> = HashMap::new();
    for word in text.split_whitespace() {
        let lengths = word.chars().map(char::len_utf8).collect();
        *found.entry(Word { text: word.to_lowercase(), lengths }).or_default() += 1;
    }
    found.into_iter().collect()
}

fn main() {
    let text = std::env::args().collect::<Vec<_>>().join(" ");
    let mut out = std::io::stdout().lock();
    for (word, times) in count(&text) {
        writeln!(out, "{times} {word:?}").expect("standard output");
    }
}
