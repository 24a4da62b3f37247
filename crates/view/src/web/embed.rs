//! Template and data become one document.

use serde::Serialize;

use crate::{
    diff::{self, model::Diff},
    model::Report,
    share,
    text::page::printable,
    words,
};

const TEMPLATE: &str = include_str!("page/page.html");

const STYLES: [&str; 6] = [
    include_str!("page/style.css"),
    include_str!("page/tables.css"),
    include_str!("page/figures.css"),
    include_str!("page/charts.css"),
    include_str!("page/tabs.css"),
    include_str!("page/source.css"),
];

/// What all pages use, in order of dependency.
const COMMON: [&str; 5] = [
    include_str!("page/dom.js"),
    include_str!("page/numbers.js"),
    include_str!("page/source.js"),
    include_str!("page/colour.js"),
    include_str!("page/frame.js"),
];

/// What all questions use besides.
const QUESTIONS: [&str; 5] = [
    include_str!("page/data.js"),
    include_str!("page/chart.js"),
    include_str!("page/table.js"),
    include_str!("page/tabs.js"),
    include_str!("page/trust.js"),
];

/// What puts the page together; last.
const MAIN: &str = include_str!("page/main.js");

/// The page of a report.
///
/// # Errors
/// None in practice: the model has string keys only and no fallible serialiser.
pub fn page(report: &Report) -> Result<String, serde_json::Error> {
    let sections = report.sections();
    let questions: String = sections.iter().flat_map(|section| section.scripts()).copied().collect();
    let command = serde_json::to_value(report.command)?;
    let title = format!(
        "{} - carom {}",
        words::command_line(&report.program.argv),
        command.as_str().unwrap_or_default()
    );
    let cells = json(&report.share.as_ref().map(share::sparse))?;
    let scripts = format!("{}{questions}{MAIN}", QUESTIONS.concat());
    Ok(document(&title, &json(&share::without_cells(report))?, &cells, &scripts))
}

/// The page of a comparison.
///
/// # Errors
/// As [`page`].
pub fn comparison(diff: &Diff) -> Result<String, serde_json::Error> {
    let program = words::command_line(&diff.after.argv);
    Ok(document(&format!("{program} - carom diff"), &json(diff)?, "null", diff::SCRIPT))
}

/// The document with title, style, scripts and data in their places.
fn document(title: &str, report: &str, cells: &str, scripts: &str) -> String {
    let scripts = format!("(() => {{\n\"use strict\";\n{}{scripts}}})();\n", COMMON.concat());
    let parts = [
        ("<!--title-->", as_text(title)),
        ("<!--style-->", STYLES.concat()),
        ("<!--report-->", report.to_owned()),
        ("<!--cells-->", cells.to_owned()),
        ("<!--script-->", scripts),
    ];
    // Walks the template from mark to mark, so that data which looks like a mark stays data.
    let (mut document, mut rest) = (String::new(), TEMPLATE);
    for (mark, text) in parts {
        if let Some((before, after)) = rest.split_once(mark) {
            document.push_str(before);
            document.push_str(&text);
            rest = after;
        }
    }
    document.push_str(rest);
    document
}

