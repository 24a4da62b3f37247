use carom_base::{Access, Locality, ReuseOutcome, Touch};

use super::slot::Use;
use super::watch::reuses;
use crate::Domain;

impl Use {
    /// What an access to the watched bytes means for this use; `None` where it decides nothing (tables 6.2 and 6.3 of
    /// the thesis: reads of strangers; and accesses to other bytes than those looked for).
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
            // A line is lost as a whole.
            Locality::Spatial | Locality::Line => true,
        };
        (access.kind.writes() && spoils).then_some(ReuseOutcome::Invalidated)
    }
}

/// "Exactly the same address" (thesis 6.2.1), and as many bytes from there.
fn same_range(one: Access, other: Access) -> bool {
    (one.addr, one.width) == (other.addr, other.width)
}
