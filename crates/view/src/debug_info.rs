//! How to compile a program so that a report has names.

use std::borrow::Borrow;

use crate::{
    RunInfo,
    model::{Frame, Warning},
};

/// A warning where none of these call paths has a line of the program's own source, although they lead through its code.
pub fn warning(run: &RunInfo, frames: impl Iterator<Item = impl Borrow<Frame>>) -> Option<Warning> {
    let program = run.program.argv.first()?.rsplit('/').next()?;
    let mut seen = false;
    for frame in frames {
        let frame: &Frame = frame.borrow();
        if frame.module.as_deref().and_then(|module| module.rsplit('/').next()) != Some(program) {
            continue;
        }
        if frame.file.is_some() {
            return None;
        }
        seen = true;
    }
    let text = format!(
        "{program} has no debug information: compile it with -g, and do not strip it, to see source lines, variables and \
         fields."
    );
    seen.then(|| Warning { code: "no-debug-info".into(), text })
}

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
        assert!(text.starts_with("app has no debug information"), "{text}");
    }
}
