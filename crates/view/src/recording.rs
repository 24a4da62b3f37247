//! The part of a report that every recording command has.

use carom_base::{Sample, Skip};
use carom_store::{Delivery, EngineInfo, SampleMeans, TraceInfo, TraceMode, Watch};
use carom_study::{recording::Losses, share};

use crate::{
    RunInfo,
    model::{
        Engine, EngineDelivery, EngineWatch, NotCovered, PeriodInForce, PeriodUnit, Quality, Real,
        ReducedMode, ReducedTrace, Report, Skipped,
    },
    words::{count, percent},
};

/// The verdict where no process could be observed.
pub fn unprofiled(report: &Report) -> String {
    let reason = report.processes.iter().find_map(|each| each.coverage.reason.as_deref());
    match reason {
        Some(reason) => format!("Not profiled: {}.", reason.trim_end_matches('.')),
        None => "Not profiled: the agent did not start in the program.".into(),
    }
}

/// What observed the accesses.
pub fn engine(engine: &EngineInfo) -> Engine {
    let (loads, stores) = (engine.load_period, engine.store_period);
    let means = match (engine.sample_means, loads, stores) {
        (SampleMeans::Nothing, ..) => SampleMeans::Nothing,
        (_, 0, 0) => SampleMeans::ThreadTime,
        _ => SampleMeans::Accesses,
    };
    let (sample_means, period, period_unit) = match means {
        SampleMeans::ThreadTime => ("thread time".into(), engine.period_ns, PeriodUnit::Ns),
        SampleMeans::Accesses => (
            accesses(loads, stores),
            [loads, stores].into_iter().filter(|&period| period > 0).min().unwrap_or(0),
            PeriodUnit::Accesses,
        ),
        SampleMeans::Nothing => ("nothing".into(), 0, PeriodUnit::Accesses),
    };
    let period_of = |period: u64| Some(period).filter(|&period| period > 0 && means == SampleMeans::Accesses);
    Engine {
        name: engine.name.clone(),
        reason: engine.reason.clone(),
        sample_means,
        period,
        period_unit,
        load_period: period_of(loads),
        store_period: period_of(stores),
        delivery: match engine.delivery {
            Delivery::Sigtrap => EngineDelivery::Sigtrap,
            Delivery::Setsig => EngineDelivery::Setsig,
            Delivery::PosixTimer => EngineDelivery::PosixTimer,
            Delivery::Inline => EngineDelivery::Inline,
        },
        budget_percent: budget(engine).map(Real),
        watch: match engine.watch {
            Watch::Software => Some(EngineWatch::Software),
            Watch::Registers => Some(EngineWatch::Registers),
            // Older recordings do not say.
            Watch::Nothing => (engine.watchpoints > 0).then_some(EngineWatch::Registers),
        },
        watchpoints: engine.watchpoints,
        board_slots: engine.board_slots,
        trace: engine.trace.as_ref().map(reduced),
    }
}

fn reduced(trace: &TraceInfo) -> ReducedTrace {
    ReducedTrace {
        mode: match trace.mode {
            TraceMode::Lossy => ReducedMode::Lossy,
            TraceMode::Itanium => ReducedMode::LossyItanium,
            TraceMode::Targeted => ReducedMode::Targeted,
            TraceMode::Loads => ReducedMode::Loads,
        },
        latency: trace.latency,
        sample: trace.sample,
        stores: trace.stores.map(Real),
        instructions: trace.instructions,
    }
}

/// A sentence for the beginning of a verdict about a trace that keeps only some accesses; empty where it keeps all.
pub fn of_reduced(engine: &EngineInfo) -> String {
    let Some(TraceInfo { mode, latency, sample, stores, instructions }) = &engine.trace else {
        return String::new();
    };
    let share = match sample {
        1 => "all".to_owned(),
        sample => format!("one in {sample}"),
    };
    let kept = match (mode, stores) {
        (TraceMode::Lossy, _) => format!("{share} of the loads over {latency} cycles and of the stores"),
        (TraceMode::Itanium, _) => {
            format!(
                "{share} of the loads over {latency} cycles and of the stores that an Itanium 2 would track (model)"
            )
        }
        (TraceMode::Targeted, stores) => format!(
            "loads over {latency} cycles of {}, and {} of the stores",
            count(instructions.unwrap_or_default() as usize, "instruction"),
            percent(stores.unwrap_or(1.0)),
        ),
        (TraceMode::Loads, _) => format!("loads over {latency} cycles, and no stores"),
    };
    format!(
        "This trace is reduced: it keeps {kept}. It ranks source lines by coherence; its numbers are too low. "
    )
}

/// The budget of a recording that samples. Above 100 percent it is no limit; older recordings have 0.
fn budget(engine: &EngineInfo) -> Option<f64> {
    let limit = Some(engine.budget_percent).filter(|percent| *percent > 0.0 && *percent <= 100.0);
    limit.filter(|_| engine.sample_means != SampleMeans::Nothing)
}

/// What a sampled access stands for, where the period followed the program.
pub fn range_of_accesses(periods: &[PeriodInForce]) -> Option<String> {
    let (first, last) = (periods.first()?, periods.last()?);
    (first.period < last.period).then(|| format!("{} to {} accesses", first.period, last.period))
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

/// The losses of a run, without any sample.
pub fn quality(run: &RunInfo, losses: &Losses) -> Quality {
    let Losses { counters, unprofiled_threads } = losses;
    Quality {
        samples: 0,
        last_instruction: 0,
        step: 0,
        events: 0,
        dropped: counters.dropped_records,
        unattributed: 0,
        periods: Vec::new(),
        skipped: Vec::new(),
        budget_skipped: counters.budget_skipped.saturating_add(counters.uses_skipped),
        collisions: counters.collisions,
        watchpoints_armed: counters.armed,
        watchpoint_traps: counters.traps.saturating_add(counters.uses_touched),
        unprofiled_threads: *unprofiled_threads,
        not_covered: not_covered(run),
        warnings: run.warnings.clone(),
    }
}

/// The same with the samples of a study of sharing.
pub fn sampled(run: &RunInfo, quality: &share::Quality) -> Quality {
    let shortest = engine(&run.engine).period;
    let lost = |&&(reason, _): &&(Skip, u64)| reason != Skip::NotAnAccess;
    Quality {
        samples: quality.last_instruction + quality.step,
        last_instruction: quality.last_instruction,
        step: quality.step,
        events: quality.events,
        unattributed: quality.skipped.iter().filter(lost).map(|(_, samples)| samples).sum(),
        periods: quality
            .doublings
            .iter()
            .map(|(doublings, samples)| PeriodInForce {
                period: shortest.saturating_mul(1 << doublings.min(&Sample::MOST_DOUBLINGS)),
                samples: *samples,
            })
            .collect(),
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
