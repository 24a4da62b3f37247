//! What a finding is about, in terms that another build of the program knows too.

use std::collections::{BTreeMap, BTreeSet};

use crate::symbols::{DataObject, Frame, ObjectKind};

/// What a finding is about. Addresses change from run to run, line numbers and sizes from build to build.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Subject {
    /// Everything that runs of one build agree on.
    exact: Vec<String>,
    /// What is left after an edit elsewhere in the file, or of the type.
    loose: Vec<String>,
    /// Whether another run may give it another name: a heap block without its allocation is named after the function that was
    /// seen to use it most.
    by_use: bool,
}

impl Subject {
    /// Data by its name and the place where it was declared or allocated.
    pub fn of_object(object: &DataObject) -> Self {
        let (exact, loose) = object.declared.as_ref().map_or_else(Default::default, place);
        let kind = format!("{:?}", object.kind);
        let named = |mut at: Vec<String>, name: &str| {
            at.extend([kind.clone(), name.to_owned()]);
            at
        };
        // The name of a heap block has its size, which an alignment changes.
        let in_function = object.kind == ObjectKind::Heap && object.declared.is_some();
        let by_use = Self::is_by_use(object);
        let name = if in_function || by_use { "" } else { &object.name };
        Self { exact: named(exact, &object.name), loose: named(loose, name), by_use }
    }

    /// Whether it has its name by the function that was seen to use it most.
    pub fn is_by_use(object: &DataObject) -> bool {
        object.kind == ObjectKind::Heap && object.declared.is_none()
    }

    /// The places of two instructions.
    pub fn of_places(earlier: Option<&Frame>, later: Option<&Frame>) -> Self {
        let mut subject = Self { exact: Vec::new(), loose: Vec::new(), by_use: false };
        for frame in [earlier, later] {
            let (exact, loose) = frame.map_or_else(Default::default, place);
            subject.exact.extend(exact);
            subject.loose.extend(loose);
        }
        subject
    }
}

/// The place of a frame, with its line and without. Where no name is known, the address in the module stands for both. Of a path
/// only the file's name counts: before and after are often built in two folders.
fn place(frame: &Frame) -> (Vec<String>, Vec<String>) {
    let text = |text: Option<String>| text.unwrap_or_default();
    let module = frame.module.as_ref().and_then(|path| path.file_name());
    let known = frame.function.is_some() || frame.file.is_some();
    let function = if known {
        text(frame.function.clone())
    } else {
        format!("{} {:#x}", text(module.map(|name| name.to_string_lossy().into_owned())), frame.address)
    };
    let file = frame.file.as_deref().and_then(|path| path.rsplit(['/', '\\']).next());
    let loose = vec![text(file.map(str::to_owned)), function];
    let mut exact = loose.clone();
    exact.push(text(frame.line.map(|line| line.to_string())));
    (exact, loose)
}

/// What belongs to one subject on either side, with the number of its run.
pub(super) struct Pairing<T> {
    pub before: Vec<(usize, T)>,
    pub after: Vec<(usize, T)>,
}

/// One side's findings, each with its run and what it is about.
pub(super) type Listed<T> = Vec<(usize, Subject, T)>;

/// Puts findings about the same together: first what agrees in everything, then, of what one side alone has, what agrees
/// loosely with something that the other side alone has. What has its name by use, and not in all runs of a side, is one with all
/// that is like it in that. `runs`: the number of runs before and after.
pub(super) fn pair<T>(before: Listed<T>, after: Listed<T>, runs: [usize; 2]) -> Vec<Pairing<T>> {
    let wavering = [wavering(&before, runs[0]), wavering(&after, runs[1])].concat();
    let keys = |side: &Listed<T>| -> BTreeSet<Subject> { side.iter().map(|(_, s, _)| s.clone()).collect() };
    let (of_before, of_after) = (keys(&before), keys(&after));
    let alone = |side: &BTreeSet<Subject>, other: &BTreeSet<Subject>| -> BTreeSet<Vec<String>> {
        side.difference(other).map(|subject| subject.loose.clone()).collect()
    };
    let (before_alone, after_alone) = (alone(&of_before, &of_after), alone(&of_after, &of_before));
    let key = |subject: Subject| {
        let both = of_before.contains(&subject) && of_after.contains(&subject);
        let loosely = wavering.contains(&subject)
            || !both && before_alone.contains(&subject.loose) && after_alone.contains(&subject.loose);
        (loosely, if loosely { subject.loose } else { subject.exact })
    };
    let mut pairs: BTreeMap<(bool, Vec<String>), Pairing<T>> = BTreeMap::new();
    let empty = || Pairing { before: Vec::new(), after: Vec::new() };
    for (run, subject, value) in before {
        pairs.entry(key(subject)).or_insert_with(empty).before.push((run, value));
    }
    for (run, subject, value) in after {
        pairs.entry(key(subject)).or_insert_with(empty).after.push((run, value));
    }
    pairs.into_values().collect()
}

