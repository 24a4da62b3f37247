//! The agent's code that runs among the program's: functions that lead on to the C library's.
//!
//! It lies in a section of its own. Where the program's code is translated, this is translated with it, uncounted.

use std::ops::Range;

/// Where it lies.
pub fn code() -> Range<u64> {
    // The linker defines these for sections whose names are identifiers.
    unsafe extern "C" {
        #[link_name = "__start_carom_led_on"]
        static START: u8;
        #[link_name = "__stop_carom_led_on"]
        static STOP: u8;
    }
    (&raw const START).addr() as u64..(&raw const STOP).addr() as u64
}
