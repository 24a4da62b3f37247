"""Programs that nobody here wrote, and what an expert says of each: what the project says that it mended, or its sources.

Each was written down before carom was asked. `mended` is what the worst finding and its remedy must say of the first version, and
what `carom diff` must call gone in the second.
"""

from dataclasses import dataclass, field
from pathlib import Path

from builds import crate, debian, installed_crate, pypi, sh
from lib.paths import scratch
from running import Command, Memcached

PADDING = ["alignas", "_Alignas", "own cache line", "CachePadded"]
LOCK = [*PADDING, "false sharing"]
NOTHING = [r"No line was seen to bounce|Little is shared"]


@dataclass
class Case:
    """`versions`: {label: a function that builds it and returns its load}; of two, "before" has what "after" has mended.

    `kinds`: those of the worst finding's remedy; None: nothing to find. `says`: expressions that verdict and remedy together must match,
    `never`: what neither may say. `left`: what the expert still expects after the change, where that is not nothing.
    """

    name: str
    language: str
    expert: str
    source: str
    versions: dict
    kinds: list
    says: list
    never: list = field(default_factory=list)
    left: str = None
    options: list = field(default_factory=list)


def memcached():
    def build(folder):
        sh(["./configure", "-q", "CFLAGS=-O2 -g"], folder)
        sh(["make", "-s", "-j2", "memcached"], folder)

    return Memcached(debian("memcached", build) / "memcached")


def urcu(program, *arguments):
    def build(folder):
        sh(["./configure", "-q", "--disable-shared", "CFLAGS=-O2 -g"], folder)
        # Without autotools: what they would make is in the package.
        sh(["make", "-s", "-j2", "ACLOCAL=:", "AUTOMAKE=:", "AUTOCONF=:", "AUTOHEADER=:"], folder)

    # What it prints are counts of what it did in that time.
    return Command([debian("liburcu", build) / "tests/benchmark" / program, *arguments], talkative=True)


def concurrency_kit(program, *arguments):
    def build(folder):
        sh(["./configure"], folder, {"CFLAGS": "-O2 -g -DITERATE=6000000"})
        sh(["make", "-s", "-C", "src"], folder)
        sh(["make", "-s", "-C", "regressions/ck_spinlock/validate", program], folder)

    return Command([debian("ck", build) / "regressions/ck_spinlock/validate" / program, *arguments])


def pbzip2():
    def build(folder):
        sh(["make", "-s", "CXXFLAGS=-O2 -g -pthread -D_LARGEFILE64_SOURCE=1 -D_FILE_OFFSET_BITS=64"], folder)

    return Command([debian("pbzip2", build) / "pbzip2", "-p2", "-k", "-c", "{text}"])


def camb():
    def build(folder):
        # Not for the processor at hand, so that everybody runs the same instructions.
        sh(["make", "-s", "-C", folder / "fortran", "camb", "COMPILER=gfortran", "CLUSTER_SAFE=1", f"FORUTILSPATH={folder / 'forutils'}",
            "FFLAGS=-O2 -g -MMD -cpp -ffree-line-length-none -fopenmp"])

    fortran = pypi("camb", "1.5.9", build) / "fortran"
    parameters = scratch("history") / "camb.ini"
    template = f"highL_unlensed_cl_template = {fortran}/HighLExtrapTemplate_lenspotentialCls.dat\n"
    parameters.write_text(Path(__file__).with_name("camb.ini").read_text() + template)
    return Command([fortran / "camb", parameters], writes=["camb_scalCls.dat", "camb_lensedCls.dat"], talkative=True)


def ripgrep():
    program = installed_crate("ripgrep", "15.2.0").with_name("rg")
    return Command([program, "--threads=2", "--count", "--no-ignore", "(?i)[a-z]+_[a-z]+ *\\(.*[a-z]{3}", "/usr/include", "/usr/share/doc"],
                   unordered=True)


def loaded(load, before, after, dependencies):
    return {"before": lambda: Command([crate(load, before, dependencies(before))]),
            "after": lambda: Command([crate(load, after, dependencies(after))])}


TOKIO = ["rt-multi-thread", "sync"]
AUTOMATA = {"1.9.4": "0.3.7", "1.9.5": "0.3.8"}

