//! Tables for a terminal.

use super::{
    compare, part,
    verdict::{place, times},
    what_if,
};
use crate::{
    model::{
        SimulatedCounts, SimulatedLine, SimulatedMachine, SimulatedPart, SimulatedReference,
        SimulatedSharing, Simulation,
    },
    text::{
        Options,
        page::{Page, Style, fit, path},
    },
    words::{self, ThreadNames, compact, percent},
};

/// Columns of a name, and of a number.
pub(super) const NAME: usize = 34;
pub(super) const CELL: usize = 9;

/// Pairs of a line that are printed, unless all are wanted.
const PAIRS: usize = 2;

/// Lines that cost at least this part of all cycles together are all worth a look; otherwise only a few are printed.
const NOTABLE: f64 = 0.05;
const FEW_LINES: usize = 3;

/// Rows and columns of the matrix that fit a line.
const MOST_CORES: usize = 8;

/// The tables.
pub fn print(page: &mut Page, simulation: &Simulation, names: &ThreadNames, options: &Options) {
    let Some(machine) = &simulation.machine else { return };
    if simulation.total.accesses == 0 {
        return;
    }
    if let Some(comparison) = &simulation.compare {
        compare::print(page, comparison, options);
    }
    if let Some(what_if) = &simulation.what_if {
        what_if::print(page, simulation, what_if, options);
    }
    references(page, simulation, options);
    objects(page, simulation, options);
    lines(page, simulation, options);
    matrix(page, simulation, names);
    levels(page, simulation, machine, options);
}

/// `AMD EPYC: 2 cores, MESI; L1 32 KiB, 8 ways; …`
pub fn machine(machine: &SimulatedMachine) -> String {
    let levels = machine.levels.iter().map(|level| {
        format!("{} {} of {} ways", level.name.to_uppercase(), words::size(level.bytes), level.ways)
    });
    let sockets = match machine.sockets {
        1 => words::count(machine.cores_per_socket, "core"),
        sockets => format!(
            "{} of {}",
            words::count(sockets, "socket"),
            words::count(machine.cores_per_socket, "core")
        ),
    };
    let levels = levels.collect::<Vec<_>>().join(", ");
    format!(
        "{}: {sockets}, {}; {levels}; lines of {} bytes",
        machine.name, machine.protocol, machine.line_bytes
    )
}

pub(super) fn heads(page: &mut Page, first: &str, heads: &[&str]) {
    page.cell(Style::Dim, first, NAME);
    for head in heads {
        page.put(Style::Dim, &format!("{head:>CELL$}"));
    }
    page.end();
}

fn references(page: &mut Page, simulation: &Simulation, options: &Options) {
    page.heading("Source lines by what their misses cost");
    heads(page, "", &["cycles", "accesses", "miss L1", "miss L2", "coher.", "inval.", "false"]);
    let worth = simulation.references.iter().filter(|one| one.counts.cycles.0 > 0.0);
    for reference in worth.clone().take(options.lines) {
        row(page, reference, options);
    }
    let more = worth.count().saturating_sub(options.lines) + simulation.other_instructions;
    if more > 0 {
        page.put(
            Style::Dim,
            &format!("… and {} more; cycles: a model, by usual latencies", words::thousands(more as u64)),
        );
        page.end();
    }
}

/// The cell of a source line's name.
pub(super) fn name(page: &mut Page, reference: &SimulatedReference) {
    let at = words::place(reference.file.as_deref(), reference.line);
    let address = || reference.call_path.first().map_or_else(String::new, |frame| frame.address.clone());
    let function = reference.function.as_deref().unwrap_or_default();
    let name = fit(&format!("{} {function}", at.unwrap_or_else(address)), NAME - 1);
    page.put(Style::Cyan, &name);
    page.plain(&" ".repeat(NAME - name.chars().count()));
}

fn row(page: &mut Page, reference: &SimulatedReference, options: &Options) {
    let counts = &reference.counts;
    name(page, reference);
    page.put(Style::Bold, &format!("{:>CELL$}", percent(reference.share.0)));
    for cell in [
        compact(counts.accesses as f64),
        missing(counts.l1.total, counts),
        missing(counts.l2.total, counts),
        percent(part(core_coherence(counts), counts.accesses)),
        compact(counts.caused.total() as f64),
        if counts.caused.total() > 0 { percent(counts.caused.false_part()) } else { "-".into() },
    ] {
        page.plain(&format!("{cell:>CELL$}"));
    }
    page.end();
    if options.verbose {
        page.indented(Style::Dim, 2, "", &detail(reference));
    }
}

