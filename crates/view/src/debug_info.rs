//! How to compile a program so that a report has names.

use std::borrow::Borrow;

use crate::{
    RunInfo,
    model::{Frame, Report, Warning},
};

/// A warning where none of these call paths has a line of the program's own source, although they lead through its code.
pub fn warning(run: &RunInfo, frames: impl Iterator<Item = impl Borrow<Frame>>) -> Option<Warning> {
    let program = run.program.argv.first()?.rsplit('/').next()?;
    let mut seen = None;
    for frame in frames {
        let frame: &Frame = frame.borrow();
        let of_program = frame.module.as_deref().filter(|module| module.rsplit('/').next() == Some(program));
        if frame.file.is_some() && of_program.is_some() {
            return None;
        }
        seen = of_program.map(str::to_owned).or(seen);
    }
    let path = seen?;
    let how = if INSTALLED.iter().any(|begin| path.starts_with(begin)) {
        "install that of its package (on Debian `find-dbgsym-packages` of devscripts says which one)"
    } else {
        "compile it with -g, and do not strip it,"
    };
    let text =
        format!("{program} has no debug information: {how} to see source lines, variables and fields.");
    Some(Warning { code: CODE.into(), text })
}

/// A finding whose names say less than they could, with what that takes in the same sentence.
pub fn with_what_it_lacks(report: &Report, found: String) -> String {
    let lacking = report.quality.warnings.iter().find(|warning| warning.code == CODE);
    match (lacking, found.strip_suffix('.')) {
        (Some(warning), Some(found)) => format!("{found}; {}", warning.text),
        _ => found,
    }
}

/// The code of the warning.
const CODE: &str = "no-debug-info";

/// Where distributions install programs, which their users do not compile.
const INSTALLED: [&str; 6] = ["/usr/bin/", "/usr/sbin/", "/usr/lib", "/bin/", "/sbin/", "/lib"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn frame(module: &str, file: Option<&str>) -> Frame {
        Frame { module: Some(module.into()), file: file.map(str::to_owned), ..Frame::default() }
    }

    #[test]
    fn the_program_counts_and_not_its_libraries() {
        let (mut run, _) = sample::two();
        run.program.argv = vec!["build/app".into()];
        let warned = |frames: &[Frame]| warning(&run, frames.iter()).map(|warning| warning.text);
        let library = || frame("/lib/libc.so.6", Some("pthread_create.c"));
        assert_eq!(warned(&[library()]), None);
        assert_eq!(warned(&[library(), frame("/x/app", Some("app.c"))]), None);
        let text = warned(&[library(), frame("/x/app", None)]).unwrap();
        assert!(text.starts_with("app has no debug information: compile it"), "{text}");
        let text = warned(&[library(), frame("/usr/bin/app", None)]).unwrap();
        assert!(text.contains("install that of its package"), "{text}");
    }
}
