//! Prints the samples of a recording that are accesses, as CSV:
//! `cargo run -p carom-store --example samples -- PROGRAM.N.carom`

use std::io::{BufWriter, Write};
use std::path::Path;

use carom_base::{AccessKind, Sample, SampleOutcome};
use carom_store::Recording;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args_os().nth(1).ok_or("which recording?")?;
    let recording = Recording::open(Path::new(&dir))?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    writeln!(out, "thread,time_ns,ip,address,width,kind")?;
    for sample in recording.rows::<Sample>() {
        let sample = sample?;
        let SampleOutcome::Access(access) = sample.outcome else { continue };
        let kind = match access.kind {
            AccessKind::Load => "load",
            AccessKind::Store => "store",
            AccessKind::ReadModifyWrite => "read-modify-write",
        };
        let (ip, address, width) = (access.ip.0, access.addr.0, access.width);
        writeln!(out, "{},{},{ip:#x},{address:#x},{width},{kind}", sample.thread.0, sample.time.0)?;
    }
    Ok(out.flush()?)
}
