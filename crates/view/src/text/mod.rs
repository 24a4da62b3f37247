//! The report for a terminal: the verdict, the lines, the matrix, and how far to trust it all.

mod count;
mod lines;
mod matrix;
mod page;
mod picture;
mod reuse;
mod trust;

use crate::{
    model::{Basis, Command, Line, Report, Share},
    words::{self, ThreadNames},
};
use page::{Page, Style};

/// How to lay out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Colours and shading by ANSI escapes.
    pub colour: bool,
    /// Columns available.
    pub width: usize,
    /// Print at most this many contended lines; the rest are counted.
    pub lines: usize,
    /// Print the matrix as recorded (from writer to later accessor) instead of both directions together.
    pub directed: bool,
    /// Print the counts of every thread.
    pub per_thread: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { colour: false, width: 100, lines: 10, directed: false, per_thread: false }
    }
}

/// The whole report, ending in a newline.
pub fn render(report: &Report, options: &Options) -> String {
    let names = ThreadNames::new(&report.threads);
    let mut page = Page::new(options);
    page.paragraph(Style::Bold, &report.verdict);
    if let Some(share) = &report.share {
        lines::print(&mut page, share, &names, options);
        if share.not_enough.is_none() {
            matrix::print(&mut page, share, &names, options);
        }
    }
    if let Some(counts) = report.count.as_ref().filter(|_| report.command == Command::Count) {
        count::print(&mut page, report, counts, &names, options);
    }
    if let Some(found) = &report.reuse {
        reuse::print(&mut page, found, &names, options);
    }
    trust::print(&mut page, report);
    page.finish()
}

/// True and false sharing of a line as `false sharing`, `true sharing`, `62% false sharing`.
fn class(true_sharing: f64, false_sharing: f64) -> String {
    let total = true_sharing + false_sharing;
    if !total.is_finite() || total <= 0.0 {
        "class not known".into()
    } else if true_sharing <= 0.0 {
        "false sharing".into()
    } else if false_sharing <= 0.0 {
        "true sharing".into()
    } else {
        format!("{} false sharing", words::percent(false_sharing / total))
    }
}

/// The same for a line, with what weakens the claim: few events, or events weighted by time.
fn class_of(line: &Line) -> String {
    let class = class(line.true_sharing.0, line.false_sharing.0);
    match (&line.false_fraction, line.basis) {
        (None, _) => format!("{class}, {}", words::count(line.events as usize, "event")),
        (_, Basis::LastInstruction) => format!("{class} by time"),
        (Some(_), Basis::Step) => class,
    }
}

/// How many lines are not printed.
fn left_out(share: &Share, options: &Options) -> usize {
    share.lines.len().saturating_sub(options.lines)
}

#[cfg(test)]
mod tests;
