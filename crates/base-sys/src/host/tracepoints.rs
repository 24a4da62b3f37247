//! Tracepoints of the kernel: what they are called, by tracefs, and how often a program passes them, by perf events.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{ErrorKind, Read},
};

use perf_event_open_sys::bindings as perf;

use super::{kernel_counters, machine::Root};
use crate::error::SysError;

/// Where tracefs is mounted; the second is where older kernels have it.
const PLACES: [&str; 2] = ["sys/kernel/tracing", "sys/kernel/debug/tracing"];

/// Why tracepoints are not known, or not counted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TracepointError {
    /// There are none without tracefs.
    #[error(
        "tracepoints have no names here, since tracefs is not mounted: as root, `mount -t tracefs tracefs /sys/kernel/tracing`"
    )]
    NotMounted,
    /// Only root may read tracefs, unless it says otherwise.
    #[error(
        "tracefs may not be read: run carom as root, or let a group of yours read it: as root, `mount -o remount,mode=750,gid=GROUP /sys/kernel/tracing`"
    )]
    Unreadable,
    /// There is no such tracepoint.
    #[error("this kernel has no tracepoint {0:?}; `carom count --list PATTERN` searches those that it has")]
    Unknown(String),
    /// The kernel does not let carom count it.
    #[error(
        "{name} is not counted, since {source}: run carom as root, or allow it: as root, `sysctl kernel.perf_event_paranoid=1`"
    )]
    Refused {
        /// The tracepoint.
        name: String,
        /// How the kernel refused.
        source: SysError,
    },
}

/// A file of tracefs.
fn read(root: &Root, file: &str) -> Result<String, TracepointError> {
    let mut denied = false;
    for place in PLACES {
        match fs::read_to_string(root.path(place).join(file)) {
            Ok(text) => return Ok(text),
            Err(error) => denied |= error.kind() == ErrorKind::PermissionDenied,
        }
    }
    Err(if denied { TracepointError::Unreadable } else { TracepointError::NotMounted })
}

/// All, as `subsystem:event`, sorted.
///
/// # Errors
/// tracefs is not mounted, or may not be read.
pub fn tracepoints(root: &Root) -> Result<Vec<String>, TracepointError> {
    let mut names: Vec<String> = read(root, "available_events")?.lines().map(str::to_owned).collect();
    names.sort();
    Ok(names)
}

/// The number by which perf events know a tracepoint.
fn id(root: &Root, name: &str) -> Result<u64, TracepointError> {
    let unknown = || TracepointError::Unknown(name.to_owned());
    // So that no name leads elsewhere in the tree.
    let known = tracepoints(root)?;
    known.binary_search_by(|known| known.as_str().cmp(name)).map_err(|_| unknown())?;
    let (subsystem, event) = name.split_once(':').ok_or_else(unknown)?;
    let id = read(root, &format!("events/{subsystem}/{event}/id"))?;
    id.trim().parse().map_err(|_| unknown())
}

/// A counter of the calling thread's next child.
pub(super) fn open(name: &str) -> Result<File, TracepointError> {
    let id = id(&Root::system(), name)?;
    let refused = |source| TracepointError::Refused { name: name.to_owned(), source };
    kernel_counters::open(perf::PERF_TYPE_TRACEPOINT, id).map(File::from).map_err(refused)
}

/// Counters that the next program which the calling thread starts inherits, as [`kernel_counters::KernelCounters`] are.
#[derive(Debug, Default)]
pub struct Tracepoints(Vec<(String, File)>);

impl Tracepoints {
    /// Of these names.
    ///
    /// # Errors
    /// One of them cannot be counted.
    pub fn for_next_child<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, TracepointError> {
        names.into_iter().map(|name| Ok((name.to_owned(), open(name)?))).collect::<Result<_, _>>().map(Self)
    }

    /// How often the children that were started since have passed each.
    pub fn read(self) -> BTreeMap<String, u64> {
        let count = |(name, mut file): (String, File)| {
            let mut count = [0; 8];
            file.read_exact(&mut count).ok()?;
            Some((name, u64::from_ne_bytes(count)))
        };
        self.0.into_iter().filter_map(count).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::child;

    #[test]
    fn names_and_numbers_are_those_of_tracefs() {
        let place = std::env::temp_dir().join(format!("carom-tracefs-{}", std::process::id()));
        let root = Root::at(&place);
        assert_eq!(tracepoints(&root), Err(TracepointError::NotMounted));
        // Where older kernels have it.
        let tracing = place.join(PLACES[1]);
        fs::create_dir_all(tracing.join("events/sched/sched_switch")).unwrap();
        fs::write(tracing.join("events/sched/sched_switch/id"), "372\n").unwrap();
        fs::write(tracing.join("available_events"), "sched:sched_switch\nblock:block_split\n").unwrap();
        assert_eq!(tracepoints(&root).unwrap(), ["block:block_split", "sched:sched_switch"]);
        assert_eq!(id(&root, "sched:sched_switch"), Ok(372));
        let unknown = |name: &str| id(&root, name) == Err(TracepointError::Unknown(name.into()));
        assert!(unknown("sched:sched") && unknown("sched") && unknown("sched:../sched/sched_switch"));
        fs::remove_dir_all(&place).unwrap();
    }

    #[test]
    fn a_child_passes_them_with_its_own_children() {
        let names = ["sched:sched_process_exec", "sched:sched_process_fork"];
        let counters = match Tracepoints::for_next_child(names) {
            Ok(counters) => counters,
            Err(error) => {
                println!("skipped: tracefs: {error}");
                return;
            }
        };
        // The shell is executed, and makes three children, which each execute a program.
        let program = "/bin/true; /bin/true; /bin/true; exit";
        child::wait(Command::new("sh").args(["-c", program]).spawn().unwrap()).unwrap();
        let found = counters.read();
        assert_eq!((found[names[0]], found[names[1]]), (4, 3));
    }
}
