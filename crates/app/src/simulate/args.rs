//! Options.

use std::{
    path::{Path, PathBuf},
    thread,
};

use carom_store::Spread;
use carom_study::simulate::{
    Change, INCLUDED, Machine, MachineChoice, Order, Placement, SimulateStudy, included,
};
use clap::{Args, ValueEnum};

use crate::options::{ObjectArgs, OutputArgs, ProgramArgs};
use crate::progress;

const EXAMPLES: &str = "Examples:
  carom simulate ./app                         record every access, then simulate this machine
  carom simulate --machine amd-moesi app.1.carom
  carom simulate --machine server.toml --cores 16 app.1.carom
  carom simulate --what-if pad:stats+8:64 app.1.carom
  carom simulate --compare full.carom reduced.carom
  carom simulate accesses.txt                  written by hand, or by Valgrind's lackey or drcachesim's view
  carom trace ./app                            record only

A text is a file that is not executable; - reads standard input.";

/// `carom simulate`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SimulateArgs {
    /// Which heap objects are named.
    #[command(flatten)]
    pub objects: ObjectArgs,
    /// Rows to print of each table
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Tell how far a reduced trace can be trusted, by this full one of the same program: both are profiles or texts
    #[arg(long, value_name = "FULL")]
    pub compare: Option<PathBuf>,
    /// Warn where a profile of carom share says that the program has too little false sharing for a reduced trace to tell it from
    /// true sharing
    #[arg(long, value_name = "PROFILE", conflicts_with = "compare")]
    pub gate: Option<PathBuf>,
    /// What is simulated.
    #[command(flatten)]
    pub layout: SimulateLayout,
    /// Where the report goes.
    #[command(flatten)]
    pub report: OutputArgs,
    /// What to run; or, instead, a profile or a text.
    #[command(flatten)]
    pub program: ProgramArgs,
}

/// The machine.
#[derive(Debug, Args)]
pub struct SimulateLayout {
    /// Machine to simulate: host, a machine file, or one of those included: two-cores, intel-inclusive, intel-mesh, amd-moesi,
    /// two-sockets, itanium2-smp
    #[arg(long, value_name = "NAME|FILE", default_value = "host", value_parser = machine)]
    pub machine: MachineChoice,
    /// Cores of each socket [default: those of the machine, or one for each thread where there are more]
    #[arg(long, value_name = "N", value_parser = cores)]
    pub cores: Option<usize>,
    /// Order of the accesses of different threads: as recorded; or as if all threads ran at the same time and speed, without waiting
    /// (even), or waiting for each other as they did (synchronised)
    #[arg(long, value_enum, default_value_t = OrderChoice::Recorded, value_name = "HOW")]
    pub order: OrderChoice,
    /// Cores on which threads run: compact, scatter, or a list such as 0,2,1 in the order of the threads
    #[arg(long, value_name = "HOW", default_value = "compact", value_parser = placement)]
    pub place: Placement,
    /// Bytes that are told apart in deciding between true and false sharing, such as 4, as in hardware that was proposed for
    /// this [default: 1, or 2 where lines have 128]
    #[arg(long, value_name = "BYTES", value_parser = mask, hide_short_help = true)]
    pub mask_bytes: Option<u32>,
    /// Tell conflict from capacity misses: takes about three times as long
    #[arg(long)]
    pub conflicts: bool,
    /// Simulate again with another layout: pad:OBJECT+OFFSET:64 starts what is there on a line of its own, align:OBJECT:64 every
    /// element of an array. OBJECT is called as in the report, or an address. May be given several times
    #[arg(long, value_name = "CHANGE")]
    pub what_if: Vec<Change>,
}

/// The order of accesses of different threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OrderChoice {
    /// As recorded
    Recorded,
    /// As if all threads ran at the same time and speed, whatever waits for what
    Even,
    /// As if all threads ran at the same time and speed, and waited for each other as they did
    Synchronised,
}

