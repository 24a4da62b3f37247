//! Code that is mapped, unmapped and changed while translated code runs.
#![allow(clippy::unwrap_used)] // What a test cannot have fails it.

mod support;

use std::{
    ffi::{CStr, CString},
    fs,
    os::fd::AsRawFd,
    path::{Path, PathBuf},
    process::Command,
};

use support::counted;

const PAGE: usize = 4096;
const READ_EXECUTE: i32 = libc::PROT_READ | libc::PROT_EXEC;
const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()))
}

/// A library whose `answer` returns `number`.
fn library(name: &str, number: u32) -> CString {
    let (source, made) = (place(&format!("{name}.c")), place(&format!("{name}.so")));
    fs::write(&source, format!("int answer(void) {{ return {number}; }}")).unwrap();
    let status =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&made).arg(&source).status().unwrap();
    assert!(status.success());
    fs::remove_file(source).unwrap();
    CString::new(made.into_os_string().into_encoded_bytes()).unwrap()
}

fn remove(library: &CStr) {
    fs::remove_file(library.to_str().unwrap()).unwrap();
}

/// Opens the library at `a`, calls its `answer`, stores the address of that at `b`, and closes the library.
unsafe extern "C" fn ask(a: u64, b: u64) -> u64 {
    // SAFETY: a string of the caller's.
    let library = unsafe { libc::dlopen(a as *const libc::c_char, libc::RTLD_NOW) };
    // SAFETY: an open library.
    let answer = unsafe { libc::dlsym(library, c"answer".as_ptr()) };
    // SAFETY: a word of the caller's.
    unsafe { (b as *mut u64).write(answer as u64) };
    // SAFETY: that is its type.
    let answer: extern "C" fn() -> i32 = unsafe { std::mem::transmute(answer) };
    let number = answer();
    // SAFETY: opened above, and used no more.
    unsafe { libc::dlclose(library) };
    number as u64
}

/// The kernel maps the second library where the first was: the same addresses, other code.
#[test]
fn a_library_in_the_place_of_another() {
    let libraries = [(library("one", 1), 1), (library("two", 2), 2)];
    let mut places = Vec::new();
    for (library, number) in libraries.iter().cycle().take(10) {
        let mut place = 0u64;
        let (answer, totals) = counted(ask, library.as_ptr() as u64, &raw mut place as u64);
        // SAFETY: written in the cache.
        places.push(unsafe { (&raw const place).read_volatile() });
        assert_eq!(answer, *number);
        // It left only to return here.
        assert_eq!(totals.coverage.leaves[carom_collect_translate::Leave::ForeignCode as usize], 1);
    }
    places.sort_unstable();
    places.dedup();
    assert!(places.len() < 10, "no place was used twice: {places:x?}");
    libraries.iter().for_each(|(library, _)| remove(library));
}

/// Two pages of a file: the first calls the second and adds 100 to its result, which is `number`.
fn two_pages(name: &str, number: u8) -> (PathBuf, fs::File) {
    let mut code = vec![0x90; 2 * PAGE];
    // sub rsp, 8; call second; add eax, 100; add rsp, 8; ret
    code[..4].copy_from_slice(&[0x48, 0x83, 0xec, 8]);
    code[4] = 0xe8;
    code[5..9].copy_from_slice(&(PAGE as u32 - 9).to_le_bytes());
    code[9..17].copy_from_slice(&[0x83, 0xc0, 100, 0x48, 0x83, 0xc4, 8, 0xc3]);
    // mov eax, number; ret
    code[PAGE..PAGE + 6].copy_from_slice(&[0xb8, number, 0, 0, 0, 0xc3]);
    let path = place(name);
    fs::write(&path, code).unwrap();
    let file = fs::File::open(&path).unwrap();
    (path, file)
}

fn map(file: &fs::File) -> u64 {
    // SAFETY: a new mapping.
    let at = unsafe {
        libc::mmap(std::ptr::null_mut(), 2 * PAGE, READ_EXECUTE, libc::MAP_PRIVATE, file.as_raw_fd(), 0)
    };
    assert_ne!(at, libc::MAP_FAILED);
    at as u64
}

/// Calls the code at `a`, makes the page behind it return `b`, and calls the code again: both results.
unsafe extern "C" fn rewrite(a: u64, b: u64) -> u64 {
    // SAFETY: the code of `two_pages`.
    let code: extern "C" fn() -> u32 = unsafe { std::mem::transmute(a) };
    let before = code();
    let second = (a + PAGE as u64) as *mut u8;
    // SAFETY: a page of the caller's.
    unsafe { libc::mprotect(second.cast(), PAGE, READ_WRITE) };
    // SAFETY: the immediate operand of its first instruction.
    let operand = unsafe { second.add(1) };
    // SAFETY: as above.
    unsafe { operand.write(b as u8) };
    // SAFETY: as above.
    unsafe { libc::mprotect(second.cast(), PAGE, READ_EXECUTE) };
    u64::from(before) << 32 | u64::from(code())
}

