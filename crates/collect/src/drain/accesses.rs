//! Accesses that are to be kept, which agents append to a file of their own, as frames.

use std::path::Path;

use carom_base::ThreadId;
use carom_base_stream::frame::{split, with_thread};
use carom_store::StreamFrame;

use super::tail::Tail;

/// Read in one go at most. More than the largest frame.
const MOST_BYTES: u64 = 16 << 20;

/// How far a file of accesses has been read.
#[derive(Default)]
pub struct AccessFile {
    /// It ends with the beginning of a frame that was not whole yet.
    tail: Tail,
    /// Something in the file was no frame, so that the beginning of the next one is unknown.
    is_lost: bool,
}

impl AccessFile {
    /// The new frames of the file, with the recording's numbers of threads, which `known` gives for serials. Bytes that are no
    /// frame are added to `garbage`.
    pub fn read(
        &mut self,
        path: &Path,
        mut known: impl FnMut(u32) -> ThreadId,
        garbage: &mut u64,
    ) -> Vec<StreamFrame> {
        self.tail.read(path, MOST_BYTES);
        let mut frames = Vec::new();
        let mut rest = &self.tail.bytes[..];
        while let Ok(Some((frame, behind))) = split(rest) {
            match with_thread(frame, |serial| known(serial.0)) {
                Ok(frame) => frames.push(StreamFrame::new(frame)),
                Err(_) => *garbage += frame.len() as u64,
            }
            rest = behind;
        }
        self.is_lost |= split(rest).is_err();
        if self.is_lost {
            *garbage += rest.len() as u64;
            rest = &[];
        }
        let taken = self.tail.bytes.len() - rest.len();
        self.tail.bytes.drain(..taken);
        frames
    }
}

#[cfg(test)]
mod tests {
    use carom_base::Nanos;
    use carom_base_stream::frame::Encoder;

    use super::*;

    fn frames(found: &[StreamFrame]) -> Vec<(u32, u64)> {
        let decoded = found.iter().map(|frame| frame.decode().unwrap());
        decoded.map(|frame| (frame.thread.0, frame.at.0)).collect()
    }

    #[test]
    fn a_frame_that_is_half_written_waits_for_its_rest() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("7.1.accesses");
        let mut file = AccessFile::default();
        let mut garbage = 0;
        let mut read = || frames(&file.read(&path, |serial| ThreadId(serial + 200), &mut garbage));
        assert_eq!(read(), [], "not there yet");
        let mut bytes = Vec::new();
        Encoder::default().begin(ThreadId(1), Nanos(500), &mut bytes);
        let first = bytes.len();
        Encoder::default().end(ThreadId(1), Nanos(600), &mut bytes);
        std::fs::write(&path, &bytes[..first + 3]).unwrap();
        assert_eq!(read(), [(201, 500)]);
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(read(), [(201, 600)]);
        assert_eq!(read(), []);
        // Ten bytes that are no number: nothing behind them can be told.
        bytes.extend([0xff; 10]);
        bytes.extend([3, 1, 0, 0]);
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(read(), []);
        assert_eq!(garbage, 14);
    }
}
