//! The verdict of `carom share`, in units that the engine can claim.

mod absence;

pub use absence::{is_negligible, seconds_to_rule_out};

use std::collections::BTreeMap;

use crate::{
    debug_info,
    model::{
        Basis, Bytes, EngineDelivery, Line, MatrixUnit, Primitive, RemedyKind, Report, Share,
        SharingDistance, SharingFinding,
    },
    recording,
    share::remedy::SOME_FALSE,
    words::{self, ThreadNames},
};

/// From here on sharing is called false, and below one minus this true.
pub const NEARLY_ALL: f64 = 0.9;

/// A thread with less than this part of a line's samples is not named as a party to it.
const BYSTANDER: f64 = 0.02;

/// Lines with at least this part of the events of the one with most tell whose a finding is.
const TELLING: f64 = 0.25;

/// The answer in one or two sentences.
pub fn verdict(report: &Report, share: &Share) -> String {
    let main = if report.quality.samples == 0 && report.processes.iter().all(|each| !each.coverage.profiled) {
        recording::unprofiled(report)
    } else if report.threads.len() <= 1 && share.lines.is_empty() {
        ONE_THREAD.into()
    } else if let Some(few) = &share.not_enough {
        let unseen = absence::is_told(report, share, few);
        match top(share) {
            None if unseen => absence::nothing(report, share),
            Some(top) if top.0.events >= few.needed as u64 => {
                let found = debug_info::with_what_it_lacks(report, found_by_time(report, share, top));
                format!("{found} {}", absence::few_steps(share, few))
            }
            Some(_) if few.negligible => absence::little(report, share, few),
            _ => absence::not_enough(report, share, few),
        }
    } else if share.lines.is_empty() {
        absence::nothing(report, share)
    } else {
        debug_info::with_what_it_lacks(report, found(report, share))
    };
    let main = if took_turns(share) { format!("{ONE_PROCESSOR} {main}") } else { main };
    let main = if share.lines.is_empty() { absence::with_what_was_not_compared(report, main) } else { main };
    match report.engine.delivery {
        EngineDelivery::PosixTimer if report.quality.samples > 0 => format!(
            "{main} Sampled with POSIX timers and without watchpoints: coarse, and lines that bounce rarely are \
             missed."
        ),
        EngineDelivery::Inline if report.quality.samples > 0 && report.engine.watchpoints == 0 => {
            format!("{main} Sampled without watchpoints: lines that bounce rarely are missed.")
        }
        _ => main,
    }
}

/// No run and no period finds sharing there.
const ONE_THREAD: &str = "The program has one thread: nothing can be shared.";

/// What sharing means where threads take turns on one processor.
const ONE_PROCESSOR: &str = "The threads took turns on one processor: no line moved between caches in this run, as the following will where they run at \
     the same time.";

/// Whether nearly all sharing is between threads on one processor.
fn took_turns(share: &Share) -> bool {
    let SharingDistance { cross_core, smt_siblings, same_cpu } = &share.distance;
    share.not_enough.is_none()
        && !share.lines.is_empty()
        && same_cpu.0 > 0.0
        && same_cpu.0 >= NEARLY_ALL * (cross_core.0 + smt_siblings.0 + same_cpu.0)
}

/// The worst finding, and its worst line.
fn top(share: &Share) -> Option<Top<'_>> {
    let finding = share.findings.first()?;
    Some((finding, share.lines.get(*finding.lines.first()?)?))
}

type Top<'a> = (&'a SharingFinding, &'a Line);

/// The contended lines are clear from time-weighted samples, although step samples are too few for fractions.
fn found_by_time(report: &Report, share: &Share, (finding, line): Top<'_>) -> String {
    let names = ThreadNames::new(&report.threads);
    if finding.remedy.kind == RemedyKind::Contend {
        return contention(share, (finding, line), &names);
    }
    // With few events of one kind there is no fraction, but all that were seen may be of one kind.
    let fraction = match (&line.false_fraction, line.true_sharing.0, line.false_sharing.0) {
        (Some(fraction), ..) => fraction.estimate.0,
        (None, _, none) if none <= 0.0 => 0.0,
        (None, none, _) if none <= 0.0 => 1.0,
        (None, ..) => 0.5,
    };
    let (kind, bytes) = match fraction {
        most if most >= NEARLY_ALL => ("false sharing", against(line)),
        little if little <= 1.0 - NEARLY_ALL => ("true sharing", exchanged(line)),
        _ => ("true and false sharing", String::new()),
    };
    let most = if share.lines.len() == 1 { "" } else { ", most of it" };
    let place =
        join(&[most, kind, &names.between(&contenders(share, (finding, line))), "on", &object(finding)]);
    let joint = if most.is_empty() { ":" } else { "" };
    format!("{}{joint}{place}{bytes}.", lines_take(share))
}

