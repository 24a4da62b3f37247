//! Four threads search short texts with one expression that they share.

use regex::Regex;

const ROUNDS: usize = 8_000_000;
const TEXTS: [&str; 4] = ["abc12", "de3", "short text", "x99"];

fn main() {
    let expression = Regex::new("[a-z]+[0-9]{2}").expect("the expression is valid");
    // The first thread that searches has scratch space of its own; the others take theirs from a pool.
    assert!(expression.is_match(TEXTS[0]));
    let found: usize = std::thread::scope(|scope| {
        let search = || (0..ROUNDS).filter(|round| expression.is_match(TEXTS[round % TEXTS.len()])).count();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(search)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).sum()
    });
    println!("{found}");
}