/// A wide access may miss several lines.
fn missing(misses: u64, counts: &SimulatedCounts) -> String {
    percent(part(misses, counts.accesses).min(1.0))
}

/// Coherence misses of the core.
fn core_coherence(counts: &SimulatedCounts) -> u64 {
    counts.l1.coherence
}

/// `data \`counters\`; received 12 (…); from core 3, L3 4, memory 1; 12 written back`
fn detail(reference: &SimulatedReference) -> String {
    let counts = &reference.counts;
    let object = reference.object.as_ref().map(|object| format!("data `{}`", object.name));
    let l1 = counts.l1;
    let classes = format!(
        "L1 misses: {} cold, {} capacity, {} conflict, {} coherence",
        compact(l1.cold as f64),
        compact(l1.capacity as f64),
        compact(l1.conflict as f64),
        compact(l1.coherence as f64)
    );
    let sources = format!(
        "lines from core {}, L3 {}, other sockets {}, memory {}",
        compact(counts.from_core as f64),
        compact(counts.from_l3 as f64),
        compact(counts.from_remote as f64),
        compact(counts.from_memory as f64)
    );
    let received = format!(
        "invalidations received {}, upgrades {}, written back {}",
        compact(counts.received.total() as f64),
        compact(counts.upgrades as f64),
        compact(counts.writebacks as f64)
    );
    let all = object.into_iter().chain([classes, sources, received]);
    all.collect::<Vec<_>>().join("; ")
}

/// `4.4 M times in 3,212 lines, 95% false sharing: 204800-byte block allocated in make`
fn objects(page: &mut Page, simulation: &Simulation, options: &Options) {
    // The lines say it all of one line each.
    if simulation.objects.iter().all(|taken| taken.lines == 1) {
        return;
    }
    page.heading("Data that cores take from each other");
    for taken in simulation.objects.iter().take(options.lines) {
        let lines = words::count(taken.lines, "line");
        page.put(Style::Bold, &times(taken.invalidations.total())).plain(&format!(" in {lines}, "));
        kind(page, &taken.invalidations).plain("  ").put(Style::Cyan, &taken.object.name).end();
    }
    let more = simulation.objects.len().saturating_sub(options.lines);
    let unnamed = match simulation.unnamed_lines {
        0 => None,
        lines => Some(format!("{} that were not looked up", words::count(lines, "line"))),
    };
    let more = (more > 0).then(|| words::count(more, "more object"));
    let rest: Vec<String> = more.into_iter().chain(unnamed).collect();
    if !rest.is_empty() {
        page.put(Style::Dim, &format!("… and {}", words::sentence_list(&rest))).end();
    }
}

fn lines(page: &mut Page, simulation: &Simulation, options: &Options) {
    if simulation.lines.is_empty() {
        return;
    }
    page.heading("Lines that cores take from each other");
    let costs = simulation.total.coherence_cycles.0 >= NOTABLE * simulation.total.cycles.0;
    let shown = if costs || options.verbose { options.lines } else { options.lines.min(FEW_LINES) };
    for (number, line) in (1..).zip(simulation.lines.iter().take(shown)) {
        one_line(page, number, line, options);
    }
    let more = simulation.lines.len().saturating_sub(shown) + simulation.other_lines;
    if more > 0 {
        page.put(Style::Dim, &format!("… and {}", words::count(more, "more line"))).end();
    }
}

fn one_line(page: &mut Page, number: usize, line: &SimulatedLine, options: &Options) {
    page.cell(Style::Dim, &number.to_string(), 4);
    page.put(Style::Cyan, &line.object.name).plain(" ");
    page.put(Style::Dim, &format!("{} ", line.address));
    page.put(Style::Bold, &times(line.invalidations.total())).plain(", ");
    kind(page, &line.invalidations).end();
    let shown = if options.verbose { line.pairs.len() } else { PAIRS };
    for pair in line.pairs.iter().take(shown) {
        let text = format!(
            "{}: {} stores to {}, {} loses {}",
            compact(pair.invalidations.total() as f64),
            if options.verbose { path(&pair.by) } else { place(&pair.by) },
            bytes(&pair.stored),
            if options.verbose { path(&pair.of) } else { place(&pair.of) },
            bytes(&pair.accessed),
        );
        page.indented(Style::Plain, 4, "", &text);
    }
    let more = line.pairs.len().saturating_sub(shown) + line.other_pairs;
    if more > 0 {
        page.indented(Style::Dim, 4, "", &format!("… and {}", words::count(more, "more pair")));
    }
}

