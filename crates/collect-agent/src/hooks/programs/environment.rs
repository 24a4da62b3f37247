//! The environment of a new program: with our entries where it can be profiled, without our library where it cannot.

use std::{
    ffi::{CStr, c_char},
    mem::MaybeUninit,
};

use carom_base_sys::user_memory::Reader;

/// What `execve` calls `envp`.
pub type Environment = *const *const c_char;

const PRELOAD: &[u8] = b"LD_PRELOAD=";

/// The entries that have a new program profiled.
pub struct Ours {
    /// This library, where it was preloaded; linked in, it cannot be passed on.
    pub library: Option<&'static [u8]>,
    /// `CAROM_SESSION=…`.
    pub session: &'static CStr,
    /// The length of `CAROM_SESSION=` in `session`.
    pub session_name: usize,
}

/// What to do with one entry.
enum Entry<'a> {
    Kept,
    /// Replaced by this one of ours.
    Ours(&'static CStr),
    /// `LD_PRELOAD` with this list, to be rewritten.
    Preload(&'a [u8]),
}

impl Ours {
    /// Calls `run` with `environment` made fit for a new program that is `profiled`, or not. It stays as it is
    /// where nothing needs to change, where it cannot be read, so that the kernel says what is wrong with it, and where it
    /// is so large that a copy would not fit the stack.
    ///
    /// The copy lies on the stack: a `vfork` child whose exec succeeds cannot free anything.
    ///
    /// # Safety
    /// What can be read of `environment` and its strings stays as it is meanwhile.
    pub unsafe fn with<R>(
        &self,
        environment: Environment,
        profiled: bool,
        run: impl FnOnce(Environment) -> R,
    ) -> R {
        // SAFETY: the caller's promise.
        let entries = || unsafe { strings(environment) };
        let mut bytes = 0;
        let (mut count, mut changes, mut preload, mut session) = (0, 0, false, false);
        for entry in entries() {
            let Ok(entry) = entry else { return run(environment) };
            count += 1;
            preload |= entry.to_bytes().starts_with(PRELOAD);
            session |= self.is_session(entry);
            match self.judge(entry, profiled) {
                Entry::Kept => continue,
                Entry::Ours(_) => {}
                Entry::Preload(list) => bytes += self.preload_bytes(list),
            }
            changes += 1;
        }
        let add_preload = profiled && !preload && self.library.is_some();
        let add_session = profiled && !session;
        if changes == 0 && !add_preload && !add_session {
            return run(environment);
        }
        bytes += self.preload_bytes(b"");
        // Two more entries, and the null at the end.
        let pointers = count + 3;
        let words = pointers + bytes.div_ceil(size_of::<usize>());
        on_stack(words, |block| {
            let Some(block) = block else { return run(environment) };
            let (pointers, text) = block.split_at_mut(pointers);
            let mut copy = Copy { pointers, length: 0, text: Bytes::new(text) };
            for entry in entries().take(count).flatten() {
                match self.judge(entry, profiled) {
                    Entry::Kept => copy.push(entry.as_ptr()),
                    Entry::Ours(ours) => copy.push(ours.as_ptr()),
                    Entry::Preload(list) => self.push_preload(&mut copy, list, profiled),
                }
            }
            if add_preload {
                self.push_preload(&mut copy, b"", profiled);
            }
            if add_session {
                copy.push(self.session.as_ptr());
            }
            copy.push(std::ptr::null());
            run(copy.pointers.as_ptr().cast())
        })
    }

    fn judge<'a>(&self, entry: &'a CStr, profiled: bool) -> Entry<'a> {
        if self.is_session(entry) && profiled && entry != self.session {
            return Entry::Ours(self.session);
        }
        let list = entry.to_bytes().strip_prefix(PRELOAD);
        let (Some(list), Some(library)) = (list, self.library) else { return Entry::Kept };
        let fits = if profiled {
            items(list).next() == Some(library)
        } else {
            items(list).all(|item| item != library)
        };
        if fits { Entry::Kept } else { Entry::Preload(list) }
    }

    fn is_session(&self, entry: &CStr) -> bool {
        let name = self.session.to_bytes().get(..self.session_name).unwrap_or_default();
        entry.to_bytes().starts_with(name)
    }

    /// No rewritten list is longer: ours, a separator and the null come on top.
    fn preload_bytes(&self, list: &[u8]) -> usize {
        PRELOAD.len() + self.library.map_or(0, <[u8]>::len) + list.len() + 2
    }

    /// Ours first where it is wanted, then the rest of `list`. A list of nothing leaves no entry behind.
    fn push_preload(&self, copy: &mut Copy<'_>, list: &[u8], profiled: bool) {
        let ours = self.library.filter(|_| profiled);
        let rest = items(list).filter(|&item| Some(item) != self.library);
        let mut all = ours.into_iter().chain(rest).peekable();
        if all.peek().is_none() {
            return;
        }
        let start = copy.text.here();
        copy.text.push(PRELOAD);
        while let Some(item) = all.next() {
            copy.text.push(item);
            copy.text.push(if all.peek().is_some() { b":" } else { b"\0" });
        }
        copy.push(start);
    }
}

