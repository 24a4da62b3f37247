//! A report's text, read line by line.

/// Columns of a text that is not wrapped.
pub const WIDE: usize = 4000;

/// What it says: the thing, and the text. `verbose`: as `-v` prints it.
pub fn read(text: &str, verbose: bool) -> Vec<(String, String)> {
    let mut reader = Reader { verbose, ..Reader::default() };
    let mut lines = text.lines();
    if let Some(verdict) = lines.next() {
        reader.say("verdict", &verdict.replace('`', ""));
    }
    lines.for_each(|line| reader.line(line));
    reader.claims
}

#[derive(Default)]
struct Reader {
    verbose: bool,
    claims: Vec<(String, String)>,
    heading: String,
    after_blank: bool,
    /// The number of the finding or pair, and what of it is next.
    finding: usize,
    range: usize,
    site: usize,
    row: usize,
}

impl Reader {
    fn say(&mut self, what: impl Into<String>, shown: &str) {
        self.claims.push((what.into(), shown.trim().to_owned()));
    }

    fn line(&mut self, line: &str) {
        let blank = line.is_empty();
        let after_blank = std::mem::replace(&mut self.after_blank, blank);
        if line.ends_with("How this was measured: -v") {
            self.heading.clear();
        } else if after_blank && line.starts_with(|c: char| c.is_alphabetic()) && !line.contains(',') {
            self.heading = line.to_owned();
            (self.finding, self.row) = (0, 0);
        } else if !blank {
            match self.heading.as_str() {
                "Contended data" => self.contended(line),
                heading if heading.starts_with("Who communicates") => self.matrix(line),
                heading if heading.starts_with("Misses in this machine") => self.fit(line),
                "Uses and their reuses" => self.pair(line),
                "Counts" => self.count(line),
                "By thread" | "By process" => self.counted(line),
                "How this was measured" => self.measured(line),
                _ => {}
            }
        } else if self.heading.starts_with("Misses in") {
            self.heading.clear();
        }
    }

    fn contended(&mut self, line: &str) {
        let at = format!("finding {}", self.finding);
        if let Some((rank, rest)) = head(line) {
            (self.finding, self.range, self.site) = (rank, 0, 0);
            let at = format!("finding {rank}");
            let mut parts = rest.split("  ");
            let share = parts.next().unwrap_or_default();
            let (share, error) = share.split_once(" (±").unwrap_or((share, ""));
            self.say(format!("{at} share"), share.trim_start_matches("at least "));
            self.say(format!("{at} error"), &error.replace(')', "%"));
            self.say(format!("{at} class"), parts.next().unwrap_or_default());
        } else if let Some((number, _)) = line.trim_start().split_once(" cache lines, the worst") {
            self.say(format!("{at} lines"), number);
        } else if let Some((_, rest)) = line.split_once(" /* ") {
            self.range += 1;
            let mut numbers = rest.split_whitespace().map_while(|part| part.parse::<u32>().ok());
            let (offset, width) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
            let bytes =
                if width <= 1 { offset.to_string() } else { format!("{offset}-{}", offset + width - 1) };
            self.say(format!("{at} range {}", self.range), &bytes);
        } else if let Some(remedy) = line.trim_start().strip_prefix("remedy ") {
            self.say(format!("{at} remedy"), &remedy.replace('`', ""));
        } else if let Some(evidence) = line.trim_start().strip_prefix("evidence ") {
            self.say(format!("{at} evidence"), evidence);
        } else if line.starts_with("     ")
            && line.trim_start().split_once("%  ").is_some_and(|(share, _)| share.len() < 6)
        {
            self.site += 1;
            let kind = if self.verbose { "code" } else { "telling" };
            self.say(
                format!("{at} {kind} {}", self.site),
                line.split_whitespace().next().unwrap_or_default(),
            );
        }
    }

    fn matrix(&mut self, line: &str) {
        for row in ["volume", "where"] {
            if let Some(text) = line.strip_prefix(&format!("{row}: ")) {
                return self.say(format!("row {row}"), text);
            }
        }
        let plain = line.replace(['░', '▒', '▓', '█'], " ");
        let words: Vec<&str> = plain.split_whitespace().collect();
        // The first row has the numbers of the columns: those of the threads, or their places.
        let numbers = |(index, word): (usize, &&str)| {
            word.strip_prefix('#').is_some_and(|number| number.parse::<u32>().is_ok())
                || *word == (index + 1).to_string()
        };
        if words.iter().enumerate().all(numbers) {
            (self.row, self.range) = (0, words.len());
        } else if words
            .first()
            .is_some_and(|word| word.starts_with('#') || *word == (self.row + 1).to_string())
            && words.len() > self.range
        {
            self.row += 1;
            for (column, cell) in
                words.iter().rev().take(self.range).rev().enumerate().filter(|cell| *cell.1 != "·")
            {
                self.say(format!("cell {} {}", self.row, column + 1), cell);
            }
        }
    }

    fn fit(&mut self, line: &str) {
        let cells: Vec<&str> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        if let Some((_, costs)) = cells.split_first().filter(|(what, _)| what.starts_with("cycles/access")) {
            return costs
                .iter()
                .enumerate()
                .for_each(|(column, cell)| self.say(format!("cycles {}", column + 1), cell));
        }
        if line.starts_with(' ') || cells.len() < 3 {
            return;
        }
        self.row += 1;
        for (column, cell) in cells.iter().skip(1).enumerate() {
            self.say(format!("fit {} {}", self.row, column + 1), cell);
        }
    }

    fn pair(&mut self, line: &str) {
        if let Some((rank, rest)) = head(line) {
            self.finding = rank;
            let mut shares = rest.split("  ");
            self.say(format!("reuse {rank} misses"), shares.next().unwrap_or_default());
            self.say(format!("reuse {rank} share"), shares.next().unwrap_or_default());
        } else if let Some(rest) = line.trim_start().strip_prefix("distance  ") {
            let at = format!("reuse {}", self.finding);
            self.say(format!("{at} distance"), rest);
            if let Some(missing) = rest.split("; ").find_map(|part| part.strip_suffix(" miss")) {
                self.say(format!("{at} missing"), missing);
            }
        }
    }

    fn count(&mut self, line: &str) {
        if let Some((name, number)) =
            line.rsplit_once("  ").filter(|(_, number)| number.trim() != "not counted")
        {
            self.say(format!("count {}", name.trim()), number);
        }
    }

    fn counted(&mut self, line: &str) {
        let who = if self.heading == "By thread" { "thread" } else { "process" };
        if line.starts_with(' ') || line.contains("more events") {
            return;
        }
        self.row += 1;
        // Behind the name, a column is ten wide.
        let cells: Vec<char> = line.chars().skip(18).collect();
        for (column, cell) in cells.chunks(10).enumerate() {
            let cell: String = cell.iter().collect();
            if cell.trim() != "-" {
                self.say(format!("{who} {} counted {}", self.row, column + 1), &cell);
            }
        }
    }

    fn measured(&mut self, line: &str) {
        for row in ["samples", "lost", "coverage"] {
            if let Some(text) = line.strip_prefix(&format!("{row:<10}")) {
                self.say(if row == "coverage" { row.to_owned() } else { format!("row {row}") }, text);
            }
        }
    }
}

/// ` 1.  17% …`
fn head(line: &str) -> Option<(usize, &str)> {
    let (number, rest) = line.trim_start().split_once(".  ")?;
    Some((number.parse().ok()?, rest))
}
