//! Pages in headless Chromium, read by a script of the tests.

use std::{fs, path::Path, process::Command, time::Duration};

use serde_json::Value;

/// What a page said, and what was wrong with it.
pub struct Read {
    /// Which page, and how wide it was.
    pub name: String,
    /// What it says: the thing, and the text.
    pub claims: Vec<(String, String)>,
    /// Errors, and what does not fit.
    pub problems: Vec<String>,
}

const READER: &str = include_str!("reader.js");

/// Virtual time for a page to be drawn and read.
const SETTLE: Duration = Duration::from_secs(20);

/// Opens pages, each at these widths. None where there is no Chromium.
pub fn read(pages: &[(String, String)], widths: &[u32], dark: bool) -> Option<Vec<Read>> {
    let place = tempfile::tempdir().expect("a temporary directory");
    let outer = place.path().join("pages.html");
    fs::write(&outer, frames(pages, widths)).expect("a file");
    let scheme = if dark { 0 } else { 1 };
    let done = Command::new("chromium")
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--window-size=1600,2000",
        ])
        .arg(format!("--user-data-dir={}", place.path().join("browser").display()))
        .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
        .arg(format!("--virtual-time-budget={}", SETTLE.as_millis()))
        .arg("--dump-dom")
        .arg(address(&outer))
        .output();
    let Ok(done) = done else {
        eprintln!("skipped: browser: chromium is not installed");
        return None;
    };
    let document = String::from_utf8(done.stdout).expect("UTF-8");
    let (_, rest) = document
        .split_once("<pre id=\"read\">")
        .unwrap_or_else(|| panic!("nothing was read: {}", String::from_utf8_lossy(&done.stderr)));
    let (found, _) = rest.split_once("</pre>").expect("an end");
    let all: Vec<Value> = serde_json::from_str(found).expect("JSON");
    assert_eq!(all.len(), pages.len() * widths.len(), "pages that were read");
    Some(all.iter().map(one).collect())
}

fn address(path: &Path) -> String {
    format!("file://{}", path.display())
}

fn one(found: &Value) -> Read {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let list = |key: &str| found[key].as_array().expect("a list").iter();
    Read {
        name: text(&found["name"]),
        claims: list("claims").map(|claim| (text(&claim[0]), text(&claim[1]))).collect(),
        problems: list("problems").map(text).collect(),
    }
}

/// A page that holds all of them in frames as wide as the windows that they stand for, and gathers what is read in them.
fn frames(pages: &[(String, String)], widths: &[u32]) -> String {
    let mut page = String::from(
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"color-scheme\" content=\"light dark\"><body>",
    );
    page.push_str(
        "<script>const found = []; addEventListener('message', ({ data }) => { found.push(data); \
         const pre = document.querySelector('#read') ?? document.body.appendChild(document.createElement('pre')); pre.id = 'read'; \
         pre.textContent = JSON.stringify(found).replace(/[<>&]/g, (c) => '\\\\u' + c.charCodeAt(0).toString(16).padStart(4, '0')); });</script>",
    );
    for (name, html) in pages {
        let html = html.replacen("<head>", &format!("<head><script>{READER}</script>"), 1);
        let source = html.replace('&', "&amp;").replace('"', "&quot;");
        for width in widths {
            page.push_str(&format!(
                "<iframe name=\"{name} {width}\" style=\"width:{width}px;height:1200px;border:0\" srcdoc=\"{source}\"></iframe>"
            ));
        }
    }
    page
}
