use std::path::Path;

use carom_store::{Manifest, MappingInfo, ProcessInfo, Row, Writer};

use super::*;

const FILE: &str = "/tmp/shared";
const OTHER: &str = "/tmp/other";

/// A process that has mapped a file.
fn recorded(dir: &Path) -> Recording {
    let mapping = MappingInfo { low: 0x1000, high: 0x9000, path: FILE.to_owned() };
    let process = ProcessInfo { mappings: vec![mapping], ..ProcessInfo::default() };
    let manifest = Manifest { processes: vec![process], complete: true, ..Manifest::default() };
    Writer::create(dir, manifest.clone()).unwrap().finish(manifest).unwrap();
    Recording::open(dir).unwrap()
}

/// As [`recorded`], with the answers to [`ask`] stored, and another name for the file since.
fn stored_and_renamed(dir: &Path) -> Recording {
    let recording = recorded(dir);
    let mut names = CachedNames::new(&recording);
    assert_eq!(ask(&mut names).1.name, FILE);
    names.store().unwrap();
    assert_eq!(carom_store::check(dir).unwrap(), []);
    let manifest = dir.join("manifest.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(manifest, text.replace(FILE, OTHER)).unwrap();
    Recording::open(dir).unwrap()
}

fn ask(names: &mut dyn Names) -> (Vec<Frame>, DataObject, Option<String>, Vec<NamedBytes>) {
    let process = ProcessId(0);
    (
        names.call_path(process, Ip(0x1234), StackId(5)),
        names.object(process, Addr(0x2008)),
        names.field(process, Addr(0x2008), 8),
        names.layout(process, Addr(0x2008).line()),
    )
}

#[test]
fn what_was_stored_counts_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let recording = stored_and_renamed(dir.path());
    let mut names = CachedNames::new(&recording);
    assert_eq!(ask(&mut names).1.name, FILE);
    assert_eq!(ask(&mut RecordedNames::new(&recording)).1.name, OTHER);
    // Another byte, another process.
    assert_eq!(names.object(ProcessId(0), Addr(0x2048)).name, OTHER);
    assert_ne!(names.object(ProcessId(1), Addr(0x2008)).name, FILE);
}

#[test]
fn answers_are_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let recording = stored_and_renamed(dir.path());
    let file = dir.path().join(Name::KIND.file_name());
    let modified = || file.metadata().unwrap().modified().unwrap();
    let (before, rows) = (modified(), recording.rows::<Name>().count());
    let mut names = CachedNames::new(&recording);
    ask(&mut names);
    names.store().unwrap();
    assert_eq!((modified(), rows), (before, 4), "nothing was added");
    names.object(ProcessId(0), Addr(0x2048));
    names.store().unwrap();
    assert_eq!(recording.rows::<Name>().count(), 5);
}

#[test]
fn damage_costs_the_answers_that_it_hits() {
    let dir = tempfile::tempdir().unwrap();
    let recording = stored_and_renamed(dir.path());
    let file = dir.path().join(Name::KIND.file_name());
    let whole = std::fs::read(&file).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        std::fs::write(&file, bytes).unwrap();
        let mut names = CachedNames::new(&recording);
        assert_eq!(ask(&mut names).1.name, OTHER, "byte {at}");
    }
    std::fs::write(&file, &whole[..whole.len() - 1]).unwrap();
    assert!(CachedNames::new(&recording).are_damaged());
}

#[test]
fn an_answer_of_another_version_is_asked_for_again() {
    let dir = tempfile::tempdir().unwrap();
    let recording = stored_and_renamed(dir.path());
    let mut names: Vec<Name> = recording.rows::<Name>().collect::<Result<_, _>>().unwrap();
    for name in &mut names {
        name.answer = r#"{"is":7}"#.to_owned();
    }
    store_names(dir.path(), &names).unwrap();
    assert_eq!(ask(&mut CachedNames::new(&recording)).1.name, OTHER);
}

#[test]
fn what_is_stored_has_a_bound() {
    let dir = tempfile::tempdir().unwrap();
    let recording = recorded(dir.path());
    let mut names = CachedNames::new(&recording);
    let question = |at| Question { process: ProcessId(0), about: About::Field, at: Addr(at), of: 8 };
    names.answer(question(0), |_| "x".repeat(MAX_ANSWER_BYTES));
    assert!(names.answers.is_empty());
    for at in 0..=(MAX_STORED_BYTES / 1_000_000) as u64 {
        assert_eq!(names.answer(question(at), |_| "x".repeat(1_000_000)).len(), 1_000_000);
    }
    assert_eq!(names.answers.len(), MAX_STORED_BYTES / 1_000_000);
    names.store().unwrap();
    assert_eq!(recording.rows::<Name>().count(), names.answers.len());
}
