//! The accesses of a batch, in the forms that are needed of them.

use carom_base::Access;
use carom_base_stream::{
    Mark, Stamp, Streamed,
    frame::{Encoder, MOST_ACCESSES, MOST_SITES},
};
use carom_collect_translate::{Block, Repeated};

use super::{front::Purpose, pipeline};

/// The heap block of one access in this number is looked up while it is live; blocks that matter are accessed more
/// often than that. A prime, so that loops do not keep step with it.
const LOOKED_UP_EVERY: usize = 251;

/// Accesses that are handed over at once, at most [`MOST_ACCESSES`].
#[derive(Debug)]
pub struct Taken {
    /// In full, where they are analysed.
    pub accesses: Vec<Access>,
    /// Where they are kept.
    pub encoder: Option<Encoder>,
    pub stamps: Vec<Stamp>,
    pub marks: Vec<Mark>,
    /// Those whose heap blocks are looked up.
    pub looked_up: Vec<Access>,
    analyse: bool,
    count: usize,
    /// Accesses until the next one that is looked up.
    until: usize,
}

impl Taken {
    pub fn new(purpose: Purpose) -> Self {
        Self {
            accesses: if purpose.analyse { pipeline::spare_batch() } else { Vec::new() },
            encoder: purpose.keep.then(pipeline::spare_encoder),
            stamps: Vec::new(),
            marks: Vec::new(),
            looked_up: Vec::new(),
            analyse: purpose.analyse,
            count: 0,
            until: 0,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// How many more are not too many.
    pub fn room(&self) -> usize {
        MOST_ACCESSES - self.count
    }

    /// Takes the accesses of a block: as many executions as there is room for, which must be one.
    #[inline]
    pub fn block(&mut self, block: &mut Block<'_>) {
        let (begin, sites, room) = (block.clone(), block.sites(), self.room());
        // A division would take longer than everything else.
        let is_near = block.most_executions() * sites > room;
        let most = if is_near { room / sites } else { usize::MAX };
        let times = match &mut self.encoder {
            Some(encoder) if sites <= MOST_SITES => {
                let first = || begin.clone().first().map(|(access, of)| (streamed(access), of));
                encoder.accesses().block(block.number(), block.executions().take(most), first)
            }
            None if self.analyse => block.append(most, &mut self.accesses),
            _ => block.executions().take(most).count(),
        };
        let count = times * sites;
        if self.analyse && self.encoder.is_some() {
            begin.clone().append(times, &mut self.accesses);
        }
        if let Some(encoder) = self.encoder.as_mut().filter(|_| sites > MOST_SITES) {
            let all = begin.clone().accesses().take(count);
            all.for_each(|access| encoder.accesses().push(&streamed(access)));
        }
        self.more(count, |nth| begin.clone().accesses().nth(nth));
    }

    /// Takes one access.
    #[inline]
    pub fn access(&mut self, access: &Access) {
        if self.analyse {
            self.accesses.push(*access);
        }
        if let Some(encoder) = &mut self.encoder {
            encoder.accesses().push(&streamed(*access));
        }
        self.more(1, |_| Some(*access));
    }

    /// Takes what an instruction repeats, with so many accesses each time, from the time `begin` on: as often as there is room for, which
    /// must be once. Returns how often.
    pub fn repeated(&mut self, repeated: &Repeated<'_>, begin: u64, sites: usize) -> u64 {
        let times = (repeated.times - begin).min((self.room() / sites) as u64);
        if self.analyse {
            self.accesses.extend(repeated.accesses(begin, times));
        }
        if let Some(encoder) = &mut self.encoder {
            let first = repeated.accesses(begin, 1).map(streamed);
            encoder.accesses().repeated(first, times as usize, repeated.stride);
        }
        let of = |nth: usize| repeated.accesses(begin + (nth / sites) as u64, 1).nth(nth % sites);
        self.more(times as usize * sites, of);
        times
    }

    /// So many more accesses were taken: `of` gives one by its number among them.
    #[inline]
    fn more(&mut self, more: usize, of: impl Fn(usize) -> Option<Access>) {
        self.count += more;
        while self.until < more {
            self.looked_up.extend(of(self.until));
            self.until += LOOKED_UP_EVERY;
        }
        self.until -= more;
    }

    /// Begins anew, once they were handed over.
    pub fn clear(&mut self) {
        self.accesses.clear();
        if let Some(encoder) = &mut self.encoder {
            encoder.accesses().clear();
        }
        self.stamps.clear();
        self.marks.clear();
        self.looked_up.clear();
        (self.count, self.until) = (0, 0);
    }

    /// Gives back what others can use again.
    pub fn give_back(mut self) {
        self.clear();
        if self.analyse && self.accesses.capacity() <= MOST_ACCESSES {
            pipeline::give_back(self.accesses);
        }
        if let Some(encoder) = self.encoder {
            pipeline::give_back_encoder(encoder);
        }
    }
}

/// Streams do not mark locked instructions.
const fn streamed(access: Access) -> Streamed {
    Streamed { access, atomic: false }
}
