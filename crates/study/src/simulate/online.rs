//! A simulation of accesses while they are recorded, which keeps none of them.

use std::{cell::RefCell, collections::BTreeMap};

use carom_base::ProcessId;
use carom_base_sim::MachineError;
use carom_base_stream::{Interleaver, Limits, frame::Head};
use carom_store::{MachineInfo, StreamFrame};

use super::{
    Implied, Instructions, Numbered, Parts, SimulateFindings, SimulateStudy, Simulated, feed::Feed, threads,
    with_cores,
};
use crate::{Study, recording::Recordings};

/// Cores that are simulated at least, since it is not known how many threads there will be: threads that share a core never take
/// lines from each other.
const FEWEST_CORES: usize = 16;

/// A simulation that was fed while the program ran. It answers for the recording of that run.
#[derive(Clone, Debug)]
pub struct Online {
    study: SimulateStudy,
    simulated: Simulated,
}

impl Online {
    /// Simulates accesses as they come until there are no more. `info`: the machine that they are made on. Accesses are in their recorded
    /// order, with data where the program has it: no other order, no change of the layout and no comparison.
    ///
    /// # Errors
    /// The machine cannot be simulated.
    pub fn new(
        study: SimulateStudy,
        info: &MachineInfo,
        frames: impl Iterator<Item = (ProcessId, StreamFrame)>,
    ) -> Result<Self, MachineError> {
        let (name, machine) = study.machine.on(Some(info));
        let machine = with_cores(machine, study.cores, FEWEST_CORES);
        let parts = Parts::new(&machine, study.settings(&machine), study.threads)?;
        let mut feed = Feed::new(parts, &machine, &study.placement, &[], None)?;
        feed.progress = study.progress;
        let instructions = RefCell::new(Instructions::default());
        let mut interleavers = BTreeMap::new();
        let mut placed = Vec::new();
        let mut damage = None;
        for (process, frame) in frames {
            if let Ok(Head { thread, .. }) = frame.head() {
                let number = thread.0 as usize;
                if placed.get(number) != Some(&Some(process)) {
                    placed.resize(placed.len().max(number + 1), None);
                    placed[number] = Some(process);
                    instructions.borrow_mut().place(thread, process);
                    feed.place(thread, process, study.placement.core(number, &machine)?);
                }
            }
            let frame = match frame.decode_as(&mut Numbered(&instructions)) {
                Ok(frame) => frame,
                Err(error) => {
                    damage.get_or_insert_with(|| error.to_string());
                    continue;
                }
            };
            let interleaver =
                interleavers.entry(process).or_insert_with(|| Interleaver::new(frame.at, Limits::default()));
            interleaver.take_frame(frame, &mut feed);
        }
        interleavers.values_mut().for_each(|interleaver| interleaver.flush(&mut feed));
        Ok(Self {
            study,
            simulated: Simulated {
                name,
                machine,
                fed: feed.end(instructions.into_inner().into_all()),
                damage,
            },
        })
    }
}

impl Study for Online {
    type Findings = SimulateFindings;

    fn study(&self, recordings: &mut Recordings<'_>) -> SimulateFindings {
        let threads = threads(recordings);
        self.study.found(recordings, self.simulated.clone(), &mut Implied::default(), &threads)
    }
}