/// What has its name by use, and is in some of a side's runs, not in all.
fn wavering<T>(side: &Listed<T>, runs: usize) -> Vec<Subject> {
    let mut seen: BTreeMap<&Subject, BTreeSet<usize>> = BTreeMap::new();
    for (run, subject, _) in side.iter().filter(|(_, subject, _)| subject.by_use) {
        seen.entry(subject).or_default().insert(*run);
    }
    seen.into_iter().filter(|(_, of)| of.len() < runs).map(|(subject, _)| subject.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(kind: ObjectKind, name: &str, function: Option<&str>, line: u32) -> DataObject {
        let declared = Frame {
            function: function.map(str::to_owned),
            file: Some("app.c".into()),
            line: Some(line),
            ..Frame::default()
        };
        DataObject {
            kind,
            name: name.into(),
            offset: 0,
            size: None,
            declared: Some(declared),
            allocation: vec![],
        }
    }

    fn paired(before: &[DataObject], after: &[DataObject]) -> Vec<(usize, usize)> {
        let list = |side: &[DataObject]| side.iter().map(|o| (0, Subject::of_object(o), ())).collect();
        let mut sizes: Vec<_> =
            pair(list(before), list(after), [1, 1]).iter().map(|p| (p.before.len(), p.after.len())).collect();
        sizes.sort_unstable();
        sizes
    }

    #[test]
    fn variables_keep_their_names_when_lines_move() {
        let stats = |line| object(ObjectKind::Global, "stats", None, line);
        let other = object(ObjectKind::Global, "other", None, 12);
        assert_eq!(paired(&[stats(12)], &[stats(15)]), [(1, 1)]);
        assert_eq!(paired(&[stats(12)], &[other]), [(0, 1), (1, 0)]);
    }

    #[test]
    fn blocks_are_known_by_their_allocation() {
        let block = |bytes: u32, line| {
            let name = format!("{bytes}-byte block allocated in main");
            object(ObjectKind::Heap, &name, Some("main"), line)
        };
        // An alignment changes the size; an edit above moves the line.
        assert_eq!(paired(&[block(96, 40)], &[block(256, 41)]), [(1, 1)]);
        // What is the same on both sides stays apart from what is not.
        assert_eq!(paired(&[block(96, 40), block(8, 50)], &[block(8, 50)]), [(1, 0), (1, 1)]);
    }

    /// `~/app-before` and `~/app-after`, or two versions of a crate.
    #[test]
    fn folders_do_not_matter() {
        let global = |file: &str| {
            let mut object = object(ObjectKind::Global, "stats", None, 12);
            object.declared.as_mut().unwrap().file = Some(file.into());
            object
        };
        assert_eq!(
            paired(&[global("/build/app-1.0/src/app.c")], &[global("/build/app-1.1/src/app.c")]),
            [(1, 1)]
        );
        assert_eq!(paired(&[global("/src/app.c")], &[global("/src/other.c")]), [(0, 1), (1, 0)]);
    }

    /// The same mutex: one run sees more of who takes it, two see more of who gives it back.
    #[test]
    fn names_by_use_that_waver_from_run_to_run_are_one() {
        let used_by = |function: &str| {
            let object = object(ObjectKind::Heap, &format!("heap memory used by {function}"), None, 0);
            Subject::of_object(&DataObject { declared: None, ..object })
        };
        let before = || vec![(0, used_by("put"), ()), (1, used_by("get"), ()), (2, used_by("get"), ())];
        let sizes = |pairs: Vec<Pairing<()>>| -> Vec<_> {
            pairs.iter().map(|pairing| (pairing.before.len(), pairing.after.len())).collect()
        };
        assert_eq!(sizes(pair(before(), Vec::new(), [3, 3])), [(3, 0)]);
        // In a run of its own each has a name that nothing speaks against.
        let two = || vec![(0, used_by("put"), ()), (0, used_by("get"), ())];
        assert_eq!(sizes(pair(two(), two(), [1, 1])), [(1, 1), (1, 1)]);
    }

    #[test]
    fn code_without_names_is_known_by_its_address() {
        let at = |address| Frame { address, module: Some("/lib/a.so".into()), ..Frame::default() };
        let subject = |address| Subject::of_places(Some(&at(address)), None);
        assert_eq!(subject(1), subject(1));
        assert_ne!(subject(1).loose, subject(2).loose);
    }
}
