use carom_base::{Access, Addr, ThreadId};

use crate::record::Streamed;

/// What a reader of frames has of an access.
///
/// What all accesses of a site have in common is told once for each frame, so that readers look it up once.
pub trait Form {
    /// An access.
    type Access: Copy;

    /// A site of a batch of this thread, by its first access there.
    fn site(&mut self, thread: ThreadId, first: &Streamed) -> Self::Access;

    /// The access of the same site to this place.
    fn at(access: Self::Access, addr: Addr) -> Self::Access;
}

/// Accesses as they were recorded.
#[derive(Clone, Copy, Debug, Default)]
pub struct AsRecorded;

impl Form for AsRecorded {
    type Access = Streamed;

    fn site(&mut self, _: ThreadId, first: &Streamed) -> Streamed {
        *first
    }

    #[inline]
    fn at(access: Streamed, addr: Addr) -> Streamed {
        Streamed { access: Access { addr, ..access.access }, ..access }
    }
}
