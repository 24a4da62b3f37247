//! Two threads send numbers to one that receives them, through an unbounded channel.

use tokio::sync::mpsc;

const NUMBERS: u64 = 10_000_000;

fn main() {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    for _ in 0..2 {
        let sender = sender.clone();
        std::thread::spawn(move || {
            for number in 0..NUMBERS {
                sender.send(number).expect("the receiver lives");
            }
        });
    }
    drop(sender);
    let mut sum = 0;
    while let Some(number) = receiver.blocking_recv() {
        sum += number;
    }
    println!("{sum}");
}
