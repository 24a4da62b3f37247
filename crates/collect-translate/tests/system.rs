//! Processes and threads that translated code creates and ends.
#![allow(clippy::unwrap_used)] // What a test cannot have fails it.

mod support;

use std::{
    arch::naked_asm,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use carom_collect_translate::{after_fork, attach, is_started};
use support::{ENDED, ENDING, counted, kernels, run};

/// fork(2) itself: then ten rounds of two instructions, and a return.
#[unsafe(naked)]
unsafe extern "C" fn fork_and_loop(_: u64, _: u64) -> u64 {
    naked_asm!("mov eax, 57", "syscall", "mov ecx, 10", "2:", "dec ecx", "jnz 2b", "ret")
}

/// vfork(2), the child of which ends with 7 and without a stack: in native code.
#[unsafe(naked)]
unsafe extern "C" fn vfork_and_exit(_: u64, _: u64) -> u64 {
    naked_asm!(
        "mov eax, 58",
        "syscall",
        "test eax, eax",
        "jz 2f",
        "ret",
        "2:",
        "mov edi, 7",
        "mov eax, 60",
        "syscall",
        "ud2"
    )
}

/// clone(2) of a thread on the stack `a`, which adds 1 to the word at `b` and ends; the caller waits for a part of
/// it.
#[unsafe(naked)]
unsafe extern "C" fn clone_thread(_: u64, _: u64) -> u64 {
    naked_asm!(
        "mov r8, rsi",
        "mov rsi, rdi",
        "mov edi, {flags}",
        "xor edx, edx",
        "xor r10d, r10d",
        "mov eax, 56",
        "syscall",
        "test rax, rax",
        "jz 3f",
        "2:",
        "pause",
        "cmp qword ptr [r8], 0",
        "je 2b",
        "ret",
        "3:",
        "rdgsbase rax",
        "or rax, 1",
        "mov [r8], rax",
        "xor edi, edi",
        "mov eax, 60",
        "syscall",
        "ud2",
        flags = const libc::CLONE_VM | libc::CLONE_SIGHAND | libc::CLONE_THREAD | libc::CLONE_FS | libc::CLONE_FILES,
    )
}

/// Counts up in the word at `a` until the word at `b` is not 0.
#[unsafe(naked)]
unsafe extern "C" fn count_until(_: u64, _: u64) -> u64 {
    naked_asm!("2:", "inc qword ptr [rdi]", "cmp qword ptr [rsi], 0", "je 2b", "mov eax, 1", "ret")
}

/// exit(2) with what `a` is.
#[unsafe(naked)]
unsafe extern "C" fn exit_thread(_: u64, _: u64) -> u64 {
    naked_asm!("mov eax, 60", "syscall", "ud2")
}

unsafe extern "C" fn fork_of_the_library(_: u64, _: u64) -> u64 {
    // SAFETY: the child does little and ends.
    (unsafe { libc::fork() }) as u64
}

/// posix_spawn of the program `a` with the argument vector `b`: its process.
unsafe extern "C" fn spawn(a: u64, b: u64) -> u64 {
    let mut pid = 0;
    let (program, arguments) = (a as *const libc::c_char, b as *const *mut libc::c_char);
    // SAFETY: valid strings of the caller's.
    let error = unsafe {
        libc::posix_spawn(
            &raw mut pid,
            program,
            std::ptr::null(),
            std::ptr::null(),
            arguments,
            std::ptr::null(),
        )
    };
    if error == 0 { pid as u64 } else { 0 }
}

unsafe extern "C" fn execute(a: u64, b: u64) -> u64 {
    // SAFETY: valid strings of the caller's.
    (unsafe { libc::execv(a as *const libc::c_char, b as *const *const libc::c_char) }) as u64
}

fn wait_for(pid: u64) -> i32 {
    let mut status = 0;
    // SAFETY: a valid place.
    assert_eq!(unsafe { libc::waitpid(pid as i32, &raw mut status, 0) }, pid as i32);
    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -libc::WTERMSIG(status) }
}

/// In the child of a fork, reports whether something holds.
fn end_child(good: bool) -> ! {
    // SAFETY: ends the child.
    unsafe { libc::_exit(if good { 42 } else { 1 }) }
}

/// After the system call the child has 1 + 10 * 2 + 1 instructions and one load. Its parent has two instructions
/// more, one of them the system call.
#[test]
fn a_child_counts_from_its_fork() {
    let (pid, totals) = counted(fork_and_loop, 0, 0);
    if pid == 0 {
        end_child((totals.instructions, totals.loads, totals.system_calls) == (22, 1, 0));
    }
    assert_eq!((totals.instructions, totals.loads, totals.system_calls), (24, 1, 1));
    assert_eq!(wait_for(pid), 42);
}

