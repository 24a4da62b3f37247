//! The accesses that a profile keeps, and what threads did to wait for each other, as a Parquet file: a row for each, which DuckDB, Polars and DataFusion read.

use std::{
    collections::HashMap,
    io::{self, BufWriter, IsTerminal, Write},
    path::Path,
    slice,
    sync::Arc,
};

use carom_base::{AccessKind, Addr, Domain, Ip, Nanos, ProcessId, StackId, ThreadId};
use carom_base_stream::{Sink, Streamed, Synchronisation};
use carom_store::{Manifest, Recording};
use carom_study::recording::{Combine, Names, Recordings};
use parquet::{
    basic::Compression,
    data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type},
    errors::ParquetError,
    file::{
        properties::WriterProperties,
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::parser::parse_message_type,
};

use crate::failure::Failure;

/// The columns, in the order of [`Rows`]; docs/simulating.md says what they mean.
const SCHEMA: &str = "message accesses {
    required int64 time_ns;
    required int32 process (INTEGER(32,false));
    required int32 thread (INTEGER(32,false));
    required binary thread_name (STRING);
    required binary kind (STRING);
    required boolean atomic;
    required int64 address (INTEGER(64,false));
    required int32 bytes (INTEGER(32,false));
    required int64 instruction (INTEGER(64,false));
    optional binary function (STRING);
    optional binary file (STRING);
    optional int32 line (INTEGER(32,false));
}";

/// Rows of a group: some 30 MiB until they are written.
const GROUP: usize = 1 << 19;

/// Writes the accesses to standard output.
///
/// # Errors
/// Some cannot be read, or standard output is a terminal or cannot be written.
pub fn print(dir: &Path) -> Result<(), Failure> {
    if io::stdout().is_terminal() {
        return Err(Failure::new(
            "Parquet is not for a terminal: send standard output to a file, as by > accesses.parquet",
        ));
    }
    let recording = Recording::open(dir).map_err(Failure::new)?;
    let mut recordings = Recordings::new(slice::from_ref(&recording));
    let (_, mut names) = recordings.merged(Combine::Ranks);
    let mut table =
        Table::new(recording.manifest(), &mut names, BufWriter::new(io::stdout())).map_err(Failure::new)?;
    let read = recording.stream(&mut table);
    match table.finish() {
        // A reader who has seen enough is no failure.
        Err(ParquetError::External(error)) if is_broken_pipe(&*error) => Ok(()),
        Err(error) => Err(Failure::new(error)),
        Ok(()) => read.map_err(Failure::new),
    }
}

fn is_broken_pipe(error: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// A Parquet file in the making.
struct Table<'a, W: Write + Send> {
    manifest: &'a Manifest,
    names: &'a mut dyn Names,
    /// Source of the instructions so far.
    known: HashMap<(ProcessId, Ip), Source>,
    rows: Rows,
    writer: SerializedFileWriter<W>,
    result: Result<(), ParquetError>,
}

/// The code of an instruction.
#[derive(Clone, Debug, Default)]
struct Source {
    function: Option<ByteArray>,
    file: Option<ByteArray>,
    line: Option<i32>,
}

/// A row in the making.
struct Row<'k> {
    at: Nanos,
    thread: ThreadId,
    kind: &'k ByteArray,
    atomic: bool,
    address: Addr,
    bytes: u32,
    /// `None` for synchronisations.
    ip: Option<Ip>,
}

/// Rows that are still to be written, by column.
#[derive(Debug, Default)]
struct Rows {
    time_ns: Vec<i64>,
    process: Vec<i32>,
    thread: Vec<i32>,
    thread_name: Vec<ByteArray>,
    kind: Vec<ByteArray>,
    atomic: Vec<bool>,
    address: Vec<i64>,
    bytes: Vec<i32>,
    instruction: Vec<i64>,
    source: Vec<Source>,
}

impl<'a, W: Write + Send> Table<'a, W> {
    fn new(manifest: &'a Manifest, names: &'a mut dyn Names, out: W) -> Result<Self, ParquetError> {
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
        Ok(Self { manifest, names, known: HashMap::new(), rows: Rows::default(), writer, result: Ok(()) })
    }

    fn source(&mut self, process: ProcessId, ip: Ip) -> Source {
        let names = &mut *self.names;
        let look_up = || {
            let Some(frame) = names.call_path(process, ip, StackId::NONE).into_iter().next() else {
                return Source::default();
            };
            Source {
                function: frame.function.as_deref().map(ByteArray::from),
                file: frame.file.as_deref().map(ByteArray::from),
                line: frame.line.map(|line| line as i32),
            }
        };
        self.known.entry((process, ip)).or_insert_with(look_up).clone()
    }

