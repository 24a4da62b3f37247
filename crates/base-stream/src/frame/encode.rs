use carom_base::{Domain, Nanos, ThreadId, difference, put_varint};
use rustc_hash::FxHashMap;

use super::{
    codes,
    site::{Expected, Site},
};
use crate::{interleave::Stamp, record::Streamed, synchronisation::Mark};

/// The parts of a batch beside its accesses. See [`Batch`](crate::Batch).
#[derive(Clone, Copy, Debug)]
pub struct BatchHead<'a> {
    /// The thread.
    pub thread: ThreadId,
    /// The shared cache that it ran on.
    pub domain: Domain,
    /// A time by which all of them had been made.
    pub at: Nanos,
    /// Whether the thread accesses nothing until it begins again.
    pub pauses: bool,
    /// In program order. At most as many as accesses, and none after the last access.
    pub stamps: &'a [Stamp],
    /// In program order, and none after the last access. A frame without any is as it was before there were marks.
    pub marks: &'a [Mark],
}

/// Writes frames, also of many threads: no frame is needed to read the next.
#[derive(Clone, Debug, Default)]
pub struct Encoder {
    /// State of the current batch.
    sites: Vec<Site>,
    numbers: FxHashMap<Site, u32>,
    expected: Expected,
    site_column: Vec<u8>,
    address_column: Vec<u8>,
    count: u64,
    frame: Vec<u8>,
}

impl Encoder {
    /// Appends that a thread begins to access memory.
    pub fn begin(&mut self, thread: ThreadId, at: Nanos, out: &mut Vec<u8>) {
        self.head(thread, at, codes::BEGIN);
        self.put_frame(out);
    }

    /// Appends that a thread makes no more accesses.
    pub fn end(&mut self, thread: ThreadId, at: Nanos, out: &mut Vec<u8>) {
        self.head(thread, at, codes::END);
        self.put_frame(out);
    }

    /// Appends a batch. With up to 64 Ki accesses a frame never exceeds its largest size.
    pub fn batch(
        &mut self,
        head: &BatchHead<'_>,
        accesses: impl IntoIterator<Item = Streamed>,
        out: &mut Vec<u8>,
    ) {
        self.accesses(accesses);
        self.encoded(head, out);
    }

    /// Encodes the accesses of a batch: almost all the work, for which the rest of it need not be known.
    pub fn accesses(&mut self, accesses: impl IntoIterator<Item = Streamed>) {
        self.sites.clear();
        self.numbers.clear();
        self.expected.clear();
        self.site_column.clear();
        self.address_column.clear();
        self.count = 0;
        for streamed in accesses {
            self.access(&streamed);
            self.count += 1;
        }
    }

    /// Appends a batch of the accesses that were encoded last. With up to 64 Ki of them a frame never exceeds its largest size.
    pub fn encoded(&mut self, head: &BatchHead<'_>, out: &mut Vec<u8>) {
        let what = if head.marks.is_empty() { codes::BATCH } else { codes::BATCH_WITH_MARKS };
        self.head(head.thread, head.at, what);
        put_varint(&mut self.frame, head.domain.0.into());
        self.frame.push(head.pauses.into());
        self.put_stamps(head);
        self.put_marks(head);
        self.put_sites();
        put_varint(&mut self.frame, self.count);
        self.frame.append(&mut self.site_column);
        self.frame.append(&mut self.address_column);
        self.put_frame(out);
    }

    #[inline]
    fn access(&mut self, streamed: &Streamed) {
        let site = Site::of(streamed);
        let expected = self.expected.site();
        let number =
            if self.sites.get(expected as usize) == Some(&site) { expected } else { self.number(site) };
        let code = if number == expected { 0 } else { u64::from(number) + 1 };
        put_varint(&mut self.site_column, code);
        let addr = streamed.access.addr;
        let before = self.expected.address(number).unwrap_or_default();
        put_varint(&mut self.address_column, difference(before.0, addr.0));
        self.expected.note(number, addr);
    }

    /// The number of a site; a new site gets a new number.
    fn number(&mut self, site: Site) -> u32 {
        let next = self.sites.len() as u32;
        let number = *self.numbers.entry(site).or_insert(next);
        if number == next {
            self.sites.push(site);
            self.expected.add_site();
        }
        number
    }

    fn head(&mut self, thread: ThreadId, at: Nanos, what: u8) {
        self.frame.clear();
        put_varint(&mut self.frame, thread.0.into());
        put_varint(&mut self.frame, at.0);
        self.frame.push(what);
    }

    fn put_stamps(&mut self, head: &BatchHead<'_>) {
        put_varint(&mut self.frame, head.stamps.len() as u64);
        let mut before = Stamp { accesses: 0, at: head.at };
        for stamp in head.stamps {
            put_varint(&mut self.frame, stamp.accesses.saturating_sub(before.accesses) as u64);
            put_varint(&mut self.frame, difference(before.at.0, stamp.at.0));
            before = *stamp;
        }
    }

    fn put_marks(&mut self, head: &BatchHead<'_>) {
        if head.marks.is_empty() {
            return;
        }
        put_varint(&mut self.frame, head.marks.len() as u64);
        let (mut before, mut object) = (Stamp { accesses: 0, at: head.at }, 0);
        for &Mark { accesses, at, synchronisation } in head.marks {
            put_varint(&mut self.frame, accesses.saturating_sub(before.accesses) as u64);
            put_varint(&mut self.frame, difference(before.at.0, at.0));
            self.frame.push(synchronisation.what as u8);
            put_varint(&mut self.frame, difference(object, synchronisation.object.0));
            (before, object) = (Stamp { accesses, at }, synchronisation.object.0);
        }
    }

    fn put_sites(&mut self) {
        put_varint(&mut self.frame, self.sites.len() as u64);
        let mut before = 0;
        for site in &self.sites {
            put_varint(&mut self.frame, difference(before, site.ip.0));
            put_varint(&mut self.frame, site.width.into());
            self.frame.push(site.kind);
            before = site.ip.0;
        }
    }

    fn put_frame(&self, out: &mut Vec<u8>) {
        put_varint(out, self.frame.len() as u64);
        out.extend_from_slice(&self.frame);
    }
}
