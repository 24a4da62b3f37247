use serde::{Deserialize, Serialize};

/// What a program used in a run without carom in it, with the children that it waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
}
