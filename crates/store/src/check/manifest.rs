use std::collections::HashSet;

use carom_base::Nanos;

use crate::manifest::{MANIFEST_NAME, Manifest, ProcessInfo, ThreadCounts, ThreadInfo};
use crate::rules::{Findings, Rule, Run};

pub(super) fn check(manifest: &Manifest, run: &Run<'_>, found: &mut Findings) {
    let mut broken = |rule| found.add(MANIFEST_NAME, None, rule);
    for (name, value) in [
        ("started_unix_s", manifest.started_unix_s),
        ("wall_s", manifest.wall_s),
        ("budget_percent", manifest.engine.budget_percent),
    ] {
        if !value.is_finite() || value < 0.0 {
            broken(Rule::BadNumber(name));
        }
    }
    if manifest.complete && manifest.cut_short.is_some() {
        broken(Rule::CompleteYetCutShort);
    }
    let mut cpus = HashSet::new();
    for info in &manifest.machine.cpus {
        if !cpus.insert(info.cpu) {
            broken(Rule::CpuTwice(info.cpu));
        }
    }
    for (index, process) in manifest.processes.iter().enumerate() {
        check_process(index, process, run, &mut broken);
    }
    for (index, thread) in manifest.threads.iter().enumerate() {
        check_thread(index, thread, run, &mut broken);
    }
}

fn check_process(index: usize, process: &ProcessInfo, run: &Run<'_>, broken: &mut impl FnMut(Rule)) {
    if usize::try_from(process.id.0) != Ok(index) {
        broken(Rule::IdIsNotIndex("process", index));
    }
    if let Some(parent) = process.parent.filter(|parent| *parent == process.id || !run.knows_process(*parent))
    {
        broken(Rule::BadParent(parent));
    }
    for module in &process.modules {
        if module.low >= module.high {
            broken(Rule::EmptyRange(module.path.clone()));
        }
        if module
            .build_id
            .as_ref()
            .is_some_and(|id| !id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
        {
            broken(Rule::BadBuildId(module.path.clone()));
        }
        check_life(&module.path, module.loaded, module.unloaded, run, broken);
    }
    for mapping in &process.mappings {
        if mapping.low >= mapping.high {
            broken(Rule::EmptyRange(mapping.path.clone()));
        }
    }
    for mapping in &process.shared {
        let end = mapping.offset.checked_add(mapping.high.saturating_sub(mapping.low));
        if mapping.low >= mapping.high || end.is_none() {
            broken(Rule::EmptyRange(format!("segment {}", mapping.segment.0)));
        }
    }
}

fn check_thread(index: usize, thread: &ThreadInfo, run: &Run<'_>, broken: &mut impl FnMut(Rule)) {
    let name = || format!("thread {index}");
    if usize::try_from(thread.id.0) != Ok(index) {
        broken(Rule::IdIsNotIndex("thread", index));
    }
    if !run.knows_process(thread.process) {
        broken(Rule::UnknownProcess(thread.process));
    }
    // A stack that is not known is 0 to 0.
    if thread.stack_low > thread.stack_high {
        broken(Rule::EmptyRange(name()));
    }
    // Those of a thread that nobody saw end may have been read while they were being written.
    if let Some(counts) = thread.counts.as_ref().filter(|_| thread.ended.is_some()) {
        check_counts(index, counts, broken);
    }
    check_life(&name(), thread.started, thread.ended, run, broken);
}

/// Events that are an instruction each cannot outnumber the instructions. Accesses can: a repeated string instruction has one
/// per iteration.
fn check_counts(index: usize, counts: &ThreadCounts, broken: &mut impl FnMut(Rule)) {
    let parts = [
        ("branches", counts.branches, "instructions", counts.instructions),
        ("branches taken", counts.branches_taken, "branches", counts.branches),
        ("calls", counts.calls, "instructions", counts.instructions),
        ("returns", counts.returns, "instructions", counts.instructions),
        ("atomics", counts.atomics, "instructions", counts.instructions),
        ("system calls", counts.system_calls, "instructions", counts.instructions),
        ("loads", counts.loads, "bytes loaded", counts.loaded_bytes),
        ("stores", counts.stores, "bytes stored", counts.stored_bytes),
    ];
    for (part, number, whole, limit) in parts {
        if number.zip(limit).is_some_and(|(number, limit)| number > limit) {
            broken(Rule::MoreThanWhole { thread: index, part, whole });
        }
    }
}

fn check_life(
    name: &str,
    started: Nanos,
    ended: Option<Nanos>,
    run: &Run<'_>,
    broken: &mut impl FnMut(Rule),
) {
    for time in [Some(started), ended].into_iter().flatten().filter(|time| !run.covers(*time)) {
        broken(Rule::OutsideRun(time));
    }
    if ended.is_some_and(|ended| ended < started) {
        broken(Rule::EndsBeforeStart(name.to_owned()));
    }
}
