//! Signals are blocked by whoever blocked them first.

use carom_base_sys::signal::{Mask, Quiet, bit, mask, quiet_alone};

const ALL: Mask = !(bit(libc::SIGKILL) | bit(libc::SIGSTOP));

#[test]
fn quiet_ends_where_it_began() {
    let before = mask();
    let outer = Quiet::begin();
    drop(Quiet::begin());
    assert_eq!(mask(), ALL);
    drop(outer);
    let within = quiet_alone(|| {
        drop(Quiet::begin());
        mask()
    });
    assert_eq!((within, mask()), (ALL, before));
    // The kernel is asked again.
    let quiet = Quiet::begin();
    assert_eq!(mask(), ALL);
    drop(quiet);
    assert_eq!(mask(), before);
}
