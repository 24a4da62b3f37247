//! The functions by which threads wait for each other.

use std::ffi::CStr;

use carom_base_stream::Act::{self, *};

use super::{entries::*, llvm::fork, notes::What};

/// A function of a library, what runs in its place, and the way on to it.
pub struct Function {
    pub name: &'static CStr,
    pub entry: unsafe extern "C" fn(),
    pub way: unsafe extern "C" fn(),
}

/// Declares the list: each function with its place on it, and its entry.
macro_rules! functions {
    ($($index:literal $name:literal $entry:ident $(($($what:expr),+))?;)*) => {
        /// The number of functions.
        pub const COUNT: usize = [$($index),*].len();

        /// All of them.
        pub static FUNCTIONS: [Function; COUNT] = [
            $(Function { name: $name, entry: $entry::<$index $($(, { $what })+)?>, way: way::<$index> },)*
        ];
    };
}

const fn always(act: Act) -> u32 {
    What::always(act)
}

const fn if_zero(act: Act) -> u32 {
    What::if_zero(act)
}

const fn if_not_zero(act: Act) -> u32 {
    What::if_not_zero(act)
}

const fn of_team(act: Act) -> u32 {
    What::of_team(act)
}

const fn unnamed(act: Act) -> u32 {
    What::unnamed(act)
}

const fn atomic(act: Act) -> u32 {
    What::atomic(act)
}

const fn third(act: Act) -> u32 {
    What::third(act)
}

const fn if_one(act: Act) -> u32 {
    What::if_one(act)
}

functions! {
    0 c"pthread_join" after(if_zero(Join));
    1 c"pthread_tryjoin_np" after(if_zero(Join));
    2 c"pthread_timedjoin_np" after(if_zero(Join));
    3 c"pthread_clockjoin_np" after(if_zero(Join));
    4 c"thrd_join" after(if_zero(Join));
    5 c"pthread_mutex_lock" after(if_zero(Lock));
    6 c"pthread_mutex_trylock" after(if_zero(Lock));
    7 c"pthread_mutex_timedlock" after(if_zero(Lock));
    8 c"pthread_mutex_clocklock" after(if_zero(Lock));
    9 c"pthread_mutex_unlock" before(always(Unlock));
    10 c"pthread_rwlock_rdlock" after(if_zero(ReadLock));
    11 c"pthread_rwlock_tryrdlock" after(if_zero(ReadLock));
    12 c"pthread_rwlock_timedrdlock" after(if_zero(ReadLock));
    13 c"pthread_rwlock_clockrdlock" after(if_zero(ReadLock));
    14 c"pthread_rwlock_wrlock" after(if_zero(Lock));
    15 c"pthread_rwlock_trywrlock" after(if_zero(Lock));
    16 c"pthread_rwlock_timedwrlock" after(if_zero(Lock));
    17 c"pthread_rwlock_clockwrlock" after(if_zero(Lock));
    18 c"pthread_rwlock_unlock" before(always(Unlock));
    19 c"pthread_spin_lock" after(if_zero(Lock));
    20 c"pthread_spin_trylock" after(if_zero(Lock));
    21 c"pthread_spin_unlock" before(always(Unlock));
    22 c"pthread_barrier_wait" around(always(Arrive), always(Depart));
    23 c"pthread_cond_wait" wait;
    24 c"pthread_cond_timedwait" wait;
    25 c"pthread_cond_clockwait" wait;
    26 c"pthread_cond_signal" before(always(Signal));
    27 c"pthread_cond_broadcast" before(always(Broadcast));
    28 c"sem_post" before(always(Post));
    29 c"sem_wait" after(if_zero(Take));
    30 c"sem_trywait" after(if_zero(Take));
    31 c"sem_timedwait" after(if_zero(Take));
    32 c"sem_clockwait" after(if_zero(Take));
    33 c"omp_set_lock" after(always(Lock));
    34 c"omp_test_lock" after(if_not_zero(Lock));
    35 c"omp_unset_lock" before(always(Unlock));
    36 c"GOMP_parallel" region;
    37 c"GOMP_parallel_reductions" region;
    38 c"GOMP_parallel_sections" region;
    39 c"GOMP_parallel_loop_static" region;
    40 c"GOMP_parallel_loop_dynamic" region;
    41 c"GOMP_parallel_loop_guided" region;
    42 c"GOMP_parallel_loop_runtime" region;
    43 c"GOMP_parallel_loop_nonmonotonic_dynamic" region;
    44 c"GOMP_parallel_loop_nonmonotonic_guided" region;
    45 c"GOMP_parallel_loop_nonmonotonic_runtime" region;
    46 c"GOMP_parallel_loop_maybe_nonmonotonic_runtime" region;
    47 c"GOMP_barrier" around(of_team(Arrive), of_team(Depart));
    48 c"GOMP_loop_end" around(of_team(Arrive), of_team(Depart));
    49 c"GOMP_sections_end" around(of_team(Arrive), of_team(Depart));
    50 c"GOMP_critical_start" after(unnamed(Lock));
    51 c"GOMP_critical_end" before(unnamed(Unlock));
    52 c"GOMP_critical_name_start" after(always(Lock));
    53 c"GOMP_critical_name_end" before(always(Unlock));
    54 c"GOMP_atomic_start" after(atomic(Lock));
    55 c"GOMP_atomic_end" before(atomic(Unlock));
    56 c"omp_set_nest_lock" after(always(Lock));
    57 c"omp_test_nest_lock" after(if_not_zero(Lock));
    58 c"omp_unset_nest_lock" before(always(Unlock));
    59 c"__kmpc_fork_call" fork;
    60 c"__kmpc_barrier" around(of_team(Arrive), of_team(Depart));
    61 c"__kmpc_cancel_barrier" around(of_team(Arrive), of_team(Depart));
    62 c"__kmpc_copyprivate" around(of_team(Arrive), of_team(Depart));
    63 c"__kmpc_critical" after(third(Lock));
    64 c"__kmpc_critical_with_hint" after(third(Lock));
    65 c"__kmpc_end_critical" before(third(Unlock));
    66 c"__kmpc_atomic_start" after(atomic(Lock));
    67 c"__kmpc_atomic_end" before(atomic(Unlock));
    68 c"__kmpc_reduce" after_seventh(if_one(Lock));
    69 c"__kmpc_reduce_nowait" after_seventh(if_one(Lock));
    70 c"__kmpc_end_reduce" before(third(Unlock));
    71 c"__kmpc_end_reduce_nowait" before(third(Unlock));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each way leads through its own place, and no name is there twice.
    #[test]
    fn functions_have_places_of_their_own() {
        let mut names: Vec<_> = FUNCTIONS.iter().map(|function| function.name).collect();
        names.sort_unstable();
        names.dedup();
        let mut ways: Vec<_> = FUNCTIONS.iter().map(|function| (function.way as *const ()).addr()).collect();
        ways.sort_unstable();
        ways.dedup();
        assert_eq!((names.len(), ways.len()), (COUNT, COUNT));
    }
}