/// `2 cache lines receive 18% (±2) of memory accesses`
fn lines_take(share: &Share) -> String {
    let lines = share.lines.len() + share.findings.iter().map(|each| each.other_lines).sum::<usize>();
    let verb = match (share.matrix.unit, lines) {
        (MatrixUnit::Samples, 1) => "takes",
        (MatrixUnit::Samples, _) => "take",
        (_, 1) => "receives",
        _ => "receive",
    };
    format!(
        "{} {verb} {} of {}",
        words::count(lines, "cache line"),
        words::percent_with_error(&share.contended_share),
        share.matrix.unit.whole()
    )
}

fn found(report: &Report, share: &Share) -> String {
    let names = ThreadNames::new(&report.threads);
    let first = lines_take(share);
    let Some((finding, top)) = top(share) else { return first };
    if finding.remedy.kind == RemedyKind::Contend {
        return contention(share, (finding, top), &names);
    }
    if let Some(following) = spread(finding) {
        let lines = words::count(finding.lines.len() + finding.other_lines, "cache line");
        let false_part = finding.false_sharing.0 / (finding.false_sharing.0 + finding.true_sharing.0);
        let (part, kind) = match false_part {
            little if little <= 1.0 - NEARLY_ALL => (1.0 - little, "true sharing".to_owned()),
            part if part < NEARLY_ALL => (part, format!("{}, the rest true sharing", false_sharing(finding))),
            part => (part, false_sharing(finding).to_owned()),
        };
        return format!(
            "{following} of {} follow another thread's write of {}, spread over {lines} or more; {} of that is {kind}.",
            share.matrix.unit.whole(),
            object(finding),
            words::percent(part)
        );
    }
    let place = join(&[&names.between(&contenders(share, (finding, top))), "on", &object(finding)]);
    let worst = if share.lines.len() > 1 { format!(", most of it{place}") } else { place };
    match false_part(share) {
        Some(part) if part >= NEARLY_ALL => format!(
            "{first}; {} of {FOLLOWING} are {}{worst}{}.",
            words::percent(part),
            false_sharing(finding),
            against(top)
        ),
        Some(part) if part <= 1.0 - NEARLY_ALL => format!(
            "{first}; {} of {FOLLOWING} are true sharing{worst}{}.",
            words::percent(1.0 - part),
            exchanged(top)
        ),
        Some(part) => format!(
            "{first}; {} of {FOLLOWING} are {}, the rest true sharing{worst}.",
            words::percent(part),
            false_sharing(finding)
        ),
        None => format!("{first}{worst}."),
    }
}

/// False sharing, and why its remedy is not padding where that is so.
fn false_sharing(finding: &SharingFinding) -> &'static str {
    let SharingFinding { true_sharing, false_sharing, .. } = finding;
    let is_its_own = false_sharing.0 > SOME_FALSE * (true_sharing.0 + false_sharing.0);
    match finding.remedy.kind {
        RemedyKind::ShareLess if is_its_own => "false sharing of neighbours that the same threads use",
        _ => "false sharing",
    }
}

/// What events of sharing stand for.
const FOLLOWING: &str = "the accesses there that follow another thread's write";

/// False sharing as a part of the sharing on the lines that are listed. `None` where too little was seen.
pub fn false_part(share: &Share) -> Option<f64> {
    share.false_fraction?;
    let lines = || share.lines.iter().filter(|line| line.basis == Basis::Step);
    let false_sharing: f64 = lines().map(|line| line.false_sharing.0).sum();
    let all = false_sharing + lines().map(|line| line.true_sharing.0).sum::<f64>();
    (all > 0.0).then(|| false_sharing / all)
}

/// ``Contention among 4 threads for the mutex `lock` (mx.c:3), whose cache line receives 23% (±2) of memory accesses.``
fn contention(share: &Share, (finding, line): Top<'_>, names: &ThreadNames) -> String {
    let Some(of) = &finding.remedy.of else { return lines_take(share) };
    let what = match of.name.as_deref() {
        Some(name) if of.elsewhere => {
            let them = if of.several { "them" } else { "it" };
            format!(
                "{} and {} that is used with {them}",
                of.primitive.named(name, of.several),
                object(finding)
            )
        }
        None if of.elsewhere => {
            format!("a {} and {} that is used with it", of.primitive.noun(), object(finding))
        }
        Some(name) if name == finding.object.name => {
            format!("the {} {}", of.primitive.noun(), object(finding))
        }
        Some(name) => format!("{} in {}", of.primitive.named(name, of.several), object(finding)),
        None if of.primitive == Primitive::Critical => "a critical section of OpenMP".into(),
        None if of.primitive == Primitive::Interpreter => "the lock of the interpreter".into(),
        None if of.primitive == Primitive::OpenMp => "the runtime of OpenMP".into(),
        None if of.primitive == Primitive::LibraryState => {
            format!("what a library keeps for all threads, {}", object(finding))
        }
        None if finding.spread => format!("{} in {}", of.primitive.plural(), object(finding)),
        None => format!("a {} in {}", of.primitive.noun(), object(finding)),
    };
    let among = join(&[&names.between(&contenders(share, (finding, line)))]);
    let whole = share.matrix.unit.whole();
    if let Some(following) = spread(finding) {
        return format!(
            "Contention{among} for {what}: {following} of {whole} follow another thread's write there."
        );
    }
    let rest = match share.findings.len() {
        0 | 1 => String::new(),
        _ => format!(" ({} with all contended lines)", words::percent(share.contended_share.estimate.0)),
    };
    format!(
        "Contention{among} for {what}, whose {} {} of {whole}{rest}.",
        match (share.matrix.unit, finding.lines.len() + finding.other_lines) {
            (MatrixUnit::Samples, 1) => "cache line takes".to_owned(),
            (MatrixUnit::Samples, lines) => format!("{} cache lines take", words::thousands(lines as u64)),
            (_, 1) => "cache line receives".to_owned(),
            (_, lines) => format!("{} cache lines receive", words::thousands(lines as u64)),
        },
        words::percent_with_error(&finding.share_interval)
    )
}

