//! The part of a report that every recording command has.

use carom_base::Skip;
use carom_study::{recording::Losses, share};

use crate::{
    Coverage, Delivery, ExitStatus, RunInfo, SampleMeans, Watch,
    model::{
        Carom, Command, Engine, EngineDelivery, EngineWatch, Exit, Machine, NotCovered, PeriodUnit, Process,
        ProcessCoverage, Program, Quality, Real, Report, SCHEMA_VERSION, Skipped, Thread, Warning,
    },
};

/// A report without a verdict and without an answer yet.
pub fn report(command: Command, run: &RunInfo, quality: Quality) -> Report {
    Report {
        carom: Carom { version: env!("CARGO_PKG_VERSION").into(), schema: SCHEMA_VERSION },
        command,
        verdict: String::new(),
        program: Program {
            argv: run.argv.clone(),
            runs: run.runs,
            exit: exit(run.exit),
            wall_s: Real(run.wall_s),
            complete: run.complete,
            cut_short: run.cut_short.clone(),
        },
        processes: processes(run),
        threads: threads(run),
        engine: engine(run),
        machine: Machine {
            cpu_model: run.machine.cpu_model.clone(),
            logical_cpus: run.machine.logical_cpus,
            kernel: run.machine.kernel.clone(),
            hypervisor: run.machine.hypervisor.clone(),
        },
        quality,
        share: None,
        count: None,
        reuse: None,
    }
}

/// The verdict where no process could be observed.
pub fn unprofiled(report: &Report) -> String {
    let reason = report.processes.iter().find_map(|each| each.coverage.reason.as_deref());
    match reason {
        Some(reason) => format!("Not profiled: {}.", reason.trim_end_matches('.')),
        None => "Not profiled: the agent did not start in the program.".into(),
    }
}

fn exit(status: ExitStatus) -> Option<Exit> {
    match status {
        ExitStatus::Code(code) => Some(Exit::Code(code)),
        ExitStatus::Signal(signal) => Some(Exit::Signal(signal)),
        ExitStatus::Unknown => None,
    }
}

fn processes(run: &RunInfo) -> Vec<Process> {
    let coverage = |coverage: &Coverage| match coverage {
        Coverage::Profiled => ProcessCoverage { profiled: true, reason: None },
        Coverage::Unprofiled(reason) => ProcessCoverage { profiled: false, reason: Some(reason.clone()) },
    };
    run.processes
        .iter()
        .map(|process| Process {
            id: process.id.0,
            pid: process.pid,
            parent: process.parent.map(|parent| parent.0),
            host: process.host.clone(),
            argv: process.argv.clone(),
            exit: exit(process.exit),
            coverage: coverage(&process.coverage),
        })
        .collect()
}

fn threads(run: &RunInfo) -> Vec<Thread> {
    run.threads
        .iter()
        .map(|thread| Thread {
            id: thread.id.0,
            process: thread.process.0,
            tid: thread.tid,
            name: thread.name.clone(),
            cpu_ns: thread.cpu_ns,
        })
        .collect()
}

