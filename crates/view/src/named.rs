//! Names that the study found, as the report has them.

use carom_study::symbols::{self, DataObject};

use crate::model::{Excerpt, Frame, Object, ObjectKind};

/// As the JSON has addresses.
pub fn hexadecimal(address: u64) -> String {
    format!("{address:#x}")
}

/// Data by its name.
pub fn object(object: &DataObject) -> Object {
    Object {
        kind: match object.kind {
            symbols::ObjectKind::Global => ObjectKind::Global,
            symbols::ObjectKind::Heap => ObjectKind::Heap,
            symbols::ObjectKind::Stack => ObjectKind::Stack,
            symbols::ObjectKind::Mapped => ObjectKind::Mapped,
        },
        name: object.name.clone(),
        offset_bytes: object.offset,
        size_bytes: object.size,
        declared: object.declared.as_ref().map(frame),
        allocation: object.allocation.iter().map(frame).collect(),
    }
}

/// Code by its name.
pub fn frame(frame: &symbols::Frame) -> Frame {
    Frame {
        function: frame.function.clone(),
        file: frame.file.clone(),
        line: frame.line,
        module: frame.module.as_ref().map(|path| path.to_string_lossy().into_owned()),
        address: hexadecimal(frame.address),
        inlined: frame.inlined,
        library: symbols::is_of_library(frame),
        source: frame
            .source
            .as_ref()
            .map(|found| Excerpt { first_line: found.first, lines: found.lines.clone() }),
    }
}
