//! Tables for spreadsheets and scripts.

use crate::{
    model::{Real, Report},
    words::ThreadNames,
};

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvFile {
    /// Its name, without a directory.
    pub name: &'static str,
    /// Its text: UTF-8, comma-separated, quoted after RFC 4180, lines ending in a newline.
    pub text: String,
}

/// Every table of the report; none where it has no answer.
pub fn files(report: &Report) -> Vec<CsvFile> {
    let names = ThreadNames::new(&report.threads);
    let sections = report.sections().into_iter();
    let tables = sections.flat_map(|section| section.tables(report, &names));
    tables.map(|(name, text)| CsvFile { name, text }).collect()
}

/// Rows under construction.
#[derive(Default)]
pub(crate) struct Table {
    pub text: String,
    begun: bool,
}

impl Table {
    pub fn header(&mut self, names: &[&str]) {
        self.names(names).end();
    }

    pub fn names(&mut self, names: &[&str]) -> &mut Self {
        for name in names {
            self.name(name);
        }
        self
    }

    /// A cell of text, which may come from a stranger: spreadsheets run what begins like a formula, so an
    /// apostrophe goes before it.
    pub fn name(&mut self, text: &str) -> &mut Self {
        let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
        let guarded = if formula { format!("'{text}") } else { text.to_owned() };
        if guarded.contains([',', '"', '\n', '\r']) {
            self.raw(&format!("\"{}\"", guarded.replace('"', "\"\"")))
        } else {
            self.raw(&guarded)
        }
    }

    /// A number; empty where it is not finite.
    pub fn number(&mut self, value: Real) -> &mut Self {
        if value.0.is_finite() { self.raw(&value.0.to_string()) } else { self.raw("") }
    }

    /// A whole number; empty where there is none.
    pub fn whole<N: ToString>(&mut self, value: Option<N>) -> &mut Self {
        let text = value.map(|value| value.to_string()).unwrap_or_default();
        self.raw(&text)
    }

    pub fn raw(&mut self, cell: &str) -> &mut Self {
        if self.begun {
            self.text.push(',');
        }
        self.begun = true;
        self.text.push_str(cell);
        self
    }

    pub fn end(&mut self) {
        self.begun = false;
        self.text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sample, share::report};

    fn file(files: &[CsvFile], name: &str) -> String {
        files.iter().find(|file| file.name == name).map(|file| file.text.clone()).unwrap_or_default()
    }

    #[test]
    fn matrices_are_labelled_in_natural_order() {
        let (run, findings) = sample::two();
        let files = files(&report(&run, &findings));
        // The flows that the sample puts in: 1→2 150 true + 2,700 false, 2→1 170 + 2,620, 0→1 22 + 38.
        assert_eq!(
            file(&files, "matrix-all.csv"),
            "earlier writer \\ later accessor,app,worker-1,worker-2\napp,0,60,0\nworker-1,0,0,2850\nworker-2,0,2790,0\n"
        );
        assert!(file(&files, "cores-false.csv").contains("cpu 1,2668,0,0"));
        assert_eq!(file(&files, "lines.csv").lines().count(), 3);
        assert_eq!(file(&files, "sites.csv").lines().count(), 6);
    }

    #[test]
    fn counts_are_exact_and_gaps_are_empty() {
        let (run, findings) = sample::counted();
        let files = files(&crate::count::report(&run, &findings));
        assert!(
            file(&files, "totals.csv")
                .starts_with("event,unit,total\ninstructions,instructions,1230000123\n")
        );
        assert!(file(&files, "totals.csv").contains("branches-taken,instructions,\n"));
        let counts = file(&files, "counts.csv");
        let last = counts.lines().last().unwrap_or_default();
        assert_eq!(last, "2,worker-2,0,4713,3894000000,749000123,251900000,115100000,30,30,30,,30,30,30,30");
        assert_eq!(files.len(), 2, "no tables of sharing");
    }

    #[test]
    fn distances_misses_and_pairs_have_tables() {
        let (mut run, mut findings) = sample::relaxed();
        run.threads[2].name = "=worker".into();
        findings.pairs[0].object.as_mut().unwrap().name = "@grid".into();
        let files = files(&crate::reuse::report(&run, &findings));
        let last = |name: &str| file(&files, name).lines().last().unwrap_or_default().to_owned();
        // The last curve is worker 2's, whose far reuses are 0.99 - 0.79 of 0.99 accesses, eight in ten reads after
        // reads.
        let far = last("reuse-histograms.csv");
        assert!(
            far.starts_with("thread,2,'=worker,,same-thread,any,stack,64,exact,,places,49152,57344,0.2020"),
            "{far}"
        );
        assert_eq!(
            last("miss-ratios.csv"),
            "thread,2,'=worker,,same-thread,any,stack,64,exact,,100663296,0.01,0.01,0.01"
        );
        let pairs = file(&files, "reuse-pairs.csv");
        let first = pairs.lines().nth(1).unwrap_or_default();
        assert!(
            first.starts_with("1,thread,0,global,'@grid,relax,relax.c,40,relax < main,relax,relax.c,77,relax < main,'=worker,0.168,0.8,1,"),
            "{first}"
        );
        assert_eq!(file(&files, "reuse-false-sharing.csv").lines().count(), 1);
        let (run, findings) = sample::sampled_reuse();
        let sampled = self::files(&crate::reuse::report(&run, &findings));
        let sharing = file(&sampled, "reuse-false-sharing.csv").lines().last().unwrap_or_default().to_owned();
        assert!(
            sharing.ends_with(
                ",0,8,stats.hits,8,8,stats.misses,worker-1 worker-2,0.62,0.03,1200000,300000,95,48"
            ),
            "{sharing}"
        );
        for file in files.iter().chain(&sampled) {
            let columns = |line: &str| line.matches(',').count();
            let head = file.text.lines().next().map(columns);
            assert!(file.text.lines().all(|line| Some(columns(line)) == head), "{}", file.name);
        }
    }

    #[test]
    fn names_from_strangers_are_no_formulas() {
        let (mut run, mut findings) = sample::two();
        run.threads[1].name = "=cmd|' /C calc'!A0".into();
        run.threads[2].name = "a,\"b\"\nc".into();
        run.threads[0].name = "\tx".into();
        findings.lines[0].object.name = "@sum".into();
        findings.lines[0].object.offset = -8;
        let files = files(&report(&run, &findings));
        assert_eq!(
            file(&files, "matrix-all.csv").split_once("\n'\tx").map(|(head, _)| head.to_owned()),
            Some("earlier writer \\ later accessor,'\tx,'=cmd|' /C calc'!A0,\"a,\"\"b\"\"\nc\"".into())
        );
        // Our own numbers stay numbers, negative ones too.
        assert!(file(&files, "lines.csv").contains(",global,'@sum,-8,16,"));
    }
}
