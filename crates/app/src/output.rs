//! Where reports go.

use std::{
    env, fs,
    io::{IsTerminal, Write},
    path::{Path, PathBuf},
};

use carom_view::{csv, diff::model::Diff, model::Report, sarif, text, web};

use crate::{
    failure::Failure,
    options::{Colour, OutputArgs},
};

/// Columns of the text where the environment does not say.
const DEFAULT_COLUMNS: usize = 100;

/// Whether any report is wanted.
pub fn wanted(args: &OutputArgs) -> bool {
    !args.quiet || args.json.is_some() || args.html.is_some() || args.sarif.is_some() || args.csv.is_some()
}

/// Refuses, before anything runs, files that cannot be written.
///
/// # Errors
/// `-`, because standard output is the program's; a directory that does not exist.
pub fn check(args: &OutputArgs) -> Result<(), Failure> {
    for file in [&args.json, &args.html, &args.sarif].into_iter().flatten() {
        if file.as_os_str() == "-" {
            return Err(Failure::new("standard output is the program's own: name a file instead of -"));
        }
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !parent.is_dir() {
            return Err(Failure::new(format!("{}: no such directory", parent.display())));
        }
    }
    Ok(())
}

/// Writes the files that were asked for.
///
/// # Errors
/// A file cannot be written.
pub fn write(report: &Report, args: &OutputArgs) -> Result<(), Failure> {
    if let Some(file) = &args.json {
        save(file, &carom_view::json(report).map_err(Failure::new)?)?;
    }
    if let Some(file) = &args.html {
        save(file, &web::html(report).map_err(Failure::new)?)?;
    }
    if let Some(file) = &args.sarif {
        save(file, &sarif::sarif(report, &root()).map_err(Failure::new)?)?;
    }
    if let Some(dir) = &args.csv {
        fs::create_dir_all(dir).map_err(|error| at(dir, &error))?;
        for file in csv::files(report) {
            save(&dir.join(file.name), &file.text)?;
        }
    }
    Ok(())
}

/// Writes the files of a comparison that were asked for. A comparison has no tables and no places in the source.
///
/// # Errors
/// A file cannot be written.
pub fn write_diff(diff: &Diff, args: &OutputArgs) -> Result<(), Failure> {
    if let Some(file) = &args.json {
        save(file, &carom_view::diff::json(diff).map_err(Failure::new)?)?;
    }
    if let Some(file) = &args.html {
        save(file, &web::comparison(diff).map_err(Failure::new)?)?;
    }
    Ok(())
}

/// Where the files are that SARIF names in short: the current directory.
pub fn root() -> PathBuf {
    env::current_dir().unwrap_or_else(|_| PathBuf::from("/"))
}

fn save(path: &PathBuf, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| at(path, &error))
}

fn at(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{}: {error}", path.display()))
}

/// Prints to standard output. A reader who has seen enough, such as `head`, is no failure.
///
/// # Errors
/// It cannot be written.
pub fn print(text: &str) -> Result<(), Failure> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::new(error)),
        _ => Ok(()),
    }
}

/// How a report is laid out as text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layout {
    /// Contended lines to print.
    pub lines: usize,
    /// The matrix as recorded, not both directions together.
    pub directed: bool,
    /// The counts of every thread.
    pub per_thread: bool,
}

/// The report as text for `stream`.
pub fn text(report: &Report, args: &OutputArgs, layout: &Layout, stream: &impl IsTerminal) -> String {
    let Layout { lines, directed, per_thread } = *layout;
    text::render(
        report,
        &text::Options { directed, per_thread, verbose: args.verbose, ..options(args.color, lines, stream) },
    )
}

/// Text of at most this many lines of a table for `stream`.
pub fn options(colour: Colour, lines: usize, stream: &impl IsTerminal) -> text::Options {
    let colour = match colour {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => stream.is_terminal() && env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
    };
    let columns = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let width = columns.unwrap_or(DEFAULT_COLUMNS);
    text::Options { colour, width, lines, ..text::Options::default() }
}
