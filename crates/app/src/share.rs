//! `carom share`: record, then report.

use carom_base_sys::probe::{BurstChoice, DeliveryKind, Facts, Probes, choose_burst_delivery};
use carom_collect::{ControlSettings, DeliveryChoice, Request, record};
use carom_store::Recording;

use crate::{
    cli::{DeliveryArg, ShareArgs},
    failure::{End, Failure},
    load, output,
};

/// Mean thread CPU time between samples by default. A timer sample and a walked step sample cost about 30 us on a
/// virtual machine, and setting and hitting watchpoints as much again; what they cost the program beyond that, in
/// cold caches and in threads that wait for the interrupted one, is of the same order (`docs/benchmarks.md`).
const DEFAULT_PERIOD_NS: u64 = 3_000_000;

/// Records the program and reports.
///
/// # Errors
/// Before the program runs: it cannot be profiled, or a report cannot be written where it should go.
pub fn run(args: &ShareArgs) -> Result<End, Failure> {
    output::check(&args.report)?;
    let choice = choose(args)?;
    let outcome = record(&Request {
        command: "share".into(),
        argv: args.program.clone(),
        dir: args.output.clone(),
        settings: settings(args, &choice),
        reason: choice.reason,
    })?;
    if let Some(trouble) = &outcome.trouble {
        eprintln!("carom: the profile is incomplete: {trouble}");
    }
    // The program has run: from here on its end is ours, whatever becomes of the report.
    if let Err(failure) = report(args, &outcome.dir) {
        eprintln!("carom: {failure}; the profile is in {}", outcome.dir.display());
    }
    Ok(End::Program(outcome.exit))
}

fn report(args: &ShareArgs, dir: &std::path::Path) -> Result<(), Failure> {
    if !output::wanted(&args.report) {
        return Ok(());
    }
    let recording = Recording::open(dir).map_err(Failure::new)?;
    let report = load::report(&[recording]);
    output::write(&report, &args.report)?;
    if !args.report.quiet {
        eprint!("{}", output::text(&report, &args.report, &std::io::stderr()));
        eprintln!("Profile: {} (print again: carom report)", dir.display());
    }
    Ok(())
}

/// How to sample on this machine: as asked for, or what works best, as `carom doctor` explains it.
fn choose(args: &ShareArgs) -> Result<BurstChoice, Failure> {
    let delivery = match args.delivery {
        DeliveryArg::Auto => {
            let probes = Probes::judge(&Facts::to_choose());
            return choose_burst_delivery(&probes)
                .map_err(|cause| Failure::new(format!("{cause}; `carom doctor` explains")));
        }
        DeliveryArg::Sigtrap => DeliveryKind::Sigtrap,
        DeliveryArg::Setsig => DeliveryKind::Setsig,
        DeliveryArg::PosixTimer => DeliveryKind::PosixTimer,
    };
    Ok(BurstChoice { delivery, watchpoints: u32::MAX, reason: "asked for".into() })
}

fn settings(args: &ShareArgs, choice: &BurstChoice) -> ControlSettings {
    const NS_PER_S: u64 = 1_000_000_000;
    let by_rate = args.rate.map(|rate| NS_PER_S / u64::from(rate));
    ControlSettings {
        period_ns: args.period.or(by_rate).unwrap_or(DEFAULT_PERIOD_NS),
        budget_ppm: (args.budget * 1e4).round() as u32,
        max_steps: args.max_steps,
        watchpoints: args.watchpoints.min(choice.watchpoints),
        board_slots: args.board,
        delivery: match choice.delivery {
            DeliveryKind::Sigtrap => DeliveryChoice::Sigtrap,
            DeliveryKind::Setsig => DeliveryChoice::Setsig,
            DeliveryKind::PosixTimer => DeliveryChoice::PosixTimer,
        },
        objects: args.objects.then_some(args.objects_from),
    }
}