/// The libraries of a list, which spaces or colons separate (ld.so(8)).
fn items(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|&byte| byte == b':' || byte == b' ').filter(|item| !item.is_empty())
}

/// An array or one of its strings cannot be read, or the string is longer than the kernel takes.
struct Unreadable;

/// The longest string that the kernel takes, with its end (`MAX_ARG_STRLEN`).
const MOST_STRING: usize = 32 * 4096;

/// The strings of an array that ends with null. What is behind an unreadable one is not looked at.
///
/// # Safety
/// The strings stay as they are while those returned are in use.
unsafe fn strings<'a>(array: Environment) -> impl Iterator<Item = Result<&'a CStr, Unreadable>> {
    let mut next = array;
    let (mut pointers, mut texts) = (Reader::default(), Reader::default());
    std::iter::from_fn(move || {
        if next.is_null() {
            return None;
        }
        let Some(string) = pointers.word(next.cast()) else {
            next = std::ptr::null();
            return Some(Err(Unreadable));
        };
        if string == 0 {
            return None;
        }
        next = next.wrapping_add(1);
        let string = std::ptr::with_exposed_provenance(string);
        // SAFETY: the caller's promise.
        Some(unsafe { texts.string(string, MOST_STRING) }.ok_or(Unreadable))
    })
}

/// A copy being made.
struct Copy<'a> {
    pointers: &'a mut [MaybeUninit<usize>],
    length: usize,
    text: Bytes<'a>,
}

impl Copy<'_> {
    fn push(&mut self, string: *const c_char) {
        if let Some(place) = self.pointers.get_mut(self.length) {
            place.write(string.expose_provenance());
            self.length += 1;
        }
    }
}

/// Bytes being filled in from the front.
struct Bytes<'a> {
    rest: &'a mut [MaybeUninit<u8>],
}

impl<'a> Bytes<'a> {
    fn new(words: &'a mut [MaybeUninit<usize>]) -> Self {
        // SAFETY: the same memory; bytes need no alignment and may be uninitialised.
        let (_, rest, _) = unsafe { words.align_to_mut::<MaybeUninit<u8>>() };
        Self { rest }
    }

    fn here(&self) -> *const c_char {
        self.rest.as_ptr().cast()
    }

    fn push(&mut self, bytes: &[u8]) {
        let rest = std::mem::take(&mut self.rest);
        let Some((place, rest)) = rest.split_at_mut_checked(bytes.len()) else { return };
        for (to, from) in place.iter_mut().zip(bytes) {
            to.write(*from);
        }
        self.rest = rest;
    }
}

/// The largest copy in words: 64 KiB, some 8,000 entries.
const MOST_WORDS: usize = 8192;

