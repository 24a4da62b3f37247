//! Writes sample reports, for looking at them: `cargo run -p carom-view --example sample_report -- DIR`.

#[path = "../tests/sample/mod.rs"]
mod sample;

use std::{error::Error, fs, path::PathBuf};

use carom_view::{count, csv, profile, reuse, share, text, web};

fn main() -> Result<(), Box<dyn Error>> {
    let Some(dir) = std::env::args_os().nth(1).map(PathBuf::from) else {
        return Err("usage: sample_report DIR".into());
    };
    fs::create_dir_all(&dir)?;
    let (quiet_run, _) = sample::two();
    let samples = [
        ("2", sample::two()),
        ("8", sample::eight()),
        ("100", sample::crowd(100)),
        ("1000", sample::crowd(1000)),
        ("accesses", sample::every_nth()),
        ("nothing", (quiet_run, sample::nothing(3))),
    ];
    let (run, findings) = sample::counted();
    let counted = ("count", count::report(&run, &findings));
    let (shared_run, shared) = sample::two();
    let (reused_run, reused) = sample::sampled_reuse();
    let parts = vec![
        share::report(&shared_run, &shared),
        reuse::report(&reused_run, &reused),
        count::report(&run, &findings),
    ];
    let profiled = ("profile", profile::report(&run, parts));
    let reused = [
        ("reuse", sample::relaxed()),
        ("reuse-sampled", sample::sampled_reuse()),
        ("reuse-few", sample::hardly_reused()),
    ];
    let reused = reused.map(|(name, (run, findings))| (name, reuse::report(&run, &findings)));
    let shared = samples.map(|(name, (run, findings))| (name, share::report(&run, &findings)));
    for (name, report) in shared.into_iter().chain([counted, profiled]).chain(reused) {
        fs::write(dir.join(format!("{name}.html")), web::html(&report)?)?;
        fs::write(dir.join(format!("{name}.json")), carom_view::json(&report)?)?;
        for colour in [false, true] {
            let options = text::Options { colour, ..text::Options::default() };
            fs::write(
                dir.join(format!("{name}{}.txt", if colour { "-colour" } else { "" })),
                text::render(&report, &options),
            )?;
        }
        let cells = dir.join(format!("{name}-csv"));
        fs::create_dir_all(&cells)?;
        for file in csv::files(&report) {
            fs::write(cells.join(file.name), file.text)?;
        }
    }
    Ok(())
}
