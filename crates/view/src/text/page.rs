//! Text under construction. Everything passes through [`Page::put`], which is where control bytes in names
//! from strangers end and the only place that writes an escape.

use carom_study::symbols::function_within;

use super::Options;
use crate::{model::Frame, words};

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// As the terminal has it.
    Plain,
    /// Headings and numbers that matter.
    Bold,
    /// Less important.
    Dim,
    /// False sharing, warnings.
    Orange,
    /// True sharing.
    Blue,
    /// Names in the program's source.
    Cyan,
    /// The remedy.
    Green,
    /// On a background of this intensity, 0 to [`SHADES`] - 1.
    Shade(usize),
}

/// Steps of intensity, of which the first is the terminal's own background.
pub const SHADES: usize = 5;

/// From the 256-colour palette: grey 232 to 255 would vanish on half of all terminals, blues show on both.
const SHADE_CODES: [&str; SHADES] =
    ["", "48;5;153;38;5;16", "48;5;75;38;5;16", "48;5;26;38;5;231", "48;5;18;38;5;231"];

impl Style {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Orange => "33",
            Self::Blue => "34",
            Self::Cyan => "36",
            Self::Green => "32",
            Self::Shade(step) => SHADE_CODES[step.min(SHADES - 1)],
        }
    }
}

/// Text under construction.
pub struct Page {
    out: String,
    colour: bool,
    width: usize,
}

impl Page {
    pub fn new(options: &Options) -> Self {
        /// Below this nothing lines up any more.
        const NARROWEST: usize = 40;
        Self { out: String::new(), colour: options.colour, width: options.width.max(NARROWEST) }
    }

    /// Columns available.
    pub const fn width(&self) -> usize {
        self.width
    }

    /// Appends text in a style.
    pub fn put(&mut self, style: Style, text: &str) -> &mut Self {
        let code = if self.colour { style.code() } else { "" };
        if code.is_empty() || text.is_empty() {
            self.out.extend(text.chars().map(printable));
        } else {
            self.out.push_str("\x1b[");
            self.out.push_str(code);
            self.out.push('m');
            self.out.extend(text.chars().map(printable));
            self.out.push_str("\x1b[0m");
        }
        self
    }

    /// Appends text without a style.
    pub fn plain(&mut self, text: &str) -> &mut Self {
        self.put(Style::Plain, text)
    }

    /// Appends text, cut and filled to exactly `columns`.
    pub fn cell(&mut self, style: Style, text: &str, columns: usize) -> &mut Self {
        let text = fit(text, columns);
        let fill = columns - text.chars().count();
        self.put(style, &text).plain(&" ".repeat(fill))
    }

    /// Ends the line, without blanks at its end.
    pub fn end(&mut self) -> &mut Self {
        self.out.truncate(self.out.trim_end_matches(' ').len());
        self.out.push('\n');
        self
    }

    /// A blank line and a heading.
    pub fn heading(&mut self, text: &str) {
        self.end().put(Style::Bold, text).end();
    }

    /// Text broken at blanks to the width.
    pub fn paragraph(&mut self, style: Style, text: &str) {
        self.indented(style, 0, "", text);
    }

    /// Text broken at blanks, the first line after `lead`, all `indent` columns in.
    pub fn indented(&mut self, style: Style, indent: usize, lead: &str, text: &str) {
        let lead_width = lead.chars().count();
        let room = self.width.saturating_sub(indent + lead_width).max(20);
        for (index, line) in wrap(text, room).iter().enumerate() {
            self.plain(&" ".repeat(indent));
            if index == 0 {
                self.put(Style::Dim, lead);
            } else {
                self.plain(&" ".repeat(lead_width));
            }
            self.put(style, line).end();
        }
    }

    /// The text.
    pub fn finish(self) -> String {
        self.out
    }
}

/// Control bytes could move the cursor or worse, and direction overrides make names lie: both become `?`.
pub fn printable(c: char) -> char {
    match c {
        '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'
        | '\u{2029}' => '?',
        c if c.is_control() => '?',
        c => c,
    }
}

/// Cuts to `columns` in the middle, marking the cut: the end of a long name is its field, or the function in its module.
pub fn fit(text: &str, columns: usize) -> String {
    let length = text.chars().count();
    if length <= columns {
        return text.to_owned();
    }
    let kept = columns.saturating_sub(1);
    let behind = kept / 2;
    let head = text.chars().take(kept - behind);
    head.chain(['…']).chain(text.chars().skip(length - behind)).collect()
}

/// Cuts the name of a function, its parameters first, those of calls and of types.
pub fn fit_function(name: &str, columns: usize) -> String {
    fit(&function_within(name, columns), columns)
}

/// Breaks at blanks; a word longer than `room` stays whole, since names should survive copying.
fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > room {
            lines.push(String::new());
            used = 0;
        }
        let Some(line) = lines.last_mut() else { break };
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        line.push_str(word);
        used += length;
    }
    lines
}

/// Call-path frames printed per site.
const FRAMES: usize = 4;

/// `work app.c:57 ← main app.c:90`: the program's own code, where there is some.
pub fn path(frames: &[Frame]) -> String {
    let frames = words::own_alone(frames);
    let step = |frame: &Frame| {
        let function = frame.function.clone().unwrap_or_else(|| frame.address.clone());
        words::place(frame.file.as_deref(), frame.line)
            .map_or(function.clone(), |at| format!("{function} {at}"))
    };
    let mut steps: Vec<String> = frames.iter().copied().take(FRAMES).map(step).collect();
    if frames.len() > FRAMES {
        steps.push("…".into());
    }
    steps.join(" ← ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(fit("pool.jobs[7].state", 18), "pool.jobs[7].state");
        assert_eq!(fit("pool.jobs[7].state", 12), "pool.j…state");
        assert_eq!(fit("größe", 2), "g…");
        assert_eq!(fit_function("Statistics::add(Statistics const&)", 30), "Statistics::add(…)");
        assert_eq!(fit_function("Pool::run()::{lambda()#1}::operator()() const", 20), "Pool::run(…ator()(…)");
    }
}