/// The child translates, and so does the parent, at the same places of the cache and independently.
#[test]
fn both_sides_of_a_fork_go_on_translating() {
    let (pid, _) = counted(fork_of_the_library, 0, 0);
    let value = 7u64;
    if pid == 0 {
        let (fib, totals) = run(kernels::fib, 15, 0);
        let (again, _) = run(fork_of_the_library, 0, 0);
        if again == 0 {
            end_child(run(kernels::sum, &raw const value as u64, 0).0 == 70);
        }
        end_child(fib == 610 && totals.calls == 1972 && wait_for(again) == 42);
    }
    let (sum, totals) = run(kernels::sum, &raw const value as u64, 0);
    assert_eq!((sum, totals.loads), (70, 11));
    assert_eq!(wait_for(pid), 42);
}

/// Code that one child had to translate is translated for the next ones before they begin: they touch less memory.
#[test]
fn children_find_translated_what_earlier_ones_ran() {
    let faults = || {
        let (pid, _) = counted(fork_of_the_library, 0, 0);
        if pid == 0 {
            end_child(run(kernels::fib, 15, 0).0 == 610);
        }
        let mut status = 0;
        // SAFETY: all zeroes is a valid place for the answer.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: valid places.
        assert_eq!(unsafe { libc::wait4(pid as i32, &raw mut status, 0, &raw mut usage) }, pid as i32);
        assert_eq!(libc::WEXITSTATUS(status), 42);
        usage.ru_minflt
    };
    let [first, _, third] = std::array::from_fn(|_| faults());
    assert!(third + 20 < first, "{first} page faults in the first child, {third} in the third");
}

/// Three threads count in the cache while a fourth forks 20 times. They do not exist in the children, and are not
/// affected.
#[test]
fn a_fork_beside_other_threads() {
    let stop = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let counters: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let counter = 0u64;
                    let (_, totals) = run(count_until, &raw const counter as u64, stop.as_ptr() as u64);
                    // SAFETY: only this thread writes it.
                    let rounds = unsafe { (&raw const counter).read_volatile() };
                    // inc, cmp, je per round, then mov and ret.
                    assert_eq!(totals.instructions as u64, 3 * rounds + 2);
                    assert_eq!((totals.loads as u64, totals.stores as u64), (2 * rounds + 1, rounds));
                })
            })
            .collect();
        for _ in 0..20 {
            let (pid, totals) = run(fork_and_loop, 0, 0);
            if pid == 0 {
                end_child(totals.instructions == 22);
            }
            assert_eq!(wait_for(pid), 42);
        }
        stop.store(1, Relaxed);
        counters.into_iter().for_each(|counter| counter.join().unwrap());
    });
}

/// mov, syscall, test, jz, ret in the parent.
#[test]
fn a_child_that_shares_memory_runs_natively() {
    for _ in 0..3 {
        let (pid, totals) = counted(vfork_and_exit, 0, 0);
        assert_eq!((totals.instructions, totals.system_calls), (5, 1));
        assert_eq!(totals.coverage.leaves[carom_collect_translate::Leave::ThreadStart as usize], 1);
        assert_eq!(wait_for(pid), 7);
    }
}

/// The new thread reports its GS base, with bit 0 set: none.
#[test]
fn a_thread_begins_without_its_makers_state() {
    for _ in 0..100 {
        let mut stack = vec![0u64; 8192];
        let mut word = 0u64;
        counted(clone_thread, stack.as_mut_ptr_range().end as u64, &raw mut word as u64);
        // SAFETY: written by the thread.
        assert_eq!(unsafe { (&raw const word).read_volatile() }, 1);
        // It runs a few more instructions on this stack, which it no longer touches.
    }
}

#[test]
fn a_program_is_spawned() {
    let arguments = [c"sh".as_ptr(), c"-c".as_ptr(), c"exit 5".as_ptr(), std::ptr::null()];
    for _ in 0..3 {
        let (pid, _) = counted(spawn, c"/bin/sh".as_ptr() as u64, arguments.as_ptr() as u64);
        assert!(pid > 0);
        assert_eq!(wait_for(pid), 5);
    }
}

#[test]
fn a_program_is_executed_by_a_child_or_not_at_all() {
    let arguments = [c"sh".as_ptr(), c"-c".as_ptr(), c"exit 6".as_ptr(), std::ptr::null()];
    let (result, _) = counted(execute, c"/nowhere".as_ptr() as u64, arguments.as_ptr() as u64);
    assert_eq!(result as i64, -1);
    let (pid, _) = counted(fork_of_the_library, 0, 0);
    if pid == 0 {
        run(execute, c"/bin/sh".as_ptr() as u64, arguments.as_ptr() as u64);
        end_child(false);
    }
    assert_eq!(wait_for(pid), 6);
}

