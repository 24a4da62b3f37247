use perf_event_open_sys::bindings::perf_event_attr;

use super::field::WORDS;

/// An event of a PMU, as the kernel takes it.
#[derive(Clone, Debug, PartialEq)]
pub struct PmuEvent {
    /// As it was asked for.
    pub name: String,
    /// What one count is, in `unit`; 1 where the kernel does not say.
    pub scale: f64,
    /// The kernel's word for the unit, where it has one, such as `Joules`.
    pub unit: Option<String>,
    /// What each PMU counts: the boxes of an uncore are a PMU each. The sum is the event.
    pub(super) codes: Vec<Code>,
}

impl PmuEvent {
    /// Whether it counts what the whole machine does, whoever does it: an uncore PMU, or RAPL.
    pub fn is_of_machine(&self) -> bool {
        self.codes.iter().any(|code| !code.cpus.is_empty())
    }
}

/// What one PMU counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Code {
    /// The PMU's number.
    pub kind: u32,
    /// `config`, `config1`, `config2`, `config3`.
    pub words: [u64; WORDS],
    /// What is left out.
    pub without: Without,
    /// One processor for each part of the machine that has such a PMU; none where it counts in the program's threads.
    pub cpus: Vec<u32>,
}

/// Modes of the processor that are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Without {
    /// User mode.
    pub user: bool,
    /// The kernel.
    pub kernel: bool,
    /// The hypervisor.
    pub hypervisor: bool,
}

impl Code {
    /// What another one would open, in the threads of a program.
    pub fn of(attr: &perf_event_attr) -> Self {
        // SAFETY: the words are numbers, whatever is in them.
        let config1 = unsafe { attr.__bindgen_anon_3.config1 };
        // SAFETY: as above.
        let config2 = unsafe { attr.__bindgen_anon_4.config2 };
        Self {
            kind: attr.type_,
            words: [attr.config, config1, config2, attr.config3],
            without: Without {
                user: attr.exclude_user() == 1,
                kernel: attr.exclude_kernel() == 1,
                // libpfm leaves it out where nothing is said of it.
                hypervisor: false,
            },
            cpus: Vec::new(),
        }
    }

    /// What to open, still without how it begins.
    pub fn attr(&self) -> perf_event_attr {
        let [config, config1, config2, config3] = self.words;
        let size = size_of::<perf_event_attr>() as u32;
        let mut attr = perf_event_attr { type_: self.kind, size, config, config3, ..Default::default() };
        attr.__bindgen_anon_3.config1 = config1;
        attr.__bindgen_anon_4.config2 = config2;
        attr.set_exclude_user(u64::from(self.without.user));
        attr.set_exclude_kernel(u64::from(self.without.kernel));
        attr.set_exclude_hv(u64::from(self.without.hypervisor));
        attr
    }
}
