//! Warnings for the reader of a report about the whole recording.

use std::collections::{BTreeMap, BTreeSet};

use carom_base::{Nanos, ProcessId, SegmentId};
use carom_base_wire::{
    Engine, MADE_BY_CLONE, ReuseMethod, Settings, Trial, WatchChoice, Window,
    journal::{NOT_COMPARED, NOT_TRANSLATED},
};
use carom_store::{Manifest, ProcessInfo, ThreadCounters, Warning};

use crate::session::Results;

/// Adds the warnings. `ended` says of each process whether it ended in an orderly way; `garbage` counts the words in
/// session memory that were no records.
pub fn add(manifest: &mut Manifest, ended: &[bool], garbage: u64, results: Results) {
    let translated = manifest.engine.name == Engine::Translate.name();
    let mut warn = |code: &str, text: String| manifest.warnings.push(Warning { code: code.into(), text });
    if ended.is_empty() {
        warn("no-agent", "The agent did not start in the program, so nothing was recorded.".into());
    }
    let cut = ended.iter().filter(|ended| !**ended).count();
    if let Some(false) = ended.first() {
        let text = "The program ended without running its exit handlers; everything up to that instant is in the profile";
        let but =
            if translated { ", but counts of its last 100 ms of CPU time may be missing." } else { "." };
        warn("cut-short", format!("{text}{but}"));
    } else if cut > 0 {
        warn(
            "cut-short",
            format!(
                "Processes that ended without running their exit handlers, by a signal, or that still ran: {cut}."
            ),
        );
    }
    if garbage > 0 {
        warn(
            "garbage",
            format!(
                "{garbage} words in session memory were no records: the program may have written over them."
            ),
        );
    }
    for process in &manifest.processes {
        manifest.warnings.extend(stepped_aside(process, manifest.started));
    }
    let uncounted = uncounted(manifest, ended.first() == Some(&false));
    let mut sums = ThreadCounters::default();
    manifest.threads.iter().for_each(|thread| sums += thread.counters);
    let mut warn = |code: &str, text: String| manifest.warnings.push(Warning { code: code.into(), text });
    if sums.sampler_lost > 0 {
        let text = "the program closed carom's file descriptors, so sampling of these threads stopped early";
        warn("sampler-closed", format!("{} threads: {text}.", sums.sampler_lost));
    }
    if sums.calls_interrupted > 0 {
        let text = "system calls of the program failed with EINTR because of carom's timer";
        warn("interrupted-calls", format!("{} {text}.", sums.calls_interrupted));
    }
    if sums.objects_unknown > 0 {
        let text = "look-ups of heap objects found the table in use, so their allocation is not named";
        warn("objects-unknown", format!("{} {text}.", sums.objects_unknown));
    }
    if sums.cells_lost > 0 {
        let text = "counts of reuse could not be written, so distances are missing; is the disk full?";
        warn("counts-lost", format!("{} {text}", sums.cells_lost));
    }
    if sums.threads_unarmed > 0 {
        let text =
            "watches could not be set in other threads, so some invalidations and shared reuses were missed";
        warn("threads-unarmed", format!("{} {text}.", sums.threads_unarmed));
    }
    let cause = unprofiled_cause(results.unprofiled_errno);
    if results.unprofiled_threads > 0 {
        warn("unprofiled-threads", format!("{} threads ran unprofiled {cause}.", results.unprofiled_threads));
    }
    if results.unprofiled_children > 0 {
        let text = "child processes ran unprofiled";
        warn("unprofiled-children", format!("{} {text} {cause}.", results.unprofiled_children));
    }
    if let Some(text) = uncounted {
        warn("not-counted", text.into());
    }
}

/// Why threads and children could not be profiled, the latest with this error.
pub fn unprofiled_cause(errno: u64) -> &'static str {
    match i32::try_from(errno) {
        Ok(libc::EACCES | libc::EPERM) => {
            "because the program has changed its user, who may not open carom's files; run it as that user"
        }
        Ok(libc::ENOENT | libc::ENOTDIR) => {
            "because the program has changed its root directory, from where carom's files cannot be seen"
        }
        Ok(MADE_BY_CLONE) => "because the program made them by `clone`, not by the C library's `fork`",
        Ok(libc::EROFS) => "because carom's files can only be read where the program runs",
        _ => "for want of session memory, debug registers or file descriptors",
    }
}

