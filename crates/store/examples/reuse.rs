//! Prints the sampled uses of a recording, or its counts of the exact mode, as CSV:
//! `cargo run -p carom-store --example reuse -- PROGRAM.N.carom`

use std::io::{BufWriter, Write};
use std::path::Path;

use carom_base::{ReuseCell, ReuseEvent};
use carom_store::Recording;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args_os().nth(1).ok_or("which recording?")?;
    let recording = Recording::open(Path::new(&dir))?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    if recording.rows::<ReuseEvent>().next().is_some() {
        writeln!(out, "scope,locality,outcome,distance,weight,earlier,thread,kind,address,later,by,as,at")?;
    }
    for event in recording.rows::<ReuseEvent>() {
        let event = event?;
        let (scope, locality, outcome) = (event.scope, event.locality, event.outcome);
        write!(out, "{scope:?},{locality:?},{outcome:?},{},{}", event.distance, event.weight)?;
        for touch in [Some(event.earlier), event.later].into_iter().flatten() {
            let access = touch.access;
            write!(out, ",{:#x},{},{:?},{:#x}", access.ip.0, touch.thread.0, access.kind, access.addr.0)?;
        }
        writeln!(out)?;
    }
    if recording.rows::<ReuseCell>().next().is_some() {
        writeln!(out, "thread,scope,distance,granularity,class,from_other,low,high,earlier,later,at,count")?;
    }
    for cell in recording.rows::<ReuseCell>() {
        let cell = cell?;
        let (scope, distance, class) = (cell.scope, cell.distance, cell.class);
        let (low, high) = (cell.bin.low(), cell.bin.high());
        let pair = cell.pair.map_or(",,".to_owned(), |(earlier, later)| {
            format!("{:#x},{:#x},{:#x}", earlier.0, later.0, cell.at.0)
        });
        let (thread, size, other) = (cell.thread.0, cell.granularity, cell.from_other);
        writeln!(
            out,
            "{thread},{scope:?},{distance:?},{size},{class:?},{other},{low},{high},{pair},{}",
            cell.count
        )?;
    }
    Ok(out.flush()?)
}