/// How much of the accesses a finding concerns that is spread over many lines.
fn spread(finding: &SharingFinding) -> Option<String> {
    finding.following.filter(|_| finding.spread).map(|part| words::percent(part.0))
}

/// Joins with single spaces; a part that begins with a comma takes none before it.
fn join(parts: &[&str]) -> String {
    let mut text = String::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        if !part.starts_with(',') {
            text.push(' ');
        }
        text.push_str(part);
    }
    text
}

/// `` `stats` (app.c:12) ``
fn object(finding: &SharingFinding) -> String {
    let declared = finding.object.declared.as_ref();
    match declared.and_then(|frame| words::place(frame.file.as_deref(), frame.line)) {
        Some(place) => format!("`{}` ({place})", finding.object.name),
        None => format!("`{}`", finding.object.name),
    }
}

/// The threads that contend for a finding, in natural order: those of its lines with most events, or, where it is spread over
/// many, of all. That is the pair that exchanges nearly all of them, else the threads of their sites without the bystanders.
/// Where these are of one thread, which nobody contends with alone, the pair that exchanges most is named as well; where no
/// site was seen, all that touch their bytes.
fn contenders(share: &Share, (finding, worst): Top<'_>) -> Vec<u32> {
    let all = || finding.lines.iter().filter_map(|&number| share.lines.get(number));
    let most = all().map(|line| line.events).max().unwrap_or(0);
    let counts = |line: &&Line| finding.spread || line.events as f64 >= TELLING * most as f64;
    let lines: Vec<&Line> = all().filter(counts).collect();
    let pair = |line: &Line| {
        line.pair.as_ref().filter(|pair| pair.fraction.0 >= NEARLY_ALL).map(|pair| pair.threads)
    };
    if let Some(threads) = pair(worst)
        && !finding.spread
        && lines.iter().all(|line| pair(line) == Some(threads))
    {
        return threads.to_vec();
    }
    let mut shares = BTreeMap::<u32, f64>::new();
    for site in lines.iter().flat_map(|line| &line.sites) {
        *shares.entry(site.thread).or_default() += site.share_of_samples.0;
    }
    let total: f64 = shares.values().sum();
    if shares.len() > 2 {
        shares.retain(|_, share| *share >= BYSTANDER * total);
    }
    if shares.len() < 2
        && let Some(pair) = &worst.pair
    {
        shares.extend(pair.threads.map(|thread| (thread, 0.0)));
    }
    if shares.is_empty() {
        for range in lines.iter().flat_map(|line| &line.layout) {
            shares.extend(range.readers.iter().chain(&range.writers).map(|&thread| (thread, 0.0)));
        }
    }
    shares.into_keys().collect()
}

/// ``, `hits` against `misses` ``, `, bytes 0-7 against 8-15`
fn against(line: &Line) -> String {
    let touched: Vec<&Bytes> =
        line.layout.iter().filter(|range| !range.readers.is_empty() || !range.writers.is_empty()).collect();
    match touched.as_slice() {
        [] | [_] => String::new(),
        [one, other] => match (&one.field, &other.field) {
            (Some(one), Some(other)) => format!(": `{one}` against `{other}`"),
            _ => format!(
                ", {} against {}",
                words::bytes(one.offset_bytes, one.width_bytes),
                words::byte_range(other.offset_bytes, other.width_bytes)
            ),
        },
        many => format!(", {} fields on one line", many.len()),
    }
}

/// `, bytes 0-7`: the widest exchange is not known here, so only a single range is named.
fn exchanged(line: &Line) -> String {
    match line.layout.as_slice() {
        [only] => format!(", {}", words::bytes(only.offset_bytes, only.width_bytes)),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
