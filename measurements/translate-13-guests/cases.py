"""Programs that do what is hard for a tool inside them, and what they are known to execute."""

from dataclasses import dataclass, field


@dataclass
class Case:
    """`racing`: it has many ways to go, and is run often. `blur`: what differs natively from run to run in what it prints."""

    source: str
    arguments: list = field(default_factory=list)
    racing: bool = False
    flags: list = field(default_factory=list)
    env: dict = field(default_factory=dict)
    blur: str = None
    steps: float = None

    @property
    def name(self):
        return " ".join([self.source, *self.arguments, *(f"{key}={value}" for key, value in self.env.items())])


# `steps`: instructions of the loops that it is known to run (six a round of `x += i`), the least that can be right.
ROUND = 6

CASES = [
    Case("fork_while_dlopen", racing=True, blur=r"\d+"),
    Case("exit_from_handler", ["0"], racing=True),
    Case("exit_from_handler", ["1"], racing=True),
    Case("seccomp_allow_list"),
    Case("seccomp_strict"),
    Case("rseq_counters", blur=r"restarts \d+"),
    Case("reset_all_signals", flags=["-std=c99", "-D_XOPEN_SOURCE=600"]),
    Case("onstack_without_altstack"),
    Case("preempted_coroutines", ["x"], blur=r"\d+"),
    Case("kill_then_default", blur=r"\d+"),
    Case("flags_across_ret"),
    Case("dlclose_after_chroot", ["x"]),
    Case("coroutine_guard_page", racing=True, blur=r"0x[0-9a-f]+|below \d"),
    Case("fp_exceptions", env={"FE": "32"}, racing=True),
    Case("load_gs", ["0"]),
    Case("load_gs", ["1"]),
    Case("load_gs", ["2"]),
    Case("load_gs", ["3"]),
    Case("map_32bit", blur=r"\d\b"),
    Case("map_32bit", ["x"]),
    Case("si_addr", blur=r"delta -\d+"),
    Case("fifo_threads", ["100", "3"], racing=True),
    Case("altstack_coroutine", ["8192"]),
    Case("altstack_coroutine", ["2048"]),
    Case("exec_badptr", ["0"]), Case("exec_badptr", ["2"]), Case("exec_badptr", ["4"]), Case("exec_badptr", ["6"]),
    Case("exec_badptr", ["8"]), Case("exec_badptr", ["10"]), Case("exec_badptr", ["12"]),
    Case("altstack_badptr"),
    Case("altstack_race", racing=True),
    Case("clone3_bad"),
    Case("exec_mask"),
    Case("growsdown2", racing=True),
    Case("nofile", ["64"]),
    *(Case("longjmp_from_mask", [way], steps=50e6 * ROUND) for way in "012"),
    Case("handler_on_unblock", steps=21e6 * ROUND),
    Case("tsd_destructor", steps=21e6 * ROUND),
    *(Case("chroot_setuid", [way], steps=200e6 * ROUND) for way in "123"),
]
