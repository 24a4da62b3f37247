//! The report for a terminal: the verdict, the lines, the matrix, and how far to trust it all.

pub(crate) mod page;
pub(crate) mod trust;

use crate::{model::Report, words::ThreadNames};
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
    /// Print how it was measured in full, and what only a careful reader needs.
    pub verbose: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { colour: false, width: 100, lines: 10, directed: false, per_thread: false, verbose: false }
    }
}

/// The whole report, ending in a newline.
pub fn render(report: &Report, options: &Options) -> String {
    let names = ThreadNames::new(&report.threads);
    let mut page = Page::new(options);
    page.paragraph(Style::Bold, &report.verdict);
    for section in report.sections() {
        section.print(&mut page, report, &names, options);
    }
    trust::print(&mut page, report, options);
    page.finish()
}
