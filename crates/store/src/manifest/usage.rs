use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a program used in a run without carom in it, with the children that it waited for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UsageInfo {
    /// From its start to its end, in nanoseconds.
    pub elapsed_ns: u64,
    /// CPU time in user mode, in nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// The largest resident memory of one of its processes; `None` where it is less than carom's own, which hides it.
    pub peak_resident_bytes: Option<u64>,
    /// Page faults without input or output.
    pub minor_faults: u64,
    /// Page faults that waited for a device.
    pub major_faults: u64,
    /// How often it waited.
    pub voluntary_switches: u64,
    /// How often others took its processor.
    pub involuntary_switches: u64,
    /// Blocks of 512 bytes that were read from devices.
    pub blocks_read: u64,
    /// Blocks of 512 bytes that were written to devices.
    pub blocks_written: u64,
    /// CPU time by the kernel's scheduler, in nanoseconds. This and what follows: `None` where it was not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_clock_ns: Option<u64>,
    /// Moves of a thread to another processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub migrations: Option<u64>,
    /// Accesses that the kernel had to align.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alignment_faults: Option<u64>,
    /// Instructions that the kernel had to emulate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emulation_faults: Option<u64>,
    /// Calls that read from files, pipes and sockets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_calls: Option<u64>,
    /// Calls that wrote to them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_calls: Option<u64>,
    /// Bytes that those calls read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_bytes_read: Option<u64>,
    /// Bytes that those calls wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_bytes_written: Option<u64>,
    /// How often it passed tracepoints of the kernel that were asked for, as `subsystem:event`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tracepoints: BTreeMap<String, u64>,
    /// What events of PMUs counted that were asked for, by their names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pmu: BTreeMap<String, PmuCount>,
}

/// What an event of a PMU counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PmuCount {
    /// As the counters had it.
    pub count: u64,
    /// Nanoseconds for which it was to count, over all threads or processors.
    pub enabled_ns: u64,
    /// Those of them for which it had a counter: less where events took turns.
    pub running_ns: u64,
    /// What one count is, in `unit`.
    pub scale: f64,
    /// The kernel's word for the unit, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Whether it counted what the whole machine did, and not the program alone.
    pub of_machine: bool,
}
