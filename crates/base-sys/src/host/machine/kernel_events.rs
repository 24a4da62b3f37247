use super::Root;

/// Where the kernel lists its PMUs, with their events.
const DEVICES: &str = "sys/bus/event_source/devices";

/// An event of a PMU of this machine's kernel: of the processor, of its uncore, of RAPL.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KernelPmuEvent {
    /// `PMU/EVENT/`, as perf takes it.
    pub name: String,
    /// The terms that it stands for, such as `event=0x00`.
    pub terms: String,
    /// What one of it is, where the kernel says.
    pub unit: Option<String>,
}

/// The events that the kernel has names for, sorted.
pub fn kernel_events(root: &Root) -> Vec<KernelPmuEvent> {
    /// Beside an event's file are such with its unit and scale.
    const ABOUT: [&str; 3] = [".unit", ".scale", ".snapshot"];
    let mut all = Vec::new();
    for pmu in root.names(DEVICES) {
        let folder = format!("{DEVICES}/{pmu}/events");
        for event in
            root.names(&folder).iter().filter(|name| !ABOUT.iter().any(|about| name.ends_with(about)))
        {
            let Some(terms) = root.line(&format!("{folder}/{event}")) else { continue };
            let unit = root.line(&format!("{folder}/{event}.unit"));
            all.push(KernelPmuEvent { name: format!("{pmu}/{event}/"), terms, unit });
        }
    }
    all.sort();
    all
}
