//! The remedy in words, with the evidence for it.

mod advice;
mod check;
mod contention;
mod language;
pub(crate) mod model;

pub use advice::SOME_FALSE;
use carom_base::ThreadId;
use carom_study::{
    share::{self, ByteRange, Check, LineFinding, Padding, Parts, Remedy as Advice},
    symbols::DataObject,
};

use crate::{
    model::{CheckOutcome, Contended, Primitive, Remedy, RemedyKind},
    named::frame,
    words::{self, ThreadNames},
};

/// More parts than this are summed up instead of listed.
const LISTED: usize = 3;

/// What to do about one line.
pub fn remedy(finding: &LineFinding, check: Option<&Check>, names: &ThreadNames) -> Remedy {
    remedy_for(&finding.object, &finding.remedy, finding, check, names)
}

/// What to do about an object: its own remedy, with the words and the evidence of its worst line.
pub fn remedy_for(
    object: &DataObject,
    advice: &Advice,
    worst: &LineFinding,
    check: Option<&Check>,
    names: &ThreadNames,
) -> Remedy {
    let none = Vec::new;
    let check = check.map(check::convert);
    let withdrawn = check.as_ref().filter(|check| check.outcome == CheckOutcome::Withdrawn);
    let part = |padding: &Padding| match withdrawn {
        Some(check) => (none(), check.text.clone()),
        None => (padding.at_line_offsets.clone(), advice::part(worst, object, padding)),
    };
    let of = match advice {
        Advice::Contend(of) => Some(contended(of)),
        Advice::PadThenShareLess { lock, .. } => lock.as_ref().map(contended),
        _ => None,
    };
    let (kind, offsets, text) = match advice {
        Advice::Pad(padding) => {
            let kind = match padding.of {
                Parts::Fields | Parts::Variables => RemedyKind::Pad,
                Parts::Elements(_) | Parts::Repeated(_) => RemedyKind::PadElements,
                Parts::Blocks => RemedyKind::AlignBlocks,
                Parts::Pieces => RemedyKind::LargerPieces,
            };
            let (offsets, text) = part(padding);
            (kind, offsets, text)
        }
        Advice::ShareLess { handed: Some(handed), .. } => {
            (RemedyKind::ShareLess, none(), advice::hand_over(object, handed))
        }
        Advice::ShareLess { offset, width, elements, .. } => {
            let text = match elements {
                true => advice::share_elements_less(worst, object, *offset),
                false => advice::share_less(worst, object, *offset, *width),
            };
            (RemedyKind::ShareLess, none(), text)
        }
        Advice::Contend(_) => (
            RemedyKind::Contend,
            none(),
            of.as_ref()
                .map(|of| contention::contend(object, of) + contention::no_padding(of))
                .unwrap_or_default(),
        ),
        Advice::PadThenShareLess { padding, .. } => {
            let (offsets, pad) = part(padding);
            let then = match &of {
                Some(of) => contention::contend(object, of),
                None if withdrawn.is_some() => "Some fields really are shared.".into(),
                None => "Then measure again: some fields really are shared.".into(),
            };
            (RemedyKind::PadThenShareLess, offsets, format!("{pad} {then}"))
        }
    };
    Remedy { kind, at_line_offsets_bytes: offsets, of, text, evidence: evidence(worst, names), check }
}

impl Remedy {
    /// No change is offered, and why; the evidence stays.
    pub(super) fn withhold(&mut self, why: &str) {
        self.kind = RemedyKind::None;
        self.at_line_offsets_bytes.clear();
        self.of = None;
        why.clone_into(&mut self.text);
    }
}

fn contended(of: &share::Contended) -> Contended {
    Contended {
        primitive: match of.primitive {
            share::Primitive::Mutex => Primitive::Mutex,
            share::Primitive::Critical => Primitive::Critical,
            share::Primitive::RwLock => Primitive::RwLock,
            share::Primitive::Spinlock => Primitive::Spinlock,
            share::Primitive::OwnLock => Primitive::OwnLock,
            share::Primitive::Condition => Primitive::Condition,
            share::Primitive::Barrier => Primitive::Barrier,
            share::Primitive::Semaphore => Primitive::Semaphore,
            share::Primitive::Once => Primitive::Once,
            share::Primitive::Stream => Primitive::Stream,
            share::Primitive::Allocator => Primitive::Allocator,
            share::Primitive::Channel => Primitive::Channel,
            share::Primitive::Interpreter => Primitive::Interpreter,
            share::Primitive::OpenMp => Primitive::OpenMp,
            share::Primitive::LibraryState => Primitive::LibraryState,
            share::Primitive::ReferenceCount => Primitive::ReferenceCount,
        },
        name: of.name.clone(),
        users: of.users.iter().map(frame).collect(),
        elsewhere: of.elsewhere,
        several: of.several,
    }
}

/// Who does what to which bytes, and how much of the sharing is false.
fn evidence(finding: &LineFinding, names: &ThreadNames) -> String {
    let ids = |threads: &[ThreadId]| threads.iter().map(|thread| thread.0).collect::<Vec<_>>();
    let clause = |range: &ByteRange| {
        let bytes = words::bytes(range.offset, range.width);
        let (writers, readers) = (ids(&range.writers), ids(&range.readers));
        let verb = |threads: &[u32], one: &str, many: &str| {
            format!("{} {}", names.list(threads), if threads.len() == 1 { one } else { many })
        };
        match (writers.is_empty(), readers.is_empty()) {
            (false, true) => Some(format!("{} {bytes}", verb(&writers, "writes", "write"))),
            (true, false) => Some(format!("{} {bytes}", verb(&readers, "reads", "read"))),
            (false, false) if writers == readers => {
                Some(format!("{} {bytes}", verb(&writers, "reads and writes", "read and write")))
            }
            (false, false) => Some(format!(
                "{} {bytes}, which {}",
                verb(&writers, "writes", "write"),
                verb(&readers, "reads", "read")
            )),
            (true, true) => None,
        }
    };
    let mut clauses: Vec<String> = finding.layout.iter().filter_map(clause).collect();
    if clauses.len() > LISTED {
        let more = clauses.split_off(LISTED).len();
        clauses.push(format!("and so on for {}", words::count(more, "more range")));
    }
    let sharing = finding.true_sharing + finding.false_sharing;
    if sharing > 0.0 {
        let part = match finding.false_sharing / sharing {
            none if none <= 0.0 => "all sharing seen is true".into(),
            all if all >= 1.0 => "all sharing seen is false".into(),
            part => format!("{} of the sharing seen is false", words::percent(part)),
        };
        clauses.push(part);
    }
    clauses.join("; ")
}
