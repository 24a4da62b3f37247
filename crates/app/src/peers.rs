//! Files of other tools: theirs to compare with, ours as they would write them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use carom_study::reuse::{
    Bin,
    format::{
        loca::{self, Loca},
        reuse_tracker, similarity,
    },
};
use carom_view::model::{
    Report, Reuse, ReuseBin, ReuseCurve, ReuseDistance, ReuseKinds, ReuseScope, ReuseUnit, ReusedBy,
};

use crate::failure::Failure;

/// Bytes of a line, which is also the place of Loca's first columns.
const LINE: u32 = 64;

/// Files of other tools to read and to write.
#[derive(Debug, Default)]
pub struct Peers {
    write: Option<PathBuf>,
    compare: Vec<(PathBuf, Theirs)>,
}

/// What another tool found.
#[derive(Debug)]
enum Theirs {
    ReuseTracker(Vec<Bin>),
    Loca(Loca),
}

impl Peers {
    /// Reads the files to `compare` with; ours go into the folder `write`.
    ///
    /// # Errors
    /// A file cannot be read, or its format is not known.
    pub fn new(write: Option<&Path>, compare: &[PathBuf]) -> Result<Self, Failure> {
        let read = |path: &PathBuf| {
            let at = |problem: String| Failure::new(format!("{}: {problem}", path.display()));
            let text = fs::read_to_string(path).map_err(|error| at(error.to_string()))?;
            let theirs = if path.extension().is_some_and(|extension| extension == "dat") {
                loca::read(&text).map(Theirs::Loca).map_err(|error| at(error.to_string()))?
            } else {
                reuse_tracker::read(&text).map(Theirs::ReuseTracker).map_err(|error| at(error.to_string()))?
            };
            Ok((path.clone(), theirs))
        };
        let compare = compare.iter().map(read).collect::<Result<_, Failure>>()?;
        Ok(Self { write: write.map(Path::to_owned), compare })
    }

    /// These and those.
    pub fn and(mut self, those: Self) -> Self {
        self.compare.extend(those.compare);
        Self { write: self.write.or(those.write), compare: self.compare }
    }

    /// Whether files are to be written.
    pub fn wanted(&self) -> bool {
        self.write.is_some()
    }

    /// Writes our files, and returns a line for each file to compare with: its similarity to ours.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn serve(&self, report: &Report) -> Result<String, Failure> {
        let Some(reuse) = &report.reuse else { return Ok(String::new()) };
        if let Some(dir) = &self.write {
            write(reuse, report.program.wall_s.0, dir)?;
        }
        let line = |(path, theirs): &(PathBuf, Theirs)| {
            let found = match theirs {
                Theirs::ReuseTracker(bins) => histograms(reuse, bins),
                Theirs::Loca(loca) => miss_ratios(reuse, loca),
            };
            let found = found.unwrap_or_else(|| "this report has nothing to compare".into());
            format!("{}: {found}\n", path.display())
        };
        Ok(self.compare.iter().map(line).collect())
    }
}

fn write(reuse: &Reuse, seconds: f64, dir: &Path) -> Result<(), Failure> {
    let at = |path: &Path, error: std::io::Error| Failure::new(format!("{}: {error}", path.display()));
    fs::create_dir_all(dir).map_err(|error| at(dir, error))?;
    let times = reuse.curves.iter().filter(|curve| {
        (curve.distance, curve.unit) == (ReuseDistance::Time, ReuseUnit::Accesses)
            && !curve.histogram.is_empty()
    });
    for curve in times {
        let save = |extension: &str, text: String| {
            let path = dir.join(format!("{}.{extension}", name(curve)));
            fs::write(&path, text).map_err(|error| at(&path, error))
        };
        save("bin", reuse_tracker::write(&bins(curve)))?;
        if curve.kind == ReuseKinds::Any
            && curve.granularity_bytes == LINE
            && curve.reused_by != ReusedBy::OtherThread
        {
            save("dat", loca::write(&footprints(curve, seconds)))?;
        }
    }
    Ok(())
}

