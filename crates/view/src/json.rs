//! JSON for people to look into: objects indented, rows of numbers on one line.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

use crate::model::Report;

/// The report as JSON, with a newline at the end.
///
/// # Errors
/// None in practice: the model has string keys only and no fallible serialiser.
pub fn json(report: &Report) -> Result<String, serde_json::Error> {
    indented(report)
}

/// Any value, laid out in the same way.
pub(crate) fn indented(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut bytes = Vec::new();
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, Rows::default()))?;
    bytes.push(b'\n');
    // serde_json writes UTF-8 only; a replacement character would be a bug of its own, not a reason to fail.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Indents objects, and arrays only as far as they hold objects or arrays: one number per line would make
/// the matrix of a thousand threads a file of a million lines.
#[derive(Default)]
struct Rows {
    /// For each open container: does it take a line per element?
    open: Vec<Open>,
}

#[derive(Clone, Copy, PartialEq)]
enum Open {
    Object,
    /// An array with only scalars so far.
    Row,
    /// An array with a container in it.
    Block,
}

impl Rows {
    fn line<W: ?Sized + Write>(&self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"\n")?;
        for _ in &self.open {
            writer.write_all(b"  ")?;
        }
        Ok(())
    }

    /// A container inside an array begins on a line of its own.
    fn begin<W: ?Sized + Write>(&mut self, writer: &mut W, kind: Open, bracket: &[u8]) -> io::Result<()> {
        if let Some(parent) = self.open.last_mut().filter(|parent| **parent != Open::Object) {
            *parent = Open::Block;
            self.line(writer)?;
        }
        self.open.push(kind);
        writer.write_all(bracket)
    }

    fn end<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        if self.open.pop() != Some(Open::Row) {
            self.line(writer)?;
        }
        writer.write_all(bracket)
    }
}

impl Formatter for Rows {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, Open::Row, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b",") }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, Open::Object, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        self.line(writer)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_stay_on_a_line() {
        let value = json!({"a": [1, 2], "b": [[0, 1], [2, 3]], "c": [{"d": null}], "e": []});
        let expect = "{\n  \"a\": [1,2],\n  \"b\": [\n    [0,1],\n    [2,3]\n  ],\n  \"c\": [\n    {\n      \"d\": null\n    }\n  ],\n  \"e\": []\n}\n";
        assert_eq!(indented(&value).unwrap(), expect);
    }
}
