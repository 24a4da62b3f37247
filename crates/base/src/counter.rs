/// What the agent counts in each thread: what it did, and what it lost. Every loss has a counter of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Counter {
    /// Timer interrupts taken.
    TimerSamples = 0,
    /// Step samples begun.
    Bursts = 1,
    /// Instructions single-stepped.
    Steps = 2,
    /// Step samples that needed no single step.
    Walked = 3,
    /// Addresses looked up on the board.
    Lookups = 4,
    /// Addresses published.
    Published = 5,
    /// Addresses that found their slot taken by another line.
    Collisions = 6,
    /// Times that watchpoints were set.
    Armed = 7,
    /// Touches taken of lines that are watched for sharing.
    Traps = 8,
    /// Traps that came too late to be believed.
    StaleTraps = 9,
    /// Records that did not fit the ring.
    DroppedRecords = 10,
    /// Call paths cut short.
    TruncatedStacks = 11,
    /// 1 where the program closed our descriptors.
    SamplerLost = 12,
    /// What the budget left out: step samples (`burst`), or watchpoints of sharing (`translate`).
    BudgetSkipped = 13,
    /// Watchpoints that could not be set.
    ArmFailures = 14,
    /// Object look-ups that found the table locked.
    ObjectsUnknown = 15,
    /// Interrupted system calls that were restarted on the program's behalf (POSIX timers only).
    RestartedCalls = 16,
    /// Interrupted system calls that the program saw fail with EINTR (POSIX timers only).
    InterruptedCalls = 17,
    /// Sampled uses that the reuse detector was shown.
    Uses = 18,
    /// Those that a watch was set for.
    UsesArmed = 19,
    /// Nanoseconds from samples to when their watches were set, all together.
    ArmNanos = 20,
    /// Watches of other threads set for uses of this thread.
    ThreadsArmed = 21,
    /// Watches of other threads that could not be set.
    ThreadsUnarmed = 22,
    /// Counts of the exact mode that could not be written.
    CellsLost = 23,
    /// Uses, or watched lines, given up because too many touches decided nothing.
    Undecided = 24,
    /// Uses that another thread touched while the using one was held, and would have touched later.
    EarlyTouches = 25,
    /// 1 where the thread that runs translated code has no timer, so that nobody witnesses where it is.
    Unwitnessed = 26,
    /// Samples that the budget kept from becoming uses (`translate`).
    UsesSkipped = 27,
    /// Touches of watched uses that were taken.
    UsesTouched = 28,
}

impl Counter {
    /// How many there are.
    pub const COUNT: usize = 29;
}
