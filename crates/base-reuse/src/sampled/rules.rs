use carom_base::{Access, Locality, ReuseOutcome, Touch};

use super::slot::Use;
use super::watch::reuses;
use crate::Domain;

impl Use {
    /// The effect of an access to the watched bytes on this use; `None` if it has none (tables 6.2 and 6.3 of the
    /// thesis: reads by other threads outside of the scope; and accesses to bytes that are not watched for).
    pub fn verdict(&self, touch: &Touch, domain: Domain) -> Option<ReuseOutcome> {
        let (used, access) = (self.touch.access, touch.access);
        if !self.watches(access) {
            return None;
        }
        if reuses(self.scope, (self.touch.thread, self.domain), (touch.thread, domain)) {
            let same = same_range(used, access);
            let found = match self.locality {
                Locality::Temporal => same,
                Locality::Spatial => !same,
                Locality::Line => true,
            };
            return found.then_some(ReuseOutcome::Reused);
        }
        let spoils = match self.locality {
            Locality::Temporal => used.overlaps(access),
            // A write invalidates the whole line.
            Locality::Spatial | Locality::Line => true,
        };
        (access.kind.writes() && spoils).then_some(ReuseOutcome::Invalidated)
    }
}

/// "Exactly the same address" (thesis 6.2.1), and the same number of bytes.
fn same_range(one: Access, other: Access) -> bool {
    (one.addr, one.width) == (other.addr, other.width)
}