fn engine(run: &RunInfo) -> Engine {
    let engine = &run.engine;
    let (sample_means, period, period_unit) = match engine.sample_means {
        SampleMeans::ThreadTime => ("thread time".into(), engine.period_ns, PeriodUnit::Ns),
        SampleMeans::Accesses { loads, stores } => (
            accesses(loads, stores),
            [loads, stores].into_iter().filter(|&period| period > 0).min().unwrap_or(0),
            PeriodUnit::Accesses,
        ),
        SampleMeans::Nothing => ("nothing".into(), 0, PeriodUnit::Accesses),
    };
    let periods = match engine.sample_means {
        SampleMeans::Accesses { loads, stores } => [loads, stores],
        SampleMeans::ThreadTime | SampleMeans::Nothing => [0, 0],
    };
    let [load_period, store_period] = periods.map(|period| Some(period).filter(|&period| period > 0));
    Engine {
        name: engine.name.clone(),
        reason: engine.reason.clone(),
        sample_means,
        period,
        period_unit,
        load_period,
        store_period,
        delivery: match engine.delivery {
            Delivery::Sigtrap => EngineDelivery::Sigtrap,
            Delivery::Setsig => EngineDelivery::Setsig,
            Delivery::PosixTimer => EngineDelivery::PosixTimer,
            Delivery::Inline => EngineDelivery::Inline,
            Delivery::Replay => EngineDelivery::Replay,
        },
        budget_percent: engine.budget_percent.map(Real),
        watch: engine.watch.map(|watch| match watch {
            Watch::Registers => EngineWatch::Registers,
            Watch::Software => EngineWatch::Software,
        }),
        watchpoints: engine.watchpoints,
        board_slots: engine.board_slots,
    }
}

/// What a sampled access stands for, where loads and stores may have periods of their own.
fn accesses(loads: u64, stores: u64) -> String {
    match (loads, stores) {
        (loads, stores) if loads == stores => format!("{loads} accesses"),
        (loads, 0) => format!("{loads} loads"),
        (0, stores) => format!("{stores} stores"),
        (loads, stores) => format!("{loads} loads or {stores} stores"),
    }
}

/// What an engine never sees. Both are also defined away in what an access is.
fn not_covered(run: &RunInfo) -> Vec<NotCovered> {
    let before_main = if run.engine.delivery == Delivery::Inline {
        "code before main"
    } else {
        "code before main, but for initialisers that run after the agent was loaded"
    };
    [("before-main", before_main), ("kernel", "the kernel's accesses to the program's memory")]
        .map(|(code, text)| NotCovered { code: code.into(), text: text.into() })
        .into()
}

/// What was lost, and nothing seen yet.
pub fn quality(run: &RunInfo, losses: &Losses) -> Quality {
    let Losses { counters, unprofiled_threads } = losses;
    Quality {
        samples: 0,
        last_instruction: 0,
        step: 0,
        events: 0,
        dropped: counters.dropped_records,
        unattributed: 0,
        skipped: Vec::new(),
        budget_skipped: counters.budget_skipped,
        collisions: counters.collisions,
        watchpoints_armed: counters.armed,
        watchpoint_traps: counters.traps,
        unprofiled_threads: *unprofiled_threads,
        not_covered: not_covered(run),
        warnings: run
            .warnings
            .iter()
            .map(|warning| Warning { code: warning.code.clone(), text: warning.text.clone() })
            .collect(),
    }
}

/// The same with the samples of a study of sharing.
pub fn sampled(run: &RunInfo, quality: &share::Quality) -> Quality {
    let lost = |&&(reason, _): &&(Skip, u64)| reason != Skip::NotAnAccess;
    Quality {
        samples: quality.last_instruction + quality.step,
        last_instruction: quality.last_instruction,
        step: quality.step,
        events: quality.events,
        unattributed: quality.skipped.iter().filter(lost).map(|(_, samples)| samples).sum(),
        skipped: quality
            .skipped
            .iter()
            .map(|&(reason, samples)| Skipped {
                reason: reason_code(reason).into(),
                text: reason.describe().into(),
                samples,
            })
            .collect(),
        ..self::quality(run, &quality.losses)
    }
}

const fn reason_code(reason: Skip) -> &'static str {
    match reason {
        Skip::NotAnAccess => "not-an-access",
        Skip::UnknownPredecessor => "unknown-predecessor",
        Skip::NotFallThrough => "not-fall-through",
        Skip::AddressLost => "address-lost",
        Skip::VectorAddress => "vector-address",
        Skip::Undecodable => "undecodable",
        Skip::Unsteppable => "unsteppable",
        Skip::Interrupted => "interrupted",
        Skip::Masked => "masked",
        Skip::HiddenState => "hidden-state",
    }
}
