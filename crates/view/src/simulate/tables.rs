//! Tables for spreadsheets.

use crate::{
    csv::Table,
    model::{Frame, SimulatedCounts, SimulatedMisses, Simulation},
    section::Row,
    words::{self, ThreadNames},
};

const COUNTS: [&str; 29] = [
    "accesses",
    "loads",
    "stores",
    "read_modify_writes",
    "l1_misses",
    "l1_cold",
    "l1_capacity",
    "l1_conflict",
    "l1_coherence",
    "l2_misses",
    "l2_cold",
    "l2_capacity",
    "l2_conflict",
    "l2_coherence",
    "socket_misses",
    "coherence_load_misses",
    "upgrades",
    "caused_true",
    "caused_false",
    "received_true",
    "received_false",
    "from_core",
    "from_l3",
    "from_remote",
    "from_memory",
    "back_invalidations",
    "writebacks",
    "memory_writebacks",
    "cycles",
];

/// References, lines and the matrix.
pub fn tables(simulation: &Simulation, names: &ThreadNames) -> Vec<Row> {
    vec![
        ("simulate-references.csv", references(simulation)),
        ("simulate-lines.csv", lines(simulation)),
        ("simulate-cores.csv", cores(simulation, names)),
    ]
}

fn references(simulation: &Simulation) -> String {
    let mut table = Table::default();
    table.names(&["process", "function", "file", "line", "object", "share"]);
    table.header(&COUNTS);
    for reference in &simulation.references {
        table.whole(Some(reference.process));
        table.name(reference.function.as_deref().unwrap_or_default());
        table.name(reference.file.as_deref().unwrap_or_default());
        table.whole(reference.line);
        table.name(reference.object.as_ref().map_or("", |object| &object.name));
        table.number(reference.share);
        counts(&mut table, &reference.counts);
        table.end();
    }
    table.text
}

fn counts(table: &mut Table, counts: &SimulatedCounts) {
    let misses = |table: &mut Table, misses: SimulatedMisses| {
        for number in [misses.total, misses.cold, misses.capacity, misses.conflict, misses.coherence] {
            table.whole(Some(number));
        }
    };
    for number in [counts.accesses, counts.loads, counts.stores, counts.read_modify_writes] {
        table.whole(Some(number));
    }
    misses(table, counts.l1);
    misses(table, counts.l2);
    for number in [
        counts.socket.total,
        counts.coherence_load_misses,
        counts.upgrades,
        counts.caused.true_sharing,
        counts.caused.false_sharing,
        counts.received.true_sharing,
        counts.received.false_sharing,
        counts.from_core,
        counts.from_l3,
        counts.from_remote,
        counts.from_memory,
        counts.back_invalidations,
        counts.writebacks,
        counts.memory_writebacks,
    ] {
        table.whole(Some(number));
    }
    table.number(counts.cycles);
}

fn lines(simulation: &Simulation) -> String {
    let mut table = Table::default();
    table.header(&[
        "process",
        "address",
        "object",
        "stored_by",
        "stored_at",
        "stored_offset",
        "stored_width",
        "stored_field",
        "lost_by",
        "lost_at",
        "accessed_offset",
        "accessed_width",
        "accessed_field",
        "true",
        "false",
    ]);
    for line in &simulation.lines {
        for pair in &line.pairs {
            table.whole(Some(line.process)).name(&line.address).name(&line.object.name);
            for (path, part) in [(&pair.by, &pair.stored), (&pair.of, &pair.accessed)] {
                place(&mut table, path);
                table.whole(Some(part.offset_bytes)).whole(Some(part.width_bytes));
                table.name(part.field.as_deref().unwrap_or_default());
            }
            table
                .whole(Some(pair.invalidations.true_sharing))
                .whole(Some(pair.invalidations.false_sharing))
                .end();
        }
    }
    table.text
}

fn place(table: &mut Table, path: &[Frame]) {
    let function = path.first().and_then(|frame| frame.function.as_deref());
    table.name(function.unwrap_or_default());
    let at = words::place_in(path).and_then(|frame| words::place(frame.file.as_deref(), frame.line));
    table.name(&at.or_else(|| path.first().map(|frame| frame.address.clone())).unwrap_or_default());
}

fn cores(simulation: &Simulation, names: &ThreadNames) -> String {
    let mut table = Table::default();
    table.header(&[
        "storing_core",
        "storing_threads",
        "losing_core",
        "losing_threads",
        "true",
        "false",
        "transfers",
    ]);
    let number = |cells: &[Vec<u64>], row: usize, column: usize| {
        cells.get(row).and_then(|row| row.get(column)).copied()
    };
    for (row, from) in simulation.cores.iter().enumerate() {
        for (column, to) in simulation.cores.iter().enumerate().filter(|(column, _)| *column != row) {
            table.whole(Some(from.core)).name(&names.list(&from.threads));
            table.whole(Some(to.core)).name(&names.list(&to.threads));
            table.whole(number(&simulation.invalidations.true_sharing, row, column));
            table.whole(number(&simulation.invalidations.false_sharing, row, column));
            table.whole(number(&simulation.transfers, row, column)).end();
        }
    }
    table.text
}
