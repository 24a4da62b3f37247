//! How many accesses per second the exact analyser takes, on one core, and how much memory per line.
//!
//! ```text
//! throughput                                     a table: made traces, exact and sampled
//! throughput make KIND MIB ACCESSES FILE         makes a trace, of a kind of trace::KINDS
//! throughput lackey ACCESSES FILE                makes one of what Valgrind's lackey prints, from standard input
//! throughput convert FORMAT FILE ACCESSES OUT    the beginning of a trace for another tool: drmemtrace, oracle-general
//! throughput analyse FILE ACCESSES RATE          analyses the beginning of a trace, all lines (1) or a part: JSON
//! ```
//!
//! Traces are read in batches as large as an agent's buffers. Time is CPU time of the analysis only.

mod analysis;
mod formats;
mod trace;

use std::{error::Error, path::Path};

use analysis::{Analysis, Outcome};
use carom_base::LINE_BYTES;
use carom_base_reuse::exact::Sampling;
use trace::Packed;

/// The footprints in the table, in MiB: a second-level cache, and two that fit into no cache.
const FOOTPRINTS: [u64; 3] = [1, 64, 1024];

/// Accesses of a trace of the table.
const LENGTH: usize = 1 << 24;

const SAMPLED_RATE: f64 = 0.01;

fn sampling(rate: f64) -> Sampling {
    if rate < 1.0 { Sampling::Rate(rate) } else { Sampling::All }
}

fn lines(mib: u64) -> u64 {
    (mib << 20) / LINE_BYTES
}

fn analyse_file(path: &Path, most: u64, rate: f64) -> Result<(), Box<dyn Error>> {
    let mut reader = trace::Reader::open(path, most)?;
    let mut analysis = Analysis::new(sampling(rate))?;
    reader.read(|batch| {
        analysis.take(batch);
        Ok(())
    })?;
    let Outcome { accesses, lines, cpu_s, peak_bytes, curve } = analysis.finish()?;
    let curve: Vec<String> = curve.iter().map(|(size, ratio)| format!("[{size}, {ratio}]")).collect();
    println!(
        "{{\"accesses\": {accesses}, \"lines\": {lines}, \"cpu_s\": {cpu_s}, \"peak_bytes\": {peak_bytes}, \
         \"curve\": [{}]}}",
        curve.join(", ")
    );
    Ok(())
}

fn table() -> Result<(), Box<dyn Error>> {
    for mib in FOOTPRINTS {
        for kind in trace::KINDS {
            let trace: Vec<Packed> = trace::make(kind, lines(mib)).take(LENGTH).collect();
            for rate in [1.0, SAMPLED_RATE] {
                let mut analysis = Analysis::new(sampling(rate))?;
                trace.chunks(trace::BATCH).for_each(|batch| analysis.take(batch));
                let outcome = analysis.finish()?;
                println!(
                    "{kind:8} {mib:5} MiB, rate {rate:4}: {:7.1} M/s, {:9} lines, {:.1} bytes each",
                    outcome.accesses as f64 / outcome.cpu_s / 1e6,
                    outcome.lines,
                    outcome.peak_bytes as f64 / outcome.lines.max(1) as f64
                );
            }
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => table()?,
        ["make", kind, mib, accesses, file] if trace::KINDS.contains(&kind) => {
            trace::write(file.as_ref(), trace::make(kind, lines(mib.parse()?)).take(accesses.parse()?))?;
        }
        ["lackey", accesses, file] => {
            trace::write(file.as_ref(), trace::of_lackey(std::io::stdin()).take(accesses.parse()?))?;
        }
        ["convert", format, file, accesses, out] => {
            formats::convert(format, file.as_ref(), accesses.parse()?, out.as_ref())?;
        }
        ["analyse", file, accesses, rate] => analyse_file(file.as_ref(), accesses.parse()?, rate.parse()?)?,
        _ => return Err("see the documentation at the head of this program".into()),
    }
    Ok(())
}
