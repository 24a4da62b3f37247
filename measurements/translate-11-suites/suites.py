"""The suites: where their sources come from, how each is built with gcc alone, and what a test of it is.

Sources lie outside the repository. An environment variable names a folder or a git repository that has them; without it
they are cloned. Nothing of theirs is kept here.
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from lib.paths import scratch


@dataclass
class Test:
    """One test: a command. What a `talkative` one prints, times for example, is not compared."""

    suite: str
    name: str
    argv: list
    talkative: bool = False
    env: dict = field(default_factory=dict)


def rr():
    """rr's programs of `src/test`: each makes the system calls and signals that break a tool that stands beneath.

    Their drivers (`.run`) record and replay, which is rr's own business: here the programs run as they are.
    """
    home = sources("rr", "CAROM_RR", "https://github.com/rr-debugger/rr", "5c202cd8", ["src", "include", "CMakeLists.txt"])
    generated, built = scratch("suites/rr-generated"), scratch("suites/rr-built")
    for name in ("Generic", "X64", "X86"):
        file = generated / f"SyscallEnumsForTests{name}.generated"
        subprocess.run([sys.executable, home / "src/generate_syscalls.py", file], check=True, cwd=home / "src")
    lists = re.findall(r"^set\((?:BASIC_TESTS|BASIC_CPP_TESTS|TESTS_WITH_PROGRAM)\n(.*?)^\)", (home / "CMakeLists.txt").read_text(),
                       re.M | re.S)
    names = sorted({line.strip() for text in lists for line in text.splitlines()} - {""})
    flags = ["-O0", "-DDEBUG", *(f"-I{home / folder}" for folder in ("include", "src/preload", "src/test")), f"-I{generated}"]
    build_all([(home / "src/test" / name, built / Path(name).name, flags) for name in names if not name.startswith(("arm/", "#"))])
    (built / "bin").unlink(missing_ok=True)
    # Some look for themselves and each other in `bin`.
    (built / "bin").symlink_to(".")
    return [Test("rr", program.name, [program])
            for program in sorted(built.iterdir()) if program.is_file() and program.name not in RR_LEFT_OUT]


# What signals its parent, which is to be rr; and what becomes itself again without end where its driver names no file.
RR_LEFT_OUT = {"restart_abnormal_exit", "self_sigint", "term_rr", "term_rr_ok", "mmap_shared_extern"}

# What its tests take from its core.
DYNAMORIO_HEADERS = ["common/dr_project_wide_defines.h", "core/drlibc/drlibc.h", "core/lib/globals_shared.h", "core/lib/globals_api.h",
                     "core/lib/c_defines.h", "core/lib/mcxtx_api.h", "core/include/limits_wrapper.h", "core/unix/os_public.h",
                     "core/unix/include"]

# The one function of its core that its tests call, with the answers of the kernel as they are.
DYNAMORIO_SYSCALL = """
#include <stdarg.h>
long dynamorio_syscall(unsigned number, unsigned count, ...)
{
    long a[6] = {0};
    va_list list;
    va_start(list, count);
    for (unsigned i = 0; i < count && i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    register long r10 __asm__("r10") = a[3], r8 __asm__("r8") = a[4], r9 __asm__("r9") = a[5];
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "0"((long)number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
"""


def dynamorio():
    """DynamoRIO's programs for Linux that gcc builds by itself: those without parts in its own assembler."""
    parts = [f"suite/tests/{part}" for part in ("linux", "pthreads", "common", "security-common", "security-linux", "tools.h",
                                                "tools.c", "condvar.h", "thread.h", "thread_clone.h")]
    home = sources("dynamorio", "CAROM_DYNAMORIO_SOURCE", "https://github.com/DynamoRIO/dynamorio", "05e3165",
                   [*parts, *DYNAMORIO_HEADERS])
    tests, built, stubs = home / "suite/tests", scratch("suites/dynamorio-built"), scratch("suites/dynamorio-stubs")
    # Both are made by its CMake.
    (stubs / "dr_mcxtx.h").write_text('#include "mcxtx_api.h"\n')
    (stubs / "configure.h").write_text("")
    (stubs / "syscall.c").write_text(DYNAMORIO_SYSCALL)
    flags = ["-O1", "-DLINUX", "-DUNIX", "-DX64", "-DX86", "-DX86_64", f"-I{tests}", f"-I{stubs}",
             *(f"-I{(home / header).parent}" for header in DYNAMORIO_HEADERS), f"-I{home / 'core/unix/include'}",
             tests / "tools.c", stubs / "syscall.c"]
    programs = [path for folder in ("linux", "pthreads", "common", "security-common", "security-linux")
                for path in sorted((tests / folder).glob("*.c"))]
    build_all([(path.with_suffix(""), built / f"{path.parent.name}-{path.stem}", flags) for path in programs])
    return [Test("dynamorio", program.name, [program]) for program in sorted(built.iterdir())]


def cpython():
    """CPython's own tests, one module each (Debian: libpython3.11-testsuite)."""
    python = "/usr/bin/python3.11"
    if not os.path.exists("/usr/lib/python3.11/test/test_list.py"):
        raise SystemExit("CPython's tests are missing: run `scripts/setup measure` first")
    listed = subprocess.run([python, "-m", "test", "--list-tests"], capture_output=True, text=True, check=True)
    return [Test("cpython", name, [python, "-m", "test", name], talkative=True, env={"PYTHONHASHSEED": "0"}) for name in listed.stdout.split()]


def stress_ng():
    """stress-ng's stressors, each for a second, checking themselves (Debian: stress-ng)."""
    listed = subprocess.run(["stress-ng", "--stressors"], capture_output=True, text=True, check=True)
    folder = scratch("suites/stress-ng")
    return [Test("stress-ng", name, ["stress-ng", f"--{name}", "1", "-t", "1", "--verify", "--temp-path", folder], talkative=True)
            for name in listed.stdout.split() if name not in STRESS_NG_LEFT_OUT]


# What strains the machine, its clock, disks or network rather than a process, or takes all memory until the kernel ends something.
STRESS_NG_LEFT_OUT = set(
    "apparmor bad-ioctl bigheap binderfs brk clock cpu-online cyclic daemon dev dirdeep dirmany efivar fallocate fanotify filename"
    " forkheavy full gpu hdd icmp-flood idle-page iomix ioport klog kvm loop malloc memhotplug mlockmany mmapfork mmaphuge mmapmany"
    " module netdev oom-pipe pageswap physpage pipeherd procfs quota ramfs rawdev rawpkt rawsock rawudp reboot resources rlimit rtc"
    " shm shm-sysv smi sockmany softlockup stack swap sync-file syncload sysfs tmpfs tun udp-flood umount uprobe vforkmany vm vm-rw"
    " vm-segv watchdog zombie".split())

SUITES = {"rr": rr, "dynamorio": dynamorio, "cpython": cpython, "stress-ng": stress_ng}


def sources(name, variable, address, commit, parts):
    """A folder with these parts of a project at this commit."""
    home = scratch("suites") / name
    if home.exists():
        return home
    given = os.environ.get(variable)
    if given is None:
        given = str(scratch("suites") / f"{name}.git")
        subprocess.run(["git", "clone", "--bare", "--filter=blob:none", address, given], check=True)
    for part in parts:
        (home / part).parent.mkdir(parents=True, exist_ok=True)
        kind = git(given, "cat-file", "-t", f"{commit}:{part}").decode().strip()
        if kind == "blob":
            (home / part).write_bytes(git(given, "show", f"{commit}:{part}"))
        else:
            # A folder by itself: what lies beside it may be large.
            packed = git(given, "archive", f"--prefix={part}/", f"{commit}:{part}")
            subprocess.run(["tar", "x", "-C", home], input=packed, check=True)
    return home


def git(repository, *words):
    return subprocess.run(["git", "-C", repository, *words], capture_output=True, check=True).stdout


def build_all(programs):
    """Builds what gcc can; what it cannot is left out, as a machine without some library would."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        built = list(pool.map(build, programs))
    print(f"built {sum(built)} of {len(built)}", file=sys.stderr)


def build(program):
    stem, result, flags = program
    if result.exists():
        return True
    source = next((path for path in (Path(f"{stem}.c"), Path(f"{stem}.cc")) if path.exists()), None)
    if source is None:
        return False
    compiler = "g++" if source.suffix == ".cc" else "gcc"
    made = result.with_suffix(".making")
    done = subprocess.run([compiler, "-w", "-g", "-pthread", *flags, "-o", made, source, "-lrt", "-ldl", "-lm"], capture_output=True,
                          check=False)
    if done.returncode == 0:
        made.rename(result)
    else:
        made.unlink(missing_ok=True)
    return done.returncode == 0
