//! Texts of accesses: from a file to a profile.

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    path::Path,
};

use carom_base_stream::{
    Record,
    import::{Importer as Lines, Origin},
    sort_by_time,
};
use carom_store::{EngineInfo, Importer, Manifest};

use crate::failure::Failure;

/// Lines at the beginning of a text in which nothing need be an access.
const HEAD: usize = 10_000;

/// Makes a profile in `dir` of the accesses in a text, or in standard input (`-`).
///
/// # Errors
/// The text cannot be read, or is none of those that are known; the profile cannot be written.
pub fn import(file: &str, dir: &Path) -> Result<(), Failure> {
    let at = |error: io::Error| Failure::new(format!("{file}: {error}"));
    let manifest = Manifest {
        command: "simulate".into(),
        argv: vec![file.into()],
        program: Path::new(file).file_name().map_or(file.into(), |name| name.to_string_lossy().into_owned()),
        engine: EngineInfo { name: "import".into(), reason: "a text".into(), ..EngineInfo::default() },
        machine: carom_collect::machine_here(),
        ..Manifest::default()
    };
    let mut text = Text {
        name: file,
        bytes: if file == "-" {
            Box::new(BufReader::new(io::stdin()))
        } else {
            Box::new(BufReader::new(File::open(file).map_err(at)?))
        },
        line: Vec::new(),
    };
    let (origin, head) = text.head()?;
    let mut lines = origin.importer();
    let mut importer = Importer::create(dir, manifest).map_err(Failure::new)?;
    let mut waiting = Vec::new();
    // What people write need not be in the order of time.
    let mut take = |record: Record| {
        if origin == Origin::Carom { waiting.push(record) } else { importer.record(&record) }
    };
    for line in head {
        text.parse(&mut lines, &line)?.map(&mut take);
    }
    while let Some(line) = text.next()? {
        text.parse(&mut lines, &line)?.map(&mut take);
    }
    sort_by_time(&mut waiting);
    waiting.iter().for_each(|record| importer.record(record));
    importer.finish().map_err(Failure::new)?;
    Ok(())
}

/// A text that is read line by line.
struct Text<'a> {
    name: &'a str,
    bytes: Box<dyn BufRead>,
    line: Vec<u8>,
}

impl Text<'_> {
    fn next(&mut self) -> Result<Option<String>, Failure> {
        self.line.clear();
        let read = self.bytes.read_until(b'\n', &mut self.line);
        let read = read.map_err(|error| Failure::new(format!("{}: {error}", self.name)))?;
        let line = String::from_utf8_lossy(&self.line);
        Ok((read > 0).then(|| line.trim_end_matches(['\n', '\r']).to_owned()))
    }

    /// The lines up to the first one that tells who printed the text.
    fn head(&mut self) -> Result<(Origin, Vec<String>), Failure> {
        let mut lines = Vec::new();
        while lines.len() < HEAD
            && let Some(line) = self.next()?
        {
            let origin = Origin::of(&line);
            lines.push(line);
            if let Some(origin) = origin {
                return Ok((origin, lines));
            }
        }
        // A mistake in the first line of a person's text is told as such.
        let first = lines.iter().find(|line| !line.split('#').next().unwrap_or_default().trim().is_empty());
        let mistake = first.and_then(|line| Origin::Carom.importer().line(line).err());
        let mistake =
            mistake.map_or_else(|| "it has no accesses".to_owned(), |error| error.cause.to_string());
        Err(Failure::new(format!(
            "{} is no text of accesses ({mistake}): docs/simulating.md describes those that can be read",
            self.name
        )))
    }

    fn parse(&self, lines: &mut Lines, line: &str) -> Result<Option<Record>, Failure> {
        lines.line(line).map_err(|error| Failure::new(format!("{}: {error}", self.name)))
    }
}