CASES = [
    Case("regex 1.9.4, 1.9.5", "Rust",
         "all threads take their scratch space from one pool behind a mutex; 1.9.5 has eight pools, each lock on its own cache line",
         'changelog of 1.9.5: "a performance bug where high contention on a single regex led to massive slow downs" (#934)',
         loaded("regex", "1.9.4", "1.9.5", lambda version: {"regex": version, "regex-automata": AUTOMATA[version]}),
         ["contend"], ["mutex", r"pool\.rs"], LOCK),
    Case("crossbeam-utils 0.8.17, 0.8.18", "Rust", "the locks of different cells are neighbours in an array of 8-byte elements; 0.8.18 pads each",
         'pull request #1055: "Without it, the actual concurrency level will be small due to false sharing."',
         loaded("atomic_cell", "0.8.17", "0.8.18", lambda version: {"crossbeam-utils": version}),
         ["pad-elements", "pad"], ["LOCKS", "false sharing|different threads use neighbours"], ["Hold it for less time"]),
    Case("tokio 1.29.1, 1.30.0 (mpsc)", "Rust",
         "in a channel's `Chan`, what senders write (`tx`) and what the receiver writes (`rx_fields`) share a line; 1.30.0 starts `tx` and"
         " `rx_waker` on lines of their own",
         'changelog of 1.30.0: "sync: avoid false sharing in mpsc channel" (#5829)',
         loaded("tokio_mpsc", "1.29.1", "1.30.0", lambda version: {"tokio": (version, TOKIO)}),
         ["pad", "pad-then-share-less"], ["false sharing", "cache line"], [], "what threads exchange through the channel is truly shared",
         ["--no-objects"]),
    Case("tokio 1.29.1, 1.30.0 (mpsc), by name", "Rust", "the same, by allocation site and field", "the same",
         loaded("tokio_mpsc", "1.29.1", "1.30.0", lambda version: {"tokio": (version, TOKIO)}),
         ["pad", "pad-then-share-less"], ["Chan<", "allocated in `?tokio::sync::mpsc::chan::channel", r"tx|rx_waker"], [],
         "what threads exchange through the channel is truly shared"),
    Case("tokio 1.34.0, 1.35.0 (spawn)", "Rust",
         "every spawn and every end of a task takes the mutex of the one list of tasks; 1.35.0 has a list and a mutex for each part of them",
         'changelog of 1.35.0: "runtime: reduce the lock contention in task spawn" (#6001)',
         loaded("tokio_spawn", "1.34.0", "1.35.0", lambda version: {"tokio": (version, TOKIO)}),
         ["contend"], ["mutex", r"list\.rs"], LOCK, "the scheduler's queues and counters"),
    Case("memcached 1.6.18", "C", "allocation is behind one `slabs_lock`, items of one size behind one `lru_locks`; most time goes to system calls",
         "doc/threads.txt", {"only": memcached}, [None, "contend"], ["No line|lru_locks|slabs_lock"]),
    Case("liburcu 0.13.2 (test_rwlock)", "C", "each reader changes the reader-writer lock `lock`, taken in `thr_reader`: readers do not scale",
         "test_rwlock.c, which is there to be compared with RCU", {"only": lambda: urcu("test_rwlock", 4, 0, 2)},
         ["contend"], ["reader-writer lock `lock`", "thr_reader"], LOCK),
    Case("liburcu 0.13.2 (test_urcu)", "C", "readers write nothing that others read while nobody waits for them: nothing is contended",
         "test_urcu.c", {"only": lambda: urcu("test_urcu", 4, 0, 2)}, [None], NOTHING),
    Case("ck 0.7.1 (ck_ticket)", "C", "threads contend for the ticket lock `lock`, made of inline assembly and taken in `thread`; it protects `locked`",
         "validate.h, ck_ticket.h", {"only": lambda: concurrency_kit("ck_ticket", 2, 1)}, ["contend"], ["lock `lock", "`thread`"], PADDING),
    Case("pbzip2 1.1.13", "C++", "blocks of 900 kB go through one queue: nothing is contended", "its README", {"only": pbzip2}, [None], NOTHING),
    Case("CAMB 1.5.9", "Fortran", "each wave number is a task of its own in a parallel loop: nothing is contended",
         "cmbmain.f90: `!$OMP PARALLEL DO … SCHEDULE(DYNAMIC)`", {"only": camb}, [None], NOTHING),
    Case("ripgrep 15.2.0", "Rust", "each thread takes files from a queue of its own: nothing is contended", "crate `ignore`",
         {"only": ripgrep}, [None], NOTHING),
]
