use carom_base::{Cpu, Sample, SharingEvent, ThreadId};

use super::Periods;
use crate::recording::Input;

/// The rows and facts of a recording that this study needs, beyond [`Input`]. Read from a store in `recording.rs`, made by hand
/// in tests.
///
/// Events and samples are read once each, front to back, so that a recording never has to fit in memory.
pub trait ShareInput: Input {
    /// The core that a logical processor belongs to: equal numbers are hardware threads of one core. `None`
    /// where the recording does not say.
    fn core_of(&self, cpu: Cpu) -> Option<u32>;

    /// The accesses that the samples of this thread stand for; `None` where they stand for something else. The
    /// weight of an event is then in units of [`Periods::shortest`].
    fn periods(&self, thread: ThreadId) -> Option<Periods>;

    /// Nanoseconds that a line takes from one core to another that contends for it, where measured.
    fn transfer_ns(&self) -> Option<f64>;

    /// Every sharing event, in any order.
    fn events(&self) -> Box<dyn Iterator<Item = SharingEvent> + '_>;

    /// Every sample. The parts of one sample follow each other; otherwise the order is that of time except
    /// for the delays between the rings of different threads, up to 65,536 samples.
    fn samples(&self) -> Box<dyn Iterator<Item = Sample> + '_>;
}