    /// Adds a row; what comes after an error is dropped.
    fn row(&mut self, row: Row<'_>) {
        let Row { at, thread, kind, atomic, address, bytes, ip } = row;
        let info = self.manifest.threads.get(thread.0 as usize);
        let process = info.map_or_else(Default::default, |thread| thread.process);
        let name = ByteArray::from(info.map_or("", |thread| &*thread.name));
        let source = ip.map_or_else(Source::default, |ip| self.source(process, ip));
        let rows = &mut self.rows;
        rows.time_ns.push(at.0.saturating_sub(self.manifest.started.0) as i64);
        rows.process.push(process.0 as i32);
        rows.thread.push(thread.0 as i32);
        rows.thread_name.push(name);
        rows.kind.push(kind.clone());
        rows.atomic.push(atomic);
        rows.address.push(address.0 as i64);
        rows.bytes.push(bytes as i32);
        rows.instruction.push(ip.unwrap_or_default().0 as i64);
        rows.source.push(source);
        if self.result.is_err() {
            self.rows = Rows::default();
        } else if self.rows.address.len() == GROUP {
            self.result = self.write_group();
        }
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let rows = std::mem::take(&mut self.rows);
        let mut group = self.writer.next_row_group()?;
        all::<_, Int64Type>(&mut group, &rows.time_ns)?;
        all::<_, Int32Type>(&mut group, &rows.process)?;
        all::<_, Int32Type>(&mut group, &rows.thread)?;
        all::<_, ByteArrayType>(&mut group, &rows.thread_name)?;
        all::<_, ByteArrayType>(&mut group, &rows.kind)?;
        all::<_, BoolType>(&mut group, &rows.atomic)?;
        all::<_, Int64Type>(&mut group, &rows.address)?;
        all::<_, Int32Type>(&mut group, &rows.bytes)?;
        all::<_, Int64Type>(&mut group, &rows.instruction)?;
        some::<_, ByteArrayType>(&mut group, rows.source.iter().map(|source| source.function.clone()))?;
        some::<_, ByteArrayType>(&mut group, rows.source.iter().map(|source| source.file.clone()))?;
        some::<_, Int32Type>(&mut group, rows.source.iter().map(|source| source.line))?;
        group.close()?;
        Ok(())
    }

    fn finish(mut self) -> Result<(), ParquetError> {
        self.result?;
        self.result = Ok(());
        if !self.rows.address.is_empty() {
            self.write_group()?;
        }
        self.writer.close()?;
        Ok(())
    }
}

/// The next column, which has a value in each row.
fn all<W: Write + Send, T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    column::<W, T>(group, values, None)
}

/// The next column, which has a value in some rows.
fn some<W: Write + Send, T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    cells: impl Iterator<Item = Option<T::T>> + Clone,
) -> Result<(), ParquetError> {
    let defined: Vec<i16> = cells.clone().map(|cell| i16::from(cell.is_some())).collect();
    let values: Vec<T::T> = cells.flatten().collect();
    column::<W, T>(group, &values, Some(&defined))
}

fn column<W: Write + Send, T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    defined: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("more columns than the schema has".into()));
    };
    column.typed::<T>().write_batch(values, defined, None)?;
    column.close()
}

impl<W: Write + Send> Sink<Streamed> for Table<'_, W> {
    fn accesses(&mut self, thread: ThreadId, _: Domain, accesses: &[Streamed], at: Nanos) {
        let [load, store, both] = &["load", "store", "rmw"].map(ByteArray::from);
        for &Streamed { access, atomic } in accesses {
            let kind = match access.kind {
                AccessKind::Load => load,
                AccessKind::Store => store,
                AccessKind::ReadModifyWrite => both,
            };
            let (address, bytes, ip) = (access.addr, access.width, Some(access.ip));
            self.row(Row { at, thread, kind, atomic, address, bytes, ip });
        }
    }

    fn synchronises(&mut self, thread: ThreadId, synchronisation: Synchronisation, at: Nanos) {
        let Synchronisation { what, object: address } = synchronisation;
        let kind = &ByteArray::from(what.word());
        self.row(Row { at, thread, kind, atomic: false, address, bytes: 0, ip: None });
    }

    fn ended(&mut self, _: ThreadId) {}
}
