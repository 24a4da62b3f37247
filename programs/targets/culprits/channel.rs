//! Three threads send number after number to a fourth.
use std::{sync::mpsc, thread};

const NUMBERS: u64 = 6_000_000;

fn main() {
    let (sender, receiver) = mpsc::channel::<u64>();
    for _ in 0..3 {
        let sender = sender.clone();
        thread::spawn(move || (0..NUMBERS).for_each(|number| sender.send(number).unwrap()));
    }
    drop(sender);
    println!("{}", receiver.iter().sum::<u64>());
}
