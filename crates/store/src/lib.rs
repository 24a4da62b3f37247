//! Recordings on disk: format, writer, reader, checker.