/// Threads that end by the system call itself, in the cache, four at a time. There are more than lanes.
#[test]
fn lanes_of_ended_threads_are_used_again() {
    const MAKERS: usize = 4;
    const EACH: usize = 1000;
    static CAME_BACK: AtomicBool = AtomicBool::new(false);
    extern "C" fn ends(_: *mut libc::c_void) -> *mut libc::c_void {
        run(exit_thread, 0, 0);
        CAME_BACK.store(true, Relaxed);
        std::ptr::null_mut()
    }
    let make = || {
        for _ in 0..EACH {
            let mut thread = 0;
            // SAFETY: a thread without arguments.
            let made = unsafe {
                libc::pthread_create(&raw mut thread, std::ptr::null(), ends, std::ptr::null_mut())
            };
            assert_eq!(made, 0);
            // SAFETY: joined once.
            assert_eq!(unsafe { libc::pthread_join(thread, std::ptr::null_mut()) }, 0);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..MAKERS {
            scope.spawn(make);
        }
    });
    assert!(!CAME_BACK.load(Relaxed));
    let ended = ENDED.lock().unwrap();
    assert_eq!(ended.len(), MAKERS * EACH);
    // mov and syscall.
    assert!(ended.iter().all(|totals| (totals.instructions, totals.system_calls) == (2, 1)));
}

/// exit_group(2) with 42.
#[unsafe(naked)]
unsafe extern "C" fn exit_process(_: u64, _: u64) -> u64 {
    naked_asm!("mov edi, 42", "mov eax, 231", "syscall", "ud2")
}

#[test]
fn the_end_of_a_process_is_told() {
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping.
    let shared =
        unsafe { libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    assert_ne!(shared, libc::MAP_FAILED);
    let (pid, _) = counted(fork_of_the_library, 0, 0);
    if pid == 0 {
        ENDING.store(shared as u64, Relaxed);
        run(exit_process, 0, 0);
        end_child(false);
    }
    assert_eq!(wait_for(pid), 42);
    // SAFETY: written by the child, which has ended.
    assert_eq!(unsafe { shared.cast::<i64>().read_volatile() }, 3);
}

/// clone3(2) with the arguments at `a`, `b` bytes of them; the child returns 1000 more than the difference of its stack
/// pointer to the parent's.
#[unsafe(naked)]
unsafe extern "C" fn clone3(_: u64, _: u64) -> u64 {
    naked_asm!(
        "mov rdx, rsp",
        "mov eax, 435",
        "syscall",
        "test rax, rax",
        "jz 2f",
        "ret",
        "2:",
        "sub rdx, rsp",
        "lea rax, [rdx + 1000]",
        "add rsp, rdx",
        "ret",
    )
}

/// The child begins on the stack that it was given, or on its parent's; what the kernel refuses is refused.
#[test]
fn a_child_is_made_with_arguments_in_memory() {
    const SIGNAL: usize = 4;
    const STACK: usize = 5;
    const STACK_BYTES: usize = 6;
    let stack = vec![0u64; 512];
    let parent = std::process::id();
    for (place, bytes) in [(0, 0), (stack.as_ptr() as u64, 4096)] {
        let mut arguments = [0u64; 11];
        arguments[SIGNAL] = libc::SIGCHLD as u64;
        (arguments[STACK], arguments[STACK_BYTES]) = (place, bytes);
        let (result, _) = counted(clone3, arguments.as_ptr() as u64, 88);
        if std::process::id() != parent {
            // Without a stack of its own there is no difference.
            end_child((result == 1000) == (place == 0));
        }
        assert_eq!(wait_for(result), 42);
        assert_eq!(arguments[STACK..=STACK_BYTES], [place, bytes], "the program's words are as they were");
    }
    let arguments = [0u64; 11];
    for (place, bytes, error) in
        [(8, 88, libc::EFAULT), (arguments.as_ptr() as u64, 56, libc::EINVAL), (0, 0, libc::EINVAL)]
    {
        assert_eq!(counted(clone3, place, bytes).0 as i64, -i64::from(error), "{place:x} {bytes}");
    }
}

/// A child of a fork outside of the cache has its parent's code and must not use it.
#[test]
fn a_child_of_a_native_fork_runs_natively() {
    let (fib, _) = counted(kernels::fib, 5, 0);
    assert_eq!(fib, 5);
    // SAFETY: the child does little and ends.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        after_fork();
        end_child(!is_started() && !attach(0));
    }
    assert_eq!(wait_for(pid as u64), 42);
    assert!(is_started());
}
