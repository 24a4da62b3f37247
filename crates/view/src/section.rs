//! What a question adds to a report.

use crate::{
    issue::Issue,
    model::{Finding, Report},
    text::{Options, page::Page},
    words::ThreadNames,
};

/// A row of how it was measured: its name, and its text.
pub type Row = (&'static str, String);

/// One question's part of a report in all its forms but JSON, which is the value itself.
pub trait Section {
    /// Tables and pictures for a terminal.
    fn print(&self, page: &mut Page, report: &Report, names: &ThreadNames, options: &Options);

    /// The observations, and the losses.
    fn measured(&self, report: &Report) -> Vec<Row>;

    /// The same in a few words each, for a reader in a hurry: what was observed, and what was lost where it was much.
    fn in_brief(&self, report: &Report) -> Vec<String>;

    /// What limits the program's use of memory, where that is what the question is about. `report`: its own.
    fn finding(&self, _report: &Report) -> Option<Finding> {
        None
    }

    /// The answer in a row or a few, to follow its sentence where there is no room for tables.
    fn summary(&self) -> Vec<String> {
        Vec::new()
    }

    /// What may be shown at a line of the program's source.
    fn issues(&self) -> Vec<Issue<'_>> {
        Vec::new()
    }

    /// How well the numbers are known.
    fn precision(&self) -> Vec<Row> {
        Vec::new()
    }

    /// Tables for spreadsheets: the files' names and texts.
    fn tables(&self, report: &Report, names: &ThreadNames) -> Vec<Row>;

    /// The scripts that draw it on the page, in order of dependency. They add it to `questions` (`web/page/data.js`).
    fn scripts(&self) -> &'static [&'static str];
}
