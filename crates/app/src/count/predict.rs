//! `carom count predict`: what a size that did not run will take.

use std::path::PathBuf;

use carom_collect::Trial;
use carom_store::{Manifest, Recording};
use carom_study::count::{self, Quantity};
use clap::{Args, ValueHint};

use super::{
    CountArgs, CountLayout,
    args::SeriesArgs,
    series::{self, Parameter, parameter},
};
use crate::{
    failure::{End, Failure},
    load,
    options::{EventList, LimitArgs, OrAuto, OutputArgs, ProgramArgs, WindowArgs, events},
    output::{self, Layout},
};

const PREDICT_EXAMPLES: &str = "Examples:
  carom count predict --param n=1000..128000*2 --at n=1024000 -- ./sort {n}
  carom count predict --at n=4096000 --from sort.1.carom      the same runs, another size

It runs the program with each value, counts its instructions, accesses and so on, and times it. Then it tells in two steps what the
size of --at will take: how each count grows, and what one of each costs. A program of the name predict: carom count -- predict";

/// `carom count predict`.
#[derive(Debug, Args)]
#[command(after_help = PREDICT_EXAMPLES)]
pub struct PredictArgs {
    /// The size to predict, and values of other parameters that ran
    #[arg(long, required = true, value_name = "NAME=VALUE", value_delimiter = ',', value_parser = at)]
    pub at: Vec<(String, f64)>,
    /// Predict from these runs, which carom count --param has recorded
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with_all = ["param", "program", "runs", "output"])]
    pub from: Option<PathBuf>,
    /// Run the program with each value of a parameter, which stands as {NAME} in its arguments: NAME=1,2,4,8 or 1..8 or 0..100:20
    /// or 1..1024*2 (doubling); 3 times each unless -r says otherwise
    #[arg(long, value_name = "NAME=VALUES", value_parser = parameter, required_unless_present = "from")]
    pub param: Vec<Parameter>,
    /// Explain the time only by these, such as instructions,minor-faults
    #[arg(short, long, value_name = "EVENTS", value_parser = events)]
    pub events: Vec<EventList>,
    /// Go on where a run ends with a status that is not 0
    #[arg(long)]
    pub ignore_failure: bool,
    /// Where the profile of the runs goes [default: PROGRAM.N.carom]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Runs at each value [default: 3]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: Option<u32>,
    /// Where the report goes.
    #[command(flatten)]
    pub report: OutputArgs,
    /// The program and its arguments
    #[arg(required_unless_present = "from", num_args = 1.., value_names = ["PROGRAM", "ARGS"], trailing_var_arg = true,
          value_hint = ValueHint::CommandWithArguments)]
    pub program: Vec<String>,
}

/// `n=64000`
fn at(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or("a size is NAME=VALUE, such as n=64000")?;
    let value = value.parse::<f64>().ok().filter(|value| value.is_finite());
    Ok((name.to_owned(), value.ok_or_else(|| format!("{text:?}: the value is no number"))?))
}

/// Runs the program unless its runs are there, and predicts.
///
/// # Errors
/// It cannot be run, or its runs tell too little.
pub fn run(args: &PredictArgs) -> Result<End, Failure> {
    output::check(&args.report)?;
    if args.report.sarif.is_some() {
        return Err(Failure::new("counts have no places in the source: there is no --sarif of them"));
    }
    let (dir, recorded) = match &args.from {
        Some(dir) => (dir.clone(), false),
        None => {
            early(args)?;
            (series::record(&series_of(args))?, true)
        }
    };
    let runs: Result<Vec<Recording>, _> =
        load::expanded(&dir).iter().map(|run| Recording::open(run)).collect();
    let runs = runs.map_err(Failure::new)?;
    let manifests: Vec<&Manifest> = runs.iter().map(Recording::manifest).collect();
    let wanted: Vec<Quantity> = args.events.iter().flat_map(|list| &list.0).copied().collect();
    let predicted = count::predict(&manifests, &args.at, &wanted);
    if recorded && !args.report.quiet {
        eprintln!("Profile: {} (predict again: carom count predict --from)", dir.display());
    }
    let found = predicted.map_err(Failure::new)?;
    let mut report =
        series::of_first(&runs, |run, first| carom_view::count::prediction_report(run, first, &found));
    report.quality.warnings.extend(load::coverage_warning(&manifests));
    output::write(&report, &args.report)?;
    if !args.report.quiet {
        if recorded {
            eprint!("{}", output::text(&report, &args.report, &Layout::default(), &std::io::stderr()));
        } else {
            output::print(&output::text(&report, &args.report, &Layout::default(), &std::io::stdout()))?;
        }
    }
    Ok(End::Success)
}

/// Refuses, before anything runs, what the runs could not tell.
fn early(args: &PredictArgs) -> Result<(), Failure> {
    let values = |name: &str| args.param.iter().find(|each| each.name() == name).map(Parameter::different);
    for (name, _) in &args.at {
        let Some(values) = values(name) else {
            return Err(Failure::new(format!("--at {name}: there is no --param {name}")));
        };
        if args.at.len() == 1 && values < count::LEAST_SIZES {
            return Err(Failure::new(count::PredictError::FewSizes {
                parameter: name.clone(),
                sizes: values,
            }));
        }
    }
    Ok(())
}

/// The runs as `carom count --param` makes them: of all events, so that the profile tells of others later.
fn series_of(args: &PredictArgs) -> CountArgs {
    CountArgs {
        action: None,
        trial: OrAuto::<Trial>::default(),
        trial_period: 0,
        series: SeriesArgs {
            vs: None,
            param: args.param.clone(),
            events: Vec::new(),
            all: false,
            multiplex: false,
            simulate_caches: false,
            preset: None,
            list: None,
            pmu: None,
            limits: LimitArgs::default(),
            ignore_failure: args.ignore_failure,
        },
        layout: CountLayout { per_thread: false, by: None },
        report: args.report.clone(),
        program: ProgramArgs {
            output: args.output.clone(),
            runs: args.runs,
            no_symbols: true,
            window: WindowArgs::default(),
            program: args.program.clone(),
        },
    }
}