/// A title that names the page among open tabs and in a list of files, as text of the document.
fn as_text(title: &str) -> String {
    let text: String = title.chars().map(printable).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// JSON that cannot end or open an element, whatever the names in it.
///
/// These five characters occur in JSON only inside strings, where `\uXXXX` means the same.
fn json(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let text = serde_json::to_string(value)?;
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => safe.push_str("\\u003c"),
            '>' => safe.push_str("\\u003e"),
            '&' => safe.push_str("\\u0026"),
            '\u{2028}' => safe.push_str("\\u2028"),
            '\u{2029}' => safe.push_str("\\u2029"),
            c => safe.push(c),
        }
    }
    Ok(safe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{count, profile, reuse, sample};

    const HOSTILE: &str = "</script><img src=x onerror=alert(1)>&<!--script-->\u{2028}\"\\";

    #[test]
    fn names_cannot_leave_the_data() {
        let (mut run, mut findings) = sample::two();
        let (plain, _) = (page(&share::report(&run, &findings)).unwrap(), ());
        run.threads[1].name = HOSTILE.into();
        run.program.argv.push(HOSTILE.into());
        findings.lines[0].object.name = HOSTILE.into();
        let hostile = page(&share::report(&run, &findings)).unwrap();
        for mark in ["<", ">", "</script", "<img", "\u{2028}"] {
            assert_eq!(hostile.matches(mark).count(), plain.matches(mark).count(), "{mark:?} in the page");
        }
        assert!(plain.contains(" - carom share</title>"));
        assert!(hostile.contains(
            "\\u003c/script\\u003e\\u003cimg src=x onerror=alert(1)\\u003e\\u0026\\u003c!--script"
        ));
    }

    #[test]
    fn names_of_pairs_cannot_leave_the_data() {
        let (run, mut findings) = sample::relaxed();
        let plain = page(&reuse::report(&run, &findings)).unwrap();
        for frame in &mut findings.pairs[0].earlier {
            frame.function = Some(HOSTILE.into());
        }
        let hostile = page(&reuse::report(&run, &findings)).unwrap();
        for mark in ["<", ">", "</script", "\u{2028}"] {
            assert_eq!(hostile.matches(mark).count(), plain.matches(mark).count(), "{mark:?} in the page");
        }
    }

    #[test]
    fn the_data_survives() {
        let (mut run, findings) = sample::two();
        run.threads[1].name = HOSTILE.into();
        let document = page(&share::report(&run, &findings)).unwrap();
        let data = document
            .split_once("id=\"report\">")
            .and_then(|(_, rest)| rest.split_once("</script>"))
            .map(|(data, _)| serde_json::from_str::<serde_json::Value>(data).unwrap())
            .unwrap();
        assert_eq!(data["threads"][1]["name"], HOSTILE);
    }

    /// A page on all questions, with the scripts of each.
    fn profiled() -> Report {
        let (run, shared) = sample::eight();
        let share = share::report(&run, &shared);
        let (run, reused) = sample::sampled_reuse();
        let reuse = reuse::report(&run, &reused);
        let (run, counts) = sample::counted();
        profile::report(&run, vec![share, reuse, count::report(&run, &counts)])
    }

    #[test]
    fn a_question_brings_its_scripts() {
        let named =
            |document: &str, name: &str| document.contains(&format!("questions.push({{ name: \"{name}\""));
        let whole = page(&profiled()).unwrap();
        for name in ["profile", "share", "reuse", "count"] {
            assert!(named(&whole, name), "{name}");
        }
        let (run, counts) = sample::counted();
        let only = page(&count::report(&run, &counts)).unwrap();
        assert!(named(&only, "count") && !named(&only, "share"));
    }

    #[test]
    fn nothing_is_requested() {
        let compared = comparison(&sample::compared::fixed(diff::Limits::default())).unwrap();
        let document = page(&profiled()).unwrap() + &compared;
        for request in
            ["http://", "https://", "src=", "@import", "url(", "fetch(", "XMLHttpRequest", "import(", "<!--"]
        {
            assert!(!document.contains(request), "{request} in the page");
        }
        for sink in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
            assert!(!document.contains(sink), "{sink} in the page: names are set by textContent only");
        }
    }

    #[test]
    fn a_thousand_threads_stay_small() {
        // 1,000 threads have 3,800 cells that are not zero (two per neighbour pair, one per member of a group
        // of ten, one to thread 0 each), some of which coincide; a cell takes about 40 bytes.
        let (run, findings) = sample::crowd(1_000);
        let report = share::report(&run, &findings);
        assert!(page(&report).unwrap().len() < 600_000);
    }
}
