//! Memory over time in characters.

use crate::{
    model::Phases,
    text::page::{Page, Style},
    words,
};

/// Lines of the chart.
const HEIGHT: usize = 8;

/// Columns of the numbers beside it.
const SCALE: usize = 10;

/// Eighths of a character.
const BLOCKS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// The chart, and below it where phases begin. Phases have two colours in turn.
pub fn print(page: &mut Page, phases: &Phases) {
    let width = page.width().saturating_sub(SCALE + 1).min(100);
    let (length, most) = (phases.trace.last().map_or(0.0, |point| point.at_s.0), phases.most());
    if length <= 0.0 || most == 0 {
        return;
    }
    let columns = columns(phases, width, length);
    let phase_of = |column: usize| {
        let at = length * (column as f64 + 0.5) / width as f64;
        phases.phases.iter().rposition(|phase| phase.start_s.0 <= at).unwrap_or(0)
    };
    for line in (0..HEIGHT).rev() {
        let label = if line + 1 == HEIGHT { words::size(most) } else { String::new() };
        page.put(Style::Dim, &format!("{label:>SCALE$} "));
        for (column, value) in columns.iter().enumerate() {
            let eighths = (*value as f64 / most as f64 * (HEIGHT * 8) as f64).round() as usize;
            let here = eighths.saturating_sub(line * 8).min(8);
            let style = if phase_of(column) % 2 == 0 { Style::Blue } else { Style::Orange };
            page.put(style, BLOCKS.get(here).copied().unwrap_or(" "));
        }
        page.end();
    }
    let mut marks = vec![' '; width];
    for (number, phase) in (1..).zip(&phases.phases) {
        let column = (phase.start_s.0 / length * width as f64) as usize;
        for (place, letter) in marks.iter_mut().skip(column).zip(format!("{number}").chars()) {
            *place = letter;
        }
    }
    page.put(Style::Dim, &format!("{:>SCALE$} ", "0 s"))
        .put(Style::Bold, marks.iter().collect::<String>().trim_end());
    page.put(Style::Dim, &format!("  {}", words::seconds(length))).end();
}

/// The most in each column; a column without a reading is as the one before.
fn columns(phases: &Phases, width: usize, length: f64) -> Vec<u64> {
    let mut columns: Vec<Option<u64>> = vec![None; width];
    for point in &phases.trace {
        let column = (point.at_s.0 / length * width as f64) as usize;
        if let Some(most) = columns.get_mut(column.min(width.saturating_sub(1))) {
            *most = (*most).max(Some(phases.value(point)));
        }
    }
    columns
        .iter()
        .scan(0, |last, value| {
            *last = value.unwrap_or(*last);
            Some(*last)
        })
        .collect()
}
