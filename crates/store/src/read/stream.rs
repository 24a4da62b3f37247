use std::collections::BTreeMap;

use carom_base::ProcessId;
use carom_base_stream::{
    Interleaver, Limits, Sink, Streamed,
    frame::{AsRecorded, Form},
};

use super::Recording;
use crate::error::StoreError;
use crate::rows::{Row, StreamFrame};

/// Which of the kept batches are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// So many in a row,
    batches: usize,
    /// of each so many.
    of: usize,
}

impl Spread {
    /// All of them.
    pub const ALL: Self = Self { batches: 1, of: 1 };

    /// Batches in a row: some two million accesses, of which each thread has many.
    const ROW: usize = 256;

    /// About `most` of so many accesses, in rows that are spread evenly.
    pub const fn about(most: u64, accesses: u64) -> Self {
        if accesses <= most {
            return Self::ALL;
        }
        let rows = accesses.div_ceil(if most == 0 { 1 } else { most });
        Self { batches: Self::ROW, of: Self::ROW.saturating_mul(rows as usize) }
    }

    const fn has(self, number: usize) -> bool {
        number % self.of < self.batches
    }
}

impl Default for Spread {
    fn default() -> Self {
        Self::ALL
    }
}

impl Recording {
    /// Gives the accesses that were kept to `sink`: those of each process in the order of time, which is the one in which they
    /// were analysed while the recording was made. Accesses of different processes are in no order.
    ///
    /// Of a recording that is being made, or that was cut short, that is what there is of it.
    ///
    /// # Errors
    /// Frames could not be read, of which this is the first. All others were given on.
    pub fn stream(&self, sink: &mut impl Sink<Streamed>) -> Result<(), StoreError> {
        self.stream_as(Spread::ALL, &mut AsRecorded, sink)
    }

    /// The same of a part of the batches, with accesses in another form.
    ///
    /// # Errors
    /// As [`Recording::stream`].
    pub fn stream_as<F: Form>(
        &self,
        spread: Spread,
        form: &mut F,
        sink: &mut impl Sink<F::Access>,
    ) -> Result<(), StoreError> {
        let mut processes: BTreeMap<Option<ProcessId>, Interleaver<F::Access>> = BTreeMap::new();
        let mut trouble = None;
        let mut batches = 0;
        for (row, frame) in (0..).zip(self.rows::<StreamFrame>()) {
            if let Ok(frame) = &frame
                && frame.head().is_ok_and(|head| head.accesses.is_some())
            {
                batches += 1;
                if !spread.has(batches - 1) {
                    continue;
                }
            }
            let decoded = frame.and_then(|frame| {
                let path = || self.dir().join(StreamFrame::KIND.file_name());
                frame.decode_as(form).map_err(|error| StoreError::Frame { path: path(), row, error })
            });
            match decoded {
                Ok(frame) => {
                    let thread = self.manifest().threads.get(frame.thread.0 as usize);
                    let interleaver = processes
                        .entry(thread.map(|thread| thread.process))
                        .or_insert_with(|| Interleaver::new(frame.at, Limits::default()));
                    interleaver.take_frame(frame, sink);
                }
                Err(error) => trouble = trouble.or(Some(error)),
            }
        }
        processes.values_mut().for_each(|interleaver| interleaver.flush(sink));
        trouble.map_or(Ok(()), Err)
    }
}
