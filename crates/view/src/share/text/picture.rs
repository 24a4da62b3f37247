//! A line's 64 bytes as a picture, in the manner of pahole: one character per byte, one row per range.

use carom_base::LINE_BYTES;

use crate::{
    model::{Bytes, Line},
    text::page::{Page, Style},
    words::ThreadNames,
};

/// Bytes between two marks of the ruler.
const RULER_STEP: usize = 8;

const INDENT: &str = "     ";

/// Ruler, bytes, and the legend of the ranges with their fields and who touches them.
///
/// Other variables that nobody was seen to touch are left out, unless everything is to be `shown`.
pub fn print(page: &mut Page, line: &Line, names: &ThreadNames, shown: bool) {
    let layout: Vec<&Bytes> = line.layout.iter().filter(|range| shown || matters(range, line)).collect();
    if layout.is_empty() {
        return;
    }
    let ruler: String =
        (0..LINE_BYTES as usize).step_by(RULER_STEP).map(|at| format!("{at:<RULER_STEP$}")).collect();
    page.put(Style::Dim, INDENT).put(Style::Dim, &ruler).end();
    page.plain(INDENT);
    for (letter, count) in runs(&layout) {
        let style = letter.map_or(Style::Dim, |_| Style::Bold);
        page.put(style, &String::from(letter.unwrap_or('·')).repeat(count));
    }
    page.end();
    let field_width = layout.iter().map(|range| field(range).chars().count()).max().unwrap_or(0).min(32);
    for (index, range) in layout.iter().enumerate() {
        page.plain(INDENT).put(Style::Bold, &letter(index).to_string());
        page.put(Style::Dim, &format!(" /* {:>2} {:>2} */ ", range.offset_bytes, range.width_bytes));
        page.cell(Style::Cyan, field(range), field_width).plain("  ");
        page.plain(&touched_by(range, names)).end();
    }
}

/// Whether it is used, or part of what the line is listed for.
fn matters(range: &Bytes, line: &Line) -> bool {
    let used = !range.writers.is_empty() || !range.readers.is_empty();
    let (begin, object) = (i64::from(range.offset_bytes), &line.object);
    let place = object.offset_bytes.saturating_add(begin);
    used || (0..object.size_bytes.map_or(i64::MAX, |size| size.min(i64::MAX as u64) as i64)).contains(&place)
}

/// `written by worker-1, read by 8 threads`
fn touched_by(range: &Bytes, names: &ThreadNames) -> String {
    if let [only] = range.writers.as_slice()
        && range.readers == range.writers
    {
        return format!("written and read only by {}", names.get(*only));
    }
    let mut parts = Vec::new();
    if !range.writers.is_empty() {
        parts.push(format!("written by {}", names.list(&range.writers)));
    }
    if !range.readers.is_empty() {
        parts.push(format!("read by {}", names.list(&range.readers)));
    }
    parts.join(", ")
}

fn field(range: &Bytes) -> &str {
    range.field.as_deref().unwrap_or("")
}

/// A to Z, then again: more ranges than letters are rare, and the offsets tell them apart.
fn letter(index: usize) -> char {
    (b'A'..=b'Z').cycle().nth(index % 26).map_or('A', char::from)
}

/// The line's bytes, each with the letter of the range it belongs to, run by run.
fn runs(layout: &[&Bytes]) -> Vec<(Option<char>, usize)> {
    let mut bytes = [None; LINE_BYTES as usize];
    for (index, range) in layout.iter().enumerate() {
        let first = range.offset_bytes as usize;
        let end = first.saturating_add(range.width_bytes as usize).min(bytes.len());
        if let Some(part) = bytes.get_mut(first..end) {
            part.fill(Some(letter(index)));
        }
    }
    let mut runs: Vec<(Option<char>, usize)> = Vec::new();
    for byte in bytes {
        match runs.last_mut() {
            Some((last, count)) if *last == byte => *count += 1,
            _ => runs.push((byte, 1)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_clamped_to_the_line() {
        let range = |offset_bytes, width_bytes| Bytes {
            offset_bytes,
            width_bytes,
            field: None,
            readers: Vec::new(),
            writers: Vec::new(),
        };
        // 0-7 A, 8-59 nothing, 60-63 B although it claims to go on; C lies beyond and D overflows.
        let layout = [range(0, 8), range(60, 16), range(80, 8), range(u32::MAX, u32::MAX)];
        assert_eq!(runs(&layout.iter().collect::<Vec<_>>()), [(Some('A'), 8), (None, 52), (Some('B'), 4)]);
    }
}
