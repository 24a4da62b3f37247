//! The gate: which system calls leave the cache.

use crate::encode::{Emitter, marks::Undo};

/// System calls with higher numbers leave.
const KNOWN: u32 = 512;

/// Bytes of the table that [`emit`]'s code looks into.
pub const TABLE_BYTES: usize = KNOWN as usize / 8;

/// The system calls that concern the translator.
const OURS: [i64; 23] = [
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigreturn,
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_pkey_mprotect,
    libc::SYS_mmap,
    libc::SYS_arch_prctl,
    libc::SYS_shmat,
    libc::SYS_shmdt,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
];

/// System calls in which a thread waits for others, or for time to pass. The thread hands over its stream first.
const WAITING: [i64; 15] = [
    libc::SYS_futex,
    libc::SYS_futex_waitv,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_select,
    libc::SYS_pselect6,
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_pause,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigtimedwait,
];

/// System calls that change what the process may call, which files it may open and which it sees, and those that let
/// others look into it.
pub const RESTRICTING: [i64; 16] = [
    libc::SYS_prctl,
    libc::SYS_ptrace,
    libc::SYS_seccomp,
    libc::SYS_chroot,
    libc::SYS_pivot_root,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setfsuid,
    libc::SYS_capset,
    libc::SYS_landlock_restrict_self,
];

/// Linux, arch/x86/entry/syscalls/syscall_64.tbl.
const IO_PGETEVENTS: i64 = 333;

/// System calls that set another signal mask while they wait.
pub const MASKING: [i64; 6] = [
    libc::SYS_rt_sigsuspend,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    IO_PGETEVENTS,
];

/// One bit per system call: set where it leaves, with or without the `waiting` ones.
pub fn table(waiting: bool) -> [u8; TABLE_BYTES] {
    let mut table = [0; TABLE_BYTES];
    let waiting = WAITING.iter().filter(|_| waiting);
    for call in OURS.iter().chain(&RESTRICTING).chain(&MASKING).chain(waiting).copied() {
        if let Some(byte) = table.get_mut(call as usize / 8) {
            *byte |= 1 << (call % 8);
        }
    }
    table
}

/// Bytes of the code that [`emit`] appends.
pub const BYTES: u64 = 48;

/// Appends the choice: an ordinary call continues, one that concerns the translator goes to `leave`. RCX and R11 are
/// lost, which the instruction destroys anyway; everything else is preserved, including the flags. `table`: the
/// address of [`table`]. `mark` is called with the addresses from which the call's number lies elsewhere. (It is not
/// told that a signal would find other flags: no code reads flags across a system call that a signal may interrupt.)
pub fn emit(code: &mut Emitter, table: u64, leave: u64, mut mark: impl FnMut(u64, Undo)) {
    // mov rcx, rax; lahf; seto al; mov r11, rax
    code.raw(&[0x48, 0x89, 0xc1]);
    mark(code.here(), Undo::NumberInRcx);
    code.flags_to_ax();
    code.raw(&[0x49, 0x89, 0xc3]);
    // xor eax, eax; cmp ecx, KNOWN; jae over; bt [rip+table], ecx; setae al; over:
    code.raw(&[0x31, 0xc0, 0x81, 0xf9]);
    code.raw(&KNOWN.to_le_bytes());
    const BT_AND_SETAE: u8 = 7 + 3;
    code.raw(&[0x73, BT_AND_SETAE, 0x0f, 0xa3, 0x0d]);
    near(code, table);
    code.raw(&[0x0f, 0x93, 0xc0]);
    // xchg rax, rcx: RCX is 0 where the call concerns the translator.
    code.raw(&[0x48, 0x91]);
    mark(code.here(), Undo::Nothing);
    // xchg rax, r11; add al, 127; sahf; xchg rax, r11
    code.raw(&[0x49, 0x93]);
    mark(code.here(), Undo::NumberInR11);
    code.flags_from_ax();
    code.raw(&[0x49, 0x93]);
    mark(code.here(), Undo::Nothing);
    // jrcxz has a short reach, so it leads to a jump, over which an ordinary call hops.
    const TO_LEAVE: u8 = 2;
    const OVER_LEAVE: u8 = 5;
    code.raw(&[0xe3, TO_LEAVE, 0xeb, OVER_LEAVE, 0xe9]);
    near(code, leave);
}

/// The displacement that ends an instruction.
fn near(code: &mut Emitter, to: u64) {
    let end = code.here() + 4;
    code.raw(&(to.wrapping_sub(end) as u32).to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_as_long_as_said() {
        let mut code = Emitter::at(0x1000);
        emit(&mut code, 0x2000, 0x3000, |_, _| {});
        assert_eq!(code.bytes().len() as u64, BYTES);
    }

    #[test]
    fn the_table_has_what_concerns_us_and_nothing_else() {
        let set = |waiting| {
            let table = table(waiting);
            let is_set = |call: &i64| table[*call as usize / 8] >> (call % 8) & 1 == 1;
            (0..i64::from(KNOWN)).filter(is_set).collect::<Vec<_>>()
        };
        let mut ours = [&OURS[..], &RESTRICTING, &MASKING].concat();
        ours.sort_unstable();
        assert_eq!(set(false), ours);
        ours.extend(WAITING);
        ours.sort_unstable();
        ours.dedup();
        assert_eq!(set(true), ours);
    }
}