/// `all-temporal`, `thread-3-any`, `shared-0-spatial-by-others`, `all-any-4096`.
fn name(curve: &ReuseCurve) -> String {
    let whose = match curve.scope {
        ReuseScope::All => "all".to_owned(),
        ReuseScope::Thread => format!("thread-{}", curve.thread.unwrap_or_default()),
        ReuseScope::Shared => format!("shared-{}", curve.domain.unwrap_or_default()),
    };
    let kind = match curve.kind {
        ReuseKinds::Temporal => "temporal",
        ReuseKinds::Spatial => "spatial",
        ReuseKinds::Any => "any",
    };
    let by = if curve.reused_by == ReusedBy::OtherThread { "-by-others" } else { "" };
    let places = match curve.granularity_bytes {
        1 | LINE => String::new(),
        bytes => format!("-{bytes}"),
    };
    format!("{whose}-{kind}{by}{places}")
}

fn bins(curve: &ReuseCurve) -> Vec<Bin> {
    let bin = |bin: &ReuseBin| Bin {
        low: bin.low,
        high: bin.high.unwrap_or(u64::MAX),
        fraction: bin.fraction.0,
        by_kind: bin.by_kind.map(|part| part.0),
    };
    curve.histogram.iter().map(bin).collect()
}

fn footprints(curve: &ReuseCurve, seconds: f64) -> Loca {
    let times = curve.histogram.iter().map(|bin| {
        let last = bin.high.map_or(bin.low, |high| high.saturating_sub(1));
        (bin.low.midpoint(last), bin.fraction.0 * curve.reused.0)
    });
    // As many first accesses as places.
    let lines = (curve.once.0 * curve.accesses.0).round() as u64;
    loca::from_times(times, curve.accesses.0 as u64, lines, seconds.round() as u64)
}

/// ReuseTracker's temporal reuses within threads: of the very bytes, where that was followed, else of lines.
fn histograms(reuse: &Reuse, theirs: &[Bin]) -> Option<String> {
    let of = |kind| {
        reuse.curves.iter().find(|curve| {
            (curve.scope, curve.kind, curve.distance) == (ReuseScope::All, kind, ReuseDistance::Time)
                && curve.unit == ReuseUnit::Accesses
                && !curve.histogram.is_empty()
        })
    };
    let temporal = of(ReuseKinds::Temporal);
    let what = if temporal.is_some() { "of the same bytes" } else { "of lines" };
    let alike = similarity(theirs, &bins(temporal.or_else(|| of(ReuseKinds::Any))?))?;
    Some(format!("S = {alike:.3} over {} bins of reuses {what} by the same thread", theirs.len()))
}

/// Loca's miss ratios at the sizes of its footprints.
fn miss_ratios(reuse: &Reuse, theirs: &Loca) -> Option<String> {
    let curve = reuse.curves.iter().find(|curve| {
        curve.scope == ReuseScope::All && curve.granularity_bytes == LINE && !curve.miss_ratio.is_empty()
    })?;
    let apart = theirs.windows.iter().filter_map(|window| {
        let [lines, _] = window.places;
        let ours = curve.miss_ratio.iter().take_while(|point| point.bytes as f64 <= lines.bytes).last()?;
        Some((ours.ratio.0 - lines.miss_ratio).abs()).filter(|apart| apart.is_finite())
    });
    let apart: Vec<f64> = apart.collect();
    let mean = apart.iter().sum::<f64>() / apart.len() as f64;
    (!apart.is_empty())
        .then(|| format!("miss ratios {mean:.4} apart on average, over {} cache sizes", apart.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(file: &Path) -> Result<Peers, Failure> {
        Peers::new(None, &[file.to_owned()])
    }

    #[test]
    fn files_are_known_by_their_extension_and_refused_before_anything_runs() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let good = [file("a.bin", "0 10 1.0\n"), file("b.dat", "N:1 M1:1 M2:1 total_time:0\n")];
        let found: Vec<_> = good.iter().map(|path| compared(path).unwrap().compare.remove(0).1).collect();
        assert!(matches!(found[..], [Theirs::ReuseTracker(_), Theirs::Loca(_)]));
        for bad in [file("c.bin", "no bin\n"), file("d.dat", "0 10 1.0\n"), dir.path().join("missing.bin")] {
            let refused = compared(&bad).unwrap_err().to_string();
            assert!(refused.starts_with(&bad.display().to_string()), "{refused}");
        }
    }
}
