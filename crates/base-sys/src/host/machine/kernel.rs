use super::Root;

/// The running kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// As `uname -r` prints it.
    pub release: String,
    /// Major and minor number; `None` where the release does not begin with them.
    pub version: Option<(u32, u32)>,
}

impl Kernel {
    pub(super) fn read(root: &Root) -> Self {
        Self::parse(&root.line("proc/sys/kernel/osrelease").unwrap_or_default())
    }

    /// Parses a release such as `5.15.0-91-generic`.
    pub fn parse(release: &str) -> Self {
        let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|n| n.parse().ok());
        let version = numbers.next().zip(numbers.next());
        Self { release: release.to_owned(), version }
    }

    /// Whether the kernel is at least this one; `None` where its number is unknown. Distributors backport, so
    /// this is a hint where doing is possible.
    pub fn at_least(&self, major: u32, minor: u32) -> Option<bool> {
        Some(self.version? >= (major, minor))
    }

    /// `Linux 6.18`, or the whole release where it has no number.
    pub fn short(&self) -> String {
        match self.version {
            Some((major, minor)) => format!("Linux {major}.{minor}"),
            None => format!("Linux {}", self.release),
        }
    }
}

/// The nodename of uname(2), or `None` where it is the default name of an unnamed host.
pub(super) fn hostname(root: &Root) -> Option<String> {
    const NAMELESS: [&str; 3] = ["(none)", "localhost", "localhost.localdomain"];
    root.line("proc/sys/kernel/hostname").filter(|name| !NAMELESS.contains(&name.as_str()))
}

/// Interrupts of the kernel's clock per second (CONFIG_HZ): the coarse clock moves once per tick.
/// `None` where the answer is no plausible tick.
pub fn tick_hz() -> Option<u32> {
    const NANOS: i64 = 1_000_000_000;
    /// The range of CONFIG_HZ over all architectures.
    const PLAUSIBLE: std::ops::RangeInclusive<i64> = 24..=1200;
    let mut step = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `step` is a valid place for the answer.
    let asked = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut step) };
    if asked < 0 || step.tv_sec != 0 || step.tv_nsec <= 0 {
        return None;
    }
    let hz = (NANOS + step.tv_nsec / 2) / step.tv_nsec;
    if PLAUSIBLE.contains(&hz) { u32::try_from(hz).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_parsed() {
        assert_eq!(Kernel::parse("5.15.0-91-generic").version, Some((5, 15)));
        assert_eq!(Kernel::parse("6.18.44-fc-v595").version, Some((6, 18)));
        assert_eq!(Kernel::parse("7.2-rc1").version, Some((7, 2)));
        assert_eq!(Kernel::parse("strange").version, None);
        assert_eq!(Kernel::parse("").version, None);
    }

    #[test]
    fn versions_compare_as_numbers() {
        assert_eq!(Kernel::parse("5.9.1").at_least(5, 13), Some(false), "9 is less than 13");
        assert_eq!(Kernel::parse("6.1.0").at_least(5, 13), Some(true));
        assert_eq!(Kernel::parse("5.13.0").at_least(5, 13), Some(true));
        assert_eq!(Kernel::parse("?").at_least(5, 13), None);
    }
}
