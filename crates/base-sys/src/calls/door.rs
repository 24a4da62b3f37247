//! Every perf call as a value, and the one function that carries them out.
//!
//! Tests put a fake kernel in its place with [`with_fake`].

use perf_event_open_sys::bindings::perf_event_attr;

use crate::SysError;

/// From `linux/perf_event.h`.
const PERF_FLAG_FD_CLOEXEC: u64 = 1 << 3;

/// A request to the kernel.
#[derive(Debug)]
pub enum Call<'a> {
    /// `perf_event_open(attr, thread, cpu, group, PERF_FLAG_FD_CLOEXEC)`.
    Open {
        /// What to open; the kernel may write its own size into it.
        attr: &'a mut perf_event_attr,
        /// 0 for the calling thread, -1 for all that run on `cpu`.
        thread: i32,
        /// -1 for any processor.
        cpu: i32,
        /// The first event of its group, -1 for none.
        group: i32,
    },
    /// `perf_event_open(NULL, …)`: opens nothing. EFAULT says that the call is reachable, EPERM that a filter
    /// denies it, ENOSYS that it does not exist.
    Reach,
    /// `ioctl(fd, request, argument)`.
    Ioctl {
        /// A perf event.
        fd: i32,
        /// One of `perf_event_ioctls`.
        request: u32,
        /// By value, or the address of a structure that outlives the call.
        argument: usize,
    },
}

impl Call<'_> {
    /// The call's name in error messages.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Open { .. } | Self::Reach => "perf_event_open",
            Self::Ioctl { .. } => "ioctl(perf event)",
        }
    }
}

/// Carries out `call`. Signal-safe.
///
/// # Errors
/// The kernel's errno. See perf_event_open(2).
pub fn call(mut call: Call<'_>) -> Result<i64, SysError> {
    #[cfg(test)]
    if let Some(answer) = fake::answer(&mut call) {
        return answer.map_err(|errno| SysError { call: call.name(), errno });
    }
    let name = call.name();
    let result = match &mut call {
        // SAFETY: `attr` is a valid, initialised structure of the size that it states.
        Call::Open { attr, thread, cpu, group } => unsafe {
            let attr = &raw mut **attr;
            libc::syscall(libc::SYS_perf_event_open, attr, *thread, *cpu, *group, PERF_FLAG_FD_CLOEXEC)
        },
        // SAFETY: the kernel refuses the null pointer before it looks at anything else.
        Call::Reach => unsafe { libc::syscall(libc::SYS_perf_event_open, 0usize, 0, -1, -1, 0u64) },
        // SAFETY: requests are the ones of `perf::Event`, whose arguments are integers or live structures.
        Call::Ioctl { fd, request, argument } => unsafe {
            libc::syscall(libc::SYS_ioctl, *fd, u64::from(*request), *argument)
        },
    };
    if result < 0 { Err(SysError::last(name)) } else { Ok(result) }
}

#[cfg(test)]
pub(crate) use fake::with_fake;

#[cfg(test)]
mod fake {
    use std::cell::RefCell;

    use super::Call;

    /// Answers a call with a result or an errno; `None` lets it through to the kernel.
    pub type Kernel = dyn FnMut(&mut Call<'_>) -> Option<Result<i64, i32>>;

    thread_local! {
        static KERNEL: RefCell<Option<Box<Kernel>>> = const { RefCell::new(None) };
    }

    /// Runs `test` with `kernel` answering this thread's calls.
    pub fn with_fake<R>(
        kernel: impl FnMut(&mut Call<'_>) -> Option<Result<i64, i32>> + 'static,
        test: impl FnOnce() -> R,
    ) -> R {
        KERNEL.with(|k| *k.borrow_mut() = Some(Box::new(kernel)));
        let result = test();
        KERNEL.with(|k| *k.borrow_mut() = None);
        result
    }

    pub fn answer(call: &mut Call<'_>) -> Option<Result<i64, i32>> {
        KERNEL.with(|k| k.borrow_mut().as_mut().and_then(|kernel| kernel(call)))
    }
}
