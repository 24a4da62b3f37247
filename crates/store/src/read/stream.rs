use std::collections::BTreeMap;

use carom_base::ProcessId;
use carom_base_stream::{
    Interleaver, Limits, Sink, Streamed,
    frame::{AsRecorded, Form},
};

use super::Recording;
use crate::error::StoreError;
use crate::rows::{Row, StreamFrame};

impl Recording {
    /// Gives the accesses that were kept to `sink`: those of each process in the order of time, which is the one in which they
    /// were analysed while the recording was made. Accesses of different processes are in no order.
    ///
    /// Of a recording that is being made, or that was cut short, that is what there is of it.
    ///
    /// # Errors
    /// Frames could not be read, of which this is the first. All others were given on.
    pub fn stream(&self, sink: &mut impl Sink<Streamed>) -> Result<(), StoreError> {
        self.stream_as(&mut AsRecorded, sink)
    }

    /// The same, with accesses in another form.
    ///
    /// # Errors
    /// As [`Recording::stream`].
    pub fn stream_as<F: Form>(
        &self,
        form: &mut F,
        sink: &mut impl Sink<F::Access>,
    ) -> Result<(), StoreError> {
        let mut processes: BTreeMap<Option<ProcessId>, Interleaver<F::Access>> = BTreeMap::new();
        let mut trouble = None;
        for (row, frame) in (0..).zip(self.rows::<StreamFrame>()) {
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