fn kind<'a>(page: &'a mut Page, sharing: &SimulatedSharing) -> &'a mut Page {
    let false_part = sharing.false_part();
    let style = if false_part >= 0.5 { Style::Orange } else { Style::Blue };
    page.put(style, &format!("{} false sharing", percent(false_part)))
}

/// `` `counters[0]` (bytes 0-7) ``
fn bytes(part: &SimulatedPart) -> String {
    let at = words::bytes(part.offset_bytes, part.width_bytes);
    part.field.as_ref().map_or_else(|| at.clone(), |field| format!("`{field}` ({at})"))
}

fn matrix(page: &mut Page, simulation: &Simulation, names: &ThreadNames) {
    let cores = &simulation.cores;
    if simulation.total.caused.total() == 0 || cores.len() < 2 {
        return;
    }
    page.heading("Who takes lines from whom");
    page.put(Style::Dim, "rows store, columns lose their copy").end();
    let label = |at: usize| cores.get(at).map_or_else(String::new, |core| names.list(&core.threads));
    let shown = cores.len().min(MOST_CORES);
    page.cell(Style::Dim, "", NAME - CELL);
    for column in 0..shown {
        page.put(Style::Dim, &format!(" {:>width$}", fit(&label(column), CELL + 1), width = CELL + 1));
    }
    page.end();
    let cell = |row: usize, column: usize| -> u64 {
        let of = |cells: &Vec<Vec<u64>>| cells.get(row).and_then(|row| row.get(column)).copied().unwrap_or(0);
        of(&simulation.invalidations.true_sharing) + of(&simulation.invalidations.false_sharing)
    };
    for row in 0..shown {
        page.cell(Style::Plain, &label(row), NAME - CELL);
        for column in 0..shown {
            let text = if row == column { "·".into() } else { compact(cell(row, column) as f64) };
            page.plain(&format!(" {text:>width$}", width = CELL + 1));
        }
        page.end();
    }
    if cores.len() > shown {
        page.put(Style::Dim, &format!("… and {}", words::count(cores.len() - shown, "more core"))).end();
    }
}

fn levels(page: &mut Page, simulation: &Simulation, machine: &SimulatedMachine, options: &Options) {
    let total = &simulation.total;
    page.heading("All accesses");
    heads(page, "", &["misses", "ratio", "cold", "capacity", "conflict", "coher."]);
    let socket = if machine.levels.iter().any(|level| level.name == "l3") {
        "L3 and other cores"
    } else {
        "other cores"
    };
    let has_l2 = machine.levels.iter().any(|level| level.name == "l2");
    let rows = [("L1", total.l1, true), ("L2", total.l2, has_l2), (socket, total.socket, true)];
    for (name, misses, _) in rows.into_iter().filter(|(.., exists)| *exists) {
        page.cell(Style::Plain, name, NAME);
        page.put(Style::Bold, &format!("{:>CELL$}", compact(misses.total as f64)));
        page.plain(&format!("{:>CELL$}", percent(part(misses.total, total.accesses))));
        for class in [misses.cold, misses.capacity, misses.conflict, misses.coherence] {
            page.plain(&format!("{:>CELL$}", compact(class as f64)));
        }
        page.end();
    }
    if options.verbose {
        let text = format!(
            "lines from core {}, L3 {}, other sockets {}, memory {}; {} upgrades; {} written back, {} to memory",
            words::thousands(total.from_core),
            words::thousands(total.from_l3),
            words::thousands(total.from_remote),
            words::thousands(total.from_memory),
            words::thousands(total.upgrades),
            words::thousands(total.writebacks),
            words::thousands(total.memory_writebacks)
        );
        page.paragraph(Style::Dim, &text);
    }
}
