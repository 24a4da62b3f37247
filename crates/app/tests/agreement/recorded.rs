//! The reports on the recorded profiles of `fixtures/profiles`, and on samples of every kind of finding.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use carom_view::{count, diff::Limits, profile, reuse, share, web};

use crate::{Forms, browser, none, pages_agree, sample, terminal};

/// What stands in kept files for the folder of the programs that were recorded.
const PROGRAMS: &str = "@PROGRAMS@";

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/profiles").canonicalize().expect("fixtures")
}

/// What `carom report` says of a recorded profile.
fn reported(profile: &Path, name: &str) -> Forms {
    let place = tempfile::tempdir().expect("a temporary directory");
    let copy = place.path().join("profile");
    fs::create_dir(&copy).expect("a directory");
    for file in fs::read_dir(profile).expect("a profile") {
        let file = file.expect("an entry").path();
        fs::copy(&file, copy.join(file.file_name().expect("a name"))).expect("a copy");
    }
    let manifest = copy.join("manifest.json");
    let programs = fixtures().join("programs");
    let known = fs::read_to_string(&manifest).expect("a manifest");
    fs::write(&manifest, known.replace(PROGRAMS, programs.to_str().expect("UTF-8"))).expect("a manifest");
    let [json, page] = ["json", "html"].map(|kind| place.path().join(kind));
    let run = |more: &[&str]| {
        let mut carom = Command::new(env!("CARGO_BIN_EXE_carom"));
        carom.env("COLUMNS", terminal::WIDE.to_string()).args(["report", "--json"]).arg(&json);
        let done = carom.arg("--html").arg(&page).args(more).arg(&copy).output().expect("carom starts");
        assert!(done.status.success(), "{name}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).expect("UTF-8")
    };
    let (text, verbose) = (run(&[]), run(&["-v"]));
    let read = |path: &Path| fs::read_to_string(path).expect("a file");
    Forms {
        name: name.to_owned(),
        json: serde_json::from_str(&read(&json)).expect("JSON"),
        text,
        verbose,
        page: read(&page),
    }
}

fn all() -> Vec<Forms> {
    let folders =
        fs::read_dir(fixtures()).expect("the fixtures").map(|folder| folder.expect("an entry").path());
    let mut profiles: Vec<PathBuf> = folders.filter(|folder| folder.join("profile").is_dir()).collect();
    profiles.sort();
    let name = |folder: &Path| folder.file_name().expect("a name").to_string_lossy().into_owned();
    let mut forms: Vec<Forms> =
        profiles.iter().map(|folder| reported(&folder.join("profile"), &name(folder))).collect();
    forms.extend(samples());
    forms
}

/// Reports with every kind of finding.
fn samples() -> Vec<Forms> {
    let of_share = [
        ("two", sample::two()),
        ("eight", sample::eight()),
        ("accesses", sample::every_nth()),
        ("crowd", sample::crowd(40)),
    ];
    let of_reuse = [
        ("relaxed", sample::relaxed()),
        ("sampled", sample::sampled_reuse()),
        ("hardly", sample::hardly_reused()),
    ];
    let (run, counts) = sample::counted();
    let mut forms: Vec<Forms> =
        of_share.iter().map(|(name, (run, found))| Forms::of(name, &share::report(run, found))).collect();
    forms.extend(of_reuse.iter().map(|(name, (run, found))| Forms::of(name, &reuse::report(run, found))));
    forms.push(Forms::of("counted", &count::report(&run, &counts)));
    let (shared_run, shared) = sample::two();
    let (reused_run, reused) = sample::sampled_reuse();
    let parts = vec![
        share::report(&shared_run, &shared),
        reuse::report(&reused_run, &reused),
        count::report(&run, &counts),
    ];
    forms.push(Forms::of("together", &profile::report(&run, parts)));
    forms
}

#[test]
fn text_and_page_say_what_the_json_says() {
    let forms = all();
    none(&forms.iter().flat_map(Forms::contradictions_of_text).collect::<Vec<_>>());
    pages_agree(&forms);
}

#[test]
fn pages_fit_narrow_and_wide_windows_in_both_colours() {
    let mut pages: Vec<(String, String)> = all().into_iter().map(|each| (each.name, each.page)).collect();
    let compared = sample::compared::fixed(Limits { above: Some(0.05), if_new: true, ..Limits::default() });
    pages.push(("diff".to_owned(), web::comparison(&compared).expect("a page")));
    let mut wrong = Vec::new();
    problems(&pages, &mut wrong);
    none(&wrong);
}

/// What is wrong with pages in narrow and wide windows, in both colours. Returns what was read. None where there is no Chromium.
pub fn problems(pages: &[(String, String)], wrong: &mut Vec<String>) -> Option<Vec<browser::Read>> {
    let mut all = Vec::new();
    for dark in [false, true] {
        let read = browser::read(pages, &[360, 768, 1400], dark)?;
        wrong.extend(
            read.iter()
                .flat_map(|page| page.problems.iter().map(|problem| format!("{}: {problem}", page.name))),
        );
        all.extend(read);
    }
    wrong.dedup();
    Some(all)
}