impl SimulateLayout {
    /// The study that was asked for.
    pub fn study(&self) -> SimulateStudy {
        SimulateStudy {
            machine: self.machine.clone(),
            cores: self.cores,
            order: match self.order {
                OrderChoice::Recorded => Order::Recorded,
                OrderChoice::Even => Order::Even,
                OrderChoice::Synchronised => Order::Synchronised,
            },
            placement: self.place.clone(),
            mask_bytes: self.mask_bytes,
            conflicts: self.conflicts,
            changes: self.what_if.clone(),
            against: None,
            spread: Spread::ALL,
            threads: thread::available_parallelism().ok(),
            progress: Some(progress::simulated),
        }
    }
}

/// A machine by its name.
pub fn machine(name: &str) -> Result<MachineChoice, String> {
    if name == "host" {
        return Ok(MachineChoice::Recorded);
    }
    let found = match included(name) {
        Some(found) => found,
        None => match std::fs::read_to_string(name) {
            Ok(text) => Machine::parse(&text),
            Err(_) if !name.contains(['/', '.']) => {
                let names: Vec<&str> = INCLUDED.iter().map(|(name, _)| *name).collect();
                return Err(format!("no such machine, nor a file: host, {}, or a file", names.join(", ")));
            }
            Err(error) => return Err(error.to_string()),
        },
    };
    let short = Path::new(name).file_stem().map_or(name.into(), |stem| stem.to_string_lossy().into_owned());
    found.map(|machine| MachineChoice::Given(short, machine)).map_err(|error| error.to_string())
}

fn cores(text: &str) -> Result<usize, String> {
    let cores = text.parse().map_err(|_| "not a number".to_owned())?;
    if (1..=Machine::MOST_CORES).contains(&cores) {
        Ok(cores)
    } else {
        Err(format!("must be 1 to {}", Machine::MOST_CORES))
    }
}

fn placement(text: &str) -> Result<Placement, String> {
    match text {
        "compact" => Ok(Placement::Compact),
        "scatter" => Ok(Placement::Scatter),
        list => {
            let cores: Result<Vec<usize>, _> = list.split(',').map(str::parse).collect();
            cores
                .map(Placement::Listed)
                .map_err(|_| "compact, scatter, or numbers of cores, such as 0,2,1".into())
        }
    }
}

fn mask(text: &str) -> Result<u32, String> {
    match text {
        "1" => Ok(1),
        "2" => Ok(2),
        "4" => Ok(4),
        "8" => Ok(8),
        _ => Err("1, 2, 4 or 8".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::parsed;

    fn layout(options: &[&str]) -> SimulateLayout {
        #[derive(Args)]
        struct All {
            #[command(flatten)]
            layout: SimulateLayout,
            program: Vec<String>,
        }
        let all: All = parsed(options);
        assert_eq!(all.program, ["app"]);
        all.layout
    }

    #[test]
    fn by_default_the_recorded_machine_is_simulated() {
        let plain = layout(&[]);
        assert_eq!(
            (plain.machine, plain.cores, plain.place),
            (MachineChoice::Recorded, None, Placement::Compact)
        );
        let other = layout(&["--machine", "amd-moesi", "--cores", "4", "--place", "3,1"]);
        assert!(matches!(other.machine, MachineChoice::Given(name, _) if name == "amd-moesi"));
        assert_eq!((other.cores, other.place), (Some(4), Placement::Listed(vec![3, 1])));
    }

    #[test]
    fn what_is_no_machine_is_refused_with_the_reason() {
        assert!(machine("pdp-11").unwrap_err().contains("two-cores"));
        assert!(machine("./none.toml").unwrap_err().contains("No such file"));
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("small.toml");
        std::fs::write(&file, "cores_per_socket = 2\nl1 = {size = 1000, ways = 2}").unwrap();
        let refused = machine(&file.to_string_lossy()).unwrap_err();
        assert!(refused.contains("no whole number of sets"), "{refused}");
        std::fs::write(&file, "cores_per_socket = 2\nl1 = {size = 1024, ways = 2}").unwrap();
        let small = machine(&file.to_string_lossy()).unwrap();
        assert!(matches!(small, MachineChoice::Given(name, _) if name == "small"));
        assert!(
            cores("0").is_err() && cores("5000").is_err() && placement("1,x").is_err() && mask("3").is_err()
        );
    }
}