/// When and why a process stepped aside.
fn stepped_aside(process: &ProcessInfo, started: Nanos) -> Option<Warning> {
    let aside = process.aside.as_ref()?;
    let name = process.argv.first().map_or("A process", String::as_str);
    let all = (aside.seen_ns + aside.unseen_ns).max(1) as f64;
    let (from, share) =
        (aside.at.0.saturating_sub(started.0) as f64 / 1e9, 100.0 * aside.unseen_ns as f64 / all);
    let (did, remedy) = match aside.code.as_str() {
        "seccomp" => (
            format!("installed a seccomp filter that forbids {}, which carom needs", aside.detail),
            "To see the rest, allow it in the filter or switch the program's sandbox off.",
        ),
        "dispatch" => ("had its own system calls delivered to it as signals".into(), ""),
        "tsc" => ("forbade itself to read the time stamp counter, which carom does".into(), ""),
        "traced" => (
            "let its parent trace it by ptrace, which would have found carom's code instead of its own"
                .into(),
            "",
        ),
        "program" => (format!("executed a program that could not be profiled {}", aside.detail), ""),
        _ => (aside.detail.clone(), ""),
    };
    let share = if aside.unseen_ns > 0 {
        format!("{share:.0}% of its CPU time")
    } else {
        "for a CPU time that is not known or too short".to_owned()
    };
    let text = format!(
        "{name} (pid {}) {did}: from {from:.2} s of the run on it ran natively and unobserved, {share}. {remedy}",
        process.pid
    );
    Some(Warning { code: format!("aside-{}", aside.code), text: text.trim_end().into() })
}

/// Adds warnings about requests that the numbers do not answer.
pub fn add_asked(manifest: &mut Manifest, settings: &Settings, results: Results) {
    add_window(manifest, &settings.window);
    if let Some(most) = settings.most_kept.filter(|most| results.kept >= *most) {
        let text = format!(
            "Recording ended before the program did, with access {most}: that is its limit (--limit)."
        );
        manifest.warnings.push(Warning { code: "limit".into(), text });
    }
    if settings.reuse.is_some() {
        add_shared(manifest);
    }
    let method = settings.reuse.as_ref().map(|reuse| reuse.method);
    if let Some(ReuseMethod::Sampled { watch: WatchChoice::Registers, .. }) = method {
        let text = "A debug register watches 8 bytes of a line, and what the program does with the others first goes \
                    unseen: lines seem to be reused later than they are, and caches to miss more. Reuses of the very \
                    bytes are right. The translate engine watches whole lines, by --watch software.";
        manifest.warnings.push(Warning { code: "parts-of-lines".into(), text: text.into() });
    }
    if settings.trial == Some(Trial::Translation) {
        let text = "As asked for, code was translated without counting: that all counts are 0 says nothing.";
        manifest.warnings.push(Warning { code: "trial".into(), text: text.into() });
    }
}

/// Warns that reuse does not see the accesses of other processes to shared memory.
fn add_shared(manifest: &mut Manifest) {
    let mut of: BTreeMap<SegmentId, (BTreeSet<ProcessId>, bool)> = BTreeMap::new();
    for process in &manifest.processes {
        for mapping in &process.shared {
            let (processes, written) = of.entry(mapping.segment).or_default();
            processes.insert(process.id);
            *written |= mapping.writable;
        }
    }
    let shared = of.into_values().filter(|(processes, written)| *written && processes.len() > 1);
    let processes: BTreeSet<ProcessId> = shared.flat_map(|(processes, _)| processes).collect();
    if !processes.is_empty() {
        let text = format!(
            "Shared memory of {} processes was not compared: what one of them does there neither invalidates nor reuses \
             what another has used.",
            processes.len()
        );
        manifest.warnings.push(Warning { code: NOT_COMPARED.into(), text });
    }
}

/// States which part of the run was observed, where a window was asked for.
fn add_window(manifest: &mut Manifest, window: &Window) {
    let of_run = |ns: u64| ns.saturating_sub(manifest.started.0) as f64 / 1e9;
    let begin =
        (window.opens_ns > 0).then(|| format!(" from {:.2} s of the run on", of_run(window.opens_ns)));
    let end = (window.closes_ns < u64::MAX).then(|| format!(" until {:.2} s", of_run(window.closes_ns)));
    let again = (window.every_ns > 0)
        .then(|| format!(", and for as long every {:.2} s", window.every_ns as f64 / 1e9));
    if window.marked {
        let text =
            "As asked for, the program was observed only between its calls of carom_start and carom_stop.";
        manifest.warnings.push(Warning { code: "window".into(), text: text.into() });
    }
    if begin.is_some() || end.is_some() {
        let text = format!(
            "As asked for, the program was observed only{}{}{}.",
            begin.unwrap_or_default(),
            end.unwrap_or_default(),
            again.unwrap_or_default(),
        );
        manifest.warnings.push(Warning { code: "window".into(), text });
    }
}

/// Why nothing was counted although that was asked for, where no process has stated it. `cut_short`: the program ran no
/// exit handlers.
fn uncounted(manifest: &Manifest, cut_short: bool) -> Option<&'static str> {
    let said = |process: &ProcessInfo| process.warnings.iter().any(|warning| warning.code == NOT_TRANSLATED);
    let asked = manifest.engine.name == Engine::Translate.name();
    let counted = manifest.threads.iter().any(|thread| thread.counts.is_some());
    if !asked || counted || manifest.processes.iter().any(said) {
        return None;
    }
    Some(if cut_short {
        "The program ended before its counts were written down, as they are first after 10 ms of CPU time."
    } else {
        "The agent did not translate the program's code, so nothing was counted, and no sample stands for accesses."
    })
}