/// Calls `work` with at least `words` words of stack, or with `None` where that is too much to ask of a stack.
fn on_stack<R>(words: usize, work: impl FnOnce(Option<&mut [MaybeUninit<usize>]>) -> R) -> R {
    #[inline(never)]
    fn with<const N: usize, R>(work: impl FnOnce(Option<&mut [MaybeUninit<usize>]>) -> R) -> R {
        work(Some(&mut [MaybeUninit::uninit(); N]))
    }
    match words {
        0..=256 => with::<256, R>(work),
        257..=1024 => with::<1024, R>(work),
        1025..=MOST_WORDS => with::<MOST_WORDS, R>(work),
        _ => work(None),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;

    use super::*;

    const OURS: Ours =
        Ours { library: Some(b"/a.so"), session: c"CAROM_SESSION=/s", session_name: "CAROM_SESSION=".len() };

    /// The environment that a program gets, from the one that it was to have.
    fn given(ours: &Ours, profiled: bool, before: &[&str]) -> Vec<String> {
        let before: Vec<CString> = before.iter().map(|entry| CString::new(*entry).unwrap()).collect();
        let mut array: Vec<*const c_char> = before.iter().map(|entry| entry.as_ptr()).collect();
        array.push(std::ptr::null());
        let collect = |environment| {
            // SAFETY: made by the function under test.
            unsafe { strings(environment) }
                .flatten()
                .map(|entry| entry.to_str().unwrap().to_owned())
                .collect()
        };
        // SAFETY: an array of strings that ends with null.
        unsafe { ours.with(array.as_ptr(), profiled, collect) }
    }

    #[test]
    fn ours_come_back_and_the_rest_stays_in_place() {
        assert_eq!(given(&OURS, true, &[]), ["LD_PRELOAD=/a.so", "CAROM_SESSION=/s"]);
        assert_eq!(
            given(&OURS, true, &["A=1", "LD_PRELOAD=x.so y.so", "B=", "CAROM_SESSION=/other", "Z"]),
            ["A=1", "LD_PRELOAD=/a.so:x.so:y.so", "B=", "CAROM_SESSION=/s", "Z"]
        );
        assert_eq!(
            given(&OURS, true, &["LD_PRELOAD=x.so:/a.so", "CAROM_SESSION=/s"]),
            ["LD_PRELOAD=/a.so:x.so", "CAROM_SESSION=/s"]
        );
        assert_eq!(given(&OURS, true, &["CAROM_SESSIONS=1", "LD_PRELOADS=1"]).len(), 4);
    }

    #[test]
    fn what_cannot_be_profiled_gets_the_callers_list_only() {
        assert_eq!(given(&OURS, false, &["LD_PRELOAD=/a.so", "A=1"]), ["A=1"]);
        assert_eq!(given(&OURS, false, &["LD_PRELOAD=/a.so:x.so", "A=1"]), ["LD_PRELOAD=x.so", "A=1"]);
        let session = ["CAROM_SESSION=/s", "LD_PRELOAD=x.so"];
        assert_eq!(given(&OURS, false, &session), session);
        assert_eq!(given(&OURS, false, &[]), [""; 0]);
    }

    #[test]
    fn a_fitting_environment_is_passed_on_itself() {
        let array = [c"LD_PRELOAD=/a.so:b.so".as_ptr(), c"CAROM_SESSION=/s".as_ptr(), std::ptr::null()];
        // SAFETY: an array of strings that ends with null.
        unsafe { OURS.with(array.as_ptr(), true, |given| assert_eq!(given, array.as_ptr())) };
        // SAFETY: null stands for an empty array.
        unsafe { OURS.with(std::ptr::null(), false, |given| assert!(given.is_null())) };
    }

    #[test]
    fn a_null_array_is_an_empty_one() {
        let count = |environment| {
            // SAFETY: made by the function under test.
            unsafe { strings(environment) }.count()
        };
        // SAFETY: null stands for an empty array.
        assert_eq!(unsafe { OURS.with(std::ptr::null(), true, count) }, 2);
    }

    #[test]
    fn what_cannot_be_read_is_passed_on_itself() {
        let nowhere = std::ptr::without_provenance::<c_char>(8);
        let array = [c"A=1".as_ptr(), nowhere, std::ptr::null()];
        let long = CString::new(vec![b'a'; MOST_STRING]).unwrap();
        let endless = [long.as_ptr(), std::ptr::null()];
        for environment in [nowhere.cast(), array.as_ptr(), endless.as_ptr()] {
            // SAFETY: nobody changes it.
            unsafe { OURS.with(environment, true, |given| assert_eq!(given, environment)) };
        }
    }

    #[test]
    fn linked_in_only_the_session_is_passed_on() {
        let linked = Ours { library: None, ..OURS };
        assert_eq!(given(&linked, true, &["LD_PRELOAD=x.so"]), ["LD_PRELOAD=x.so", "CAROM_SESSION=/s"]);
    }

    #[test]
    fn every_size_is_copied_whole_or_left_alone() {
        // 8,191 entries and their 3 more words no longer fit 8,192 words: then the environment stays as it is.
        for (count, expected) in [(10, 12), (300, 302), (2_000, 2_002), (8_191, 8_191)] {
            assert_eq!(given(&OURS, true, &vec!["NAME=value"; count]).len(), expected, "{count}");
        }
    }
}
