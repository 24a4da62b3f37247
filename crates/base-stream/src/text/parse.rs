use std::{collections::BTreeMap, str::SplitWhitespace};

use carom_base::{Access, AccessKind, Addr, Ip, Nanos, ProcessId, ThreadId};

use super::{
    error::{Cause, TextError},
    words,
};
use crate::{
    record::{Event, Record, Streamed},
    synchronisation::{Act, Synchronisation},
};

/// The records of a text, in the order of its lines.
///
/// # Errors
/// The first line that is not a record, and why.
pub fn parse(text: &str) -> Result<Vec<Record>, TextError> {
    let mut parser = Parser::default();
    text.lines().filter_map(|line| parser.line(line).transpose()).collect()
}

/// Parses a text line by line, for streams that do not fit into memory.
#[derive(Clone, Debug, Default)]
pub struct Parser {
    /// The number of lines parsed.
    lines: usize,
    /// The time of the next record, if it has none.
    next: Nanos,
    /// For each thread: its process, and the time of its last record.
    threads: BTreeMap<ThreadId, (ProcessId, Nanos)>,
}

impl Parser {
    /// The record in the next line; `None` where it has none.
    ///
    /// # Errors
    /// The line is not a record. The parser can continue with the next one.
    pub fn line(&mut self, line: &str) -> Result<Option<Record>, TextError> {
        self.lines += 1;
        self.record(line).map_err(|cause| TextError { line: self.lines, cause })
    }

    fn record(&mut self, line: &str) -> Result<Option<Record>, Cause> {
        let code = line.split_once('#').map_or(line, |(code, _)| code);
        let mut words = code.split_whitespace();
        let Some(mut word) = words.next() else { return Ok(None) };
        let mut time = self.next;
        if let Some(digits) = word.strip_suffix(':') {
            time = Nanos(number(digits, "a time", word)?);
            word = words.next().ok_or(Cause::Missing("thread"))?;
        }
        let (process, thread) = thread_of(word)?;
        let event = event(&mut words)?;
        if let Some(word) = words.next() {
            return Err(Cause::LeftOver(word.to_owned()));
        }
        match self.threads.get(&thread) {
            Some((of, _)) if *of != process => return Err(Cause::OtherProcess { thread, process: *of }),
            Some((_, last)) if *last > time => return Err(Cause::BackInTime(thread)),
            _ => {}
        }
        self.threads.insert(thread, (process, time));
        self.next = Nanos(time.0.saturating_add(1));
        Ok(Some(Record { process, thread, time, event }))
    }
}

/// `THREAD` or `PROCESS.THREAD`.
fn thread_of(word: &str) -> Result<(ProcessId, ThreadId), Cause> {
    let (process, thread) = word.split_once('.').unwrap_or(("0", word));
    let id = |digits| number(digits, "a thread", word);
    Ok((ProcessId(id(process)?), ThreadId(id(thread)?)))
}

fn event(words: &mut SplitWhitespace<'_>) -> Result<Event, Cause> {
    let word = words.next().ok_or(Cause::Missing("event"))?;
    let (kind, atomic) = match word {
        words::BEGIN => return Ok(Event::Begin),
        words::END => return Ok(Event::End),
        words::LOAD => (AccessKind::Load, false),
        words::STORE => (AccessKind::Store, false),
        words::READ_MODIFY_WRITE => (AccessKind::ReadModifyWrite, false),
        words::ATOMIC => (AccessKind::ReadModifyWrite, true),
        _ => return synchronisation(word, words).map(Event::Synchronisation),
    };
    let width = words.next().ok_or(Cause::Missing("width"))?;
    let width: u32 = number(width, "a width", width)?;
    let addr = address(words)?;
    let ip = words.next().map_or(Ok(0), |word| number(word, "an instruction's address", word))?;
    if width == 0 {
        return Err(Cause::ZeroWidth);
    }
    if addr.0.checked_add(u64::from(width)).is_none() {
        return Err(Cause::AddressWraps);
    }
    Ok(Event::Access(Streamed { access: Access { ip: Ip(ip), addr, width, kind }, atomic }))
}

fn synchronisation(word: &str, words: &mut SplitWhitespace<'_>) -> Result<Synchronisation, Cause> {
    let what = Act::from_word(word).ok_or_else(|| malformed("a kind of event", word))?;
    Ok(Synchronisation { what, object: address(words)? })
}

/// `@ADDRESS`.
fn address(words: &mut SplitWhitespace<'_>) -> Result<Addr, Cause> {
    let word = words.next().ok_or(Cause::Missing("address"))?;
    let digits = word.strip_prefix('@').ok_or_else(|| malformed("an address", word))?;
    Ok(Addr(number(digits, "an address", word)?))
}

/// A number, decimal or hexadecimal, that fits into `N`. `word` is the word that contains it.
fn number<N: TryFrom<u64>>(digits: &str, expected: &'static str, word: &str) -> Result<N, Cause> {
    let (digits, radix) = digits.strip_prefix("0x").map_or((digits, 10), |digits| (digits, 16));
    // `from_str_radix` also takes a sign.
    let plain = digits.chars().all(|digit| digit.is_digit(radix));
    let value = u64::from_str_radix(digits, radix).ok().filter(|_| plain);
    value.and_then(|value| N::try_from(value).ok()).ok_or_else(|| malformed(expected, word))
}

fn malformed(expected: &'static str, found: &str) -> Cause {
    Cause::Malformed { expected, found: found.to_owned() }
}
