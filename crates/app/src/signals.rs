//! How signals come.

use carom_base_sys::probe::DeliveryKind;
use carom_collect::DeliveryChoice;

/// As agents are told. POSIX timers are left where nothing was found to work.
pub const fn delivery(found: Option<DeliveryKind>) -> DeliveryChoice {
    match found {
        Some(DeliveryKind::Sigtrap) => DeliveryChoice::Sigtrap,
        Some(DeliveryKind::Setsig) => DeliveryChoice::Setsig,
        Some(DeliveryKind::PosixTimer) | None => DeliveryChoice::PosixTimer,
    }
}