/// The jump from the first page to the second was linked; the first page itself has not changed.
#[test]
fn code_that_is_rewritten() {
    let (path, file) = two_pages("rewritten", 1);
    let at = map(&file);
    for (before, after) in [(1, 2), (2, 3), (3, 4)] {
        let (results, totals) = counted(rewrite, at, after);
        assert_eq!((results >> 32, results & 0xffff_ffff), (100 + before, 100 + after));
        assert_eq!(totals.coverage.leaves[carom_collect_translate::Leave::ForeignCode as usize], 1);
    }
    fs::remove_file(path).unwrap();
}

/// Calls the code at `a` twice, with another file (number `b`) mapped over it in between.
unsafe extern "C" fn replace(a: u64, b: u64) -> u64 {
    // SAFETY: the code of `two_pages`.
    let code: extern "C" fn() -> u32 = unsafe { std::mem::transmute(a) };
    let before = code();
    let flags = libc::MAP_PRIVATE | libc::MAP_FIXED;
    // SAFETY: what is replaced is the caller's.
    unsafe { libc::mmap(a as *mut libc::c_void, 2 * PAGE, READ_EXECUTE, flags, b as i32, 0) };
    u64::from(before) << 32 | u64::from(code())
}

#[test]
fn code_that_is_mapped_over() {
    let (one, two) = (two_pages("mapped-one", 1), two_pages("mapped-two", 2));
    let at = map(&one.1);
    for (file, before, after) in [(&two.1, 1, 2), (&one.1, 2, 1)] {
        let (results, _) = counted(replace, at, file.as_raw_fd() as u64);
        assert_eq!((results >> 32, results & 0xffff_ffff), (100 + before, 100 + after));
    }
    for (path, _) in [one, two] {
        fs::remove_file(path).unwrap();
    }
}

/// Moves the two pages at `a` to `b`, and calls them there.
unsafe extern "C" fn remap(a: u64, b: u64) -> u64 {
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: both places are the caller's.
    let new =
        unsafe { libc::mremap(a as *mut libc::c_void, 2 * PAGE, 2 * PAGE, flags, b as *mut libc::c_void) };
    // SAFETY: the code of `two_pages`.
    let code: extern "C" fn() -> u32 = unsafe { std::mem::transmute(new) };
    u64::from(code())
}

#[test]
fn code_that_is_moved() {
    let (one, two) = (two_pages("moved-one", 1), two_pages("moved-two", 2));
    let (from, to) = (map(&one.1), map(&two.1));
    // SAFETY: naked code of two words and a result.
    let call: support::Function = unsafe { std::mem::transmute(to) };
    assert_eq!(counted(call, 0, 0).0, 102);
    assert_eq!(counted(remap, from, to).0, 101);
    assert_eq!(counted(call, 0, 0).0, 101);
    for (path, _) in [one, two] {
        fs::remove_file(path).unwrap();
    }
}

/// Maps the file `b` over the page at `a`.
unsafe extern "C" fn map_over(a: u64, b: u64) -> u64 {
    let flags = libc::MAP_PRIVATE | libc::MAP_FIXED;
    // SAFETY: what is replaced is the caller's.
    (unsafe { libc::mmap(a as *mut libc::c_void, PAGE, READ_EXECUTE, flags, b as i32, 0) }) as u64
}

/// A thread that loops in code leaves it when other code is mapped there, without making a call.
#[test]
fn a_loop_in_code_that_is_mapped_over() {
    let file = |name, code: &[u8]| {
        let path = place(name);
        fs::write(&path, [code, &vec![0x90; PAGE - code.len()]].concat()).unwrap();
        let file = fs::File::open(&path).unwrap();
        fs::remove_file(path).unwrap();
        file
    };
    // inc qword ptr [rdi]; jmp back
    let endless = file("endless", &[0x48, 0xff, 0x07, 0xeb, 0xfb]);
    // mov eax, 7; ret
    let ending = file("ending", &[0xb8, 7, 0, 0, 0, 0xc3]);
    let at = map(&endless);
    // SAFETY: naked code of two words and a result.
    let function: support::Function = unsafe { std::mem::transmute(at) };
    let rounds = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        let looping = scope.spawn(|| support::run(function, rounds.as_ptr() as u64, 0).0);
        while rounds.load(std::sync::atomic::Ordering::Relaxed) < 1000 {
            std::thread::yield_now();
        }
        assert_eq!(support::run(map_over, at, ending.as_raw_fd() as u64).0, at);
        assert_eq!(looping.join().unwrap(), 7);
    });
}
