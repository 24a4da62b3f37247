//! Signals are blocked by whoever blocked them first.

use std::thread;

use carom_base_sys::signal::{Mask, Quiet, bit, mask, quietly};

const ALL: Mask = !(bit(libc::SIGKILL) | bit(libc::SIGSTOP));

#[test]
fn quiet_ends_where_it_began() {
    let before = mask();
    let outer = Quiet::begin();
    drop(Quiet::begin());
    assert_eq!(mask(), ALL);
    drop(outer);
    let within = quietly(|| {
        drop(Quiet::begin());
        quietly(|| drop(Quiet::begin()));
        drop(Quiet::begin());
        let here = mask();
        // Another thread asks for itself, meanwhile and afterwards. The C library has it block all but two of these.
        let other = thread::spawn(|| {
            let before = mask();
            let within = quietly(|| {
                drop(Quiet::begin());
                mask()
            });
            (within, before == mask(), before == ALL)
        });
        (here, other.join().expect("the other thread"))
    });
    assert_eq!((within, mask()), ((ALL, (ALL, true, false)), before));
    // The kernel is asked again.
    let quiet = Quiet::begin();
    assert_eq!(mask(), ALL);
    drop(quiet);
    assert_eq!(mask(), before);
}
