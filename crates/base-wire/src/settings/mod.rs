//! The host's settings for every agent of a session: those that all detectors share, and a section for each detector.
//!
//! They are text with one setting per line (`reuse.slots 9`). The host writes them once, and each process reads them
//! once. A section is present if its detector is asked for. An unknown setting is an error: agent and host are of
//! different builds.

mod lines;
mod reuse;
mod share;
mod trial;
mod window;

pub use lines::{Lines, SettingsError};
pub use reuse::{Domains, DomainsOf, MAPPED, ReuseMethod, ReuseSettings};
pub use share::ShareSettings;
pub use trial::Trial;
pub use window::Window;

use crate::VERSION;

/// Name of the file in the session directory.
pub const SETTINGS_FILE: &str = "settings";

/// Name of the file in the session directory with the instructions that a targeted trace looks at: a line for each, with
/// its address in its module's file as hexadecimal digits, a space, and the module's path.
pub const TARGETS_FILE: &str = "targets";

/// The settings of one detector, or of the session.
pub(crate) trait Section: Sized {
    /// The prefix of its lines.
    const NAME: &'static str;

    /// Adds its lines.
    fn write(&self, lines: &mut Lines);

    /// Reads them.
    ///
    /// # Errors
    /// A setting is missing or invalid.
    fn read(lines: &mut Lines) -> Result<Self, SettingsError>;
}

/// The engine: how accesses are observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// A timer interrupts each thread, and the instructions around the interrupt are decoded.
    Burst,
    /// The program's code is translated, so that it counts exactly and may sample its accesses.
    Translate,
}

impl Engine {
    /// The engine's name in journals, manifests and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Burst => "burst",
            Self::Translate => "translate",
        }
    }

    /// The inverse of [`Engine::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Burst, Self::Translate].into_iter().find(|engine| engine.name() == name)
    }
}

/// How samples are to be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryChoice {
    /// The best that works: sigtrap, F_SETSIG, POSIX timers.
    Auto,
    /// perf events with `sigtrap`.
    Sigtrap,
    /// perf events with `F_SETSIG`.
    Setsig,
    /// POSIX timers, no watchpoints.
    PosixTimer,
}

impl DeliveryChoice {
    const ALL: [Self; 4] = [Self::Auto, Self::Sigtrap, Self::Setsig, Self::PosixTimer];

    const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Sigtrap => "sigtrap",
            Self::Setsig => "setsig",
            Self::PosixTimer => "posix-timer",
        }
    }
}

/// How sampled uses are watched, or lines that other threads have written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchChoice {
    /// Translated code compares its accesses with the watched data.
    Software,
    /// The debug registers of every thread.
    Registers,
    /// Translated code at the beginning of a process, and in episodes later.
    Episodes,
}

impl WatchChoice {
    const ALL: [Self; 3] = [Self::Software, Self::Registers, Self::Episodes];

    /// The name in manifests and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Software => "software",
            Self::Registers => "registers",
            Self::Episodes => "episodes",
        }
    }
}

/// The settings of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// What observes accesses. Where code cannot be translated in a process, a `trouble` line states the reason. The
    /// process runs unobserved, or is sampled by burst where `period_ns` is not 0.
    pub engine: Engine,
    /// Mean number of loads between two sampled ones (translate); 0: sample none, only count.
    pub load_period: u64,
    /// Mean number of stores between two sampled ones (translate); 0: sample none, only count.
    pub store_period: u64,
    /// How often both periods may be doubled to keep to the budget, all at once and in all processes; 0: never.
    pub doublings: u32,
    /// Mean thread CPU time between two timer samples, in nanoseconds (burst); 0: take none.
    pub period_ns: u64,
    /// The agent's share of each thread's time, in millionths.
    pub budget_ppm: u32,
    /// Step samples go 0 to `max_steps - 1` instructions on.
    pub max_steps: u32,
    /// Debug registers that each thread may watch with, 0 to 4.
    pub watchpoints: u32,
    /// How samples are delivered.
    pub delivery: DeliveryChoice,
    /// Track heap objects of at least this many bytes; `None`: do not track.
    pub objects: Option<u64>,
    /// Where accesses are kept: recording ends with this number of them, of all processes together; `None`: with the program.
    /// Of [`Keep::Loads`](carom_base::Keep::Loads), those that were looked at count.
    pub most_kept: Option<u64>,
    /// Count by instruction, too (translate).
    pub by_instruction: bool,
    /// When to observe.
    pub window: Window,
    /// Look for sharing.
    pub share: Option<ShareSettings>,
    /// Look for reuse.
    pub reuse: Option<ReuseSettings>,
    /// Measure what a part of the translate engine costs.
    pub trial: Option<Trial>,
}

impl Settings {
    /// Settings that only ask `engine` to count, where it can.
    pub const fn of(engine: Engine) -> Self {
        Self {
            engine,
            load_period: 0,
            store_period: 0,
            doublings: 0,
            period_ns: 0,
            budget_ppm: 0,
            max_steps: 0,
            watchpoints: 0,
            delivery: DeliveryChoice::Auto,
            objects: None,
            most_kept: None,
            by_instruction: false,
            window: Window::ALWAYS,
            share: None,
            reuse: None,
            trial: None,
        }
    }

    /// The text of the session's file.
    pub fn to_text(&self) -> String {
        let mut lines = Lines::default();
        lines.add("version", VERSION);
        lines.add("engine", self.engine.name());
        lines.add("load-period", self.load_period);
        lines.add("store-period", self.store_period);
        lines.add("doublings", self.doublings);
        lines.add("period-ns", self.period_ns);
        lines.add("budget-ppm", self.budget_ppm);
        lines.add("max-steps", self.max_steps);
        lines.add("watchpoints", self.watchpoints);
        lines.add("delivery", self.delivery.name());
        if let Some(least) = self.objects {
            lines.add("objects", least);
        }
        if let Some(most) = self.most_kept {
            lines.add("most-kept", most);
        }
        lines.add("by-instruction", self.by_instruction);
        lines.add("opens-ns", self.window.opens_ns);
        lines.add("closes-ns", self.window.closes_ns);
        lines.add("every-ns", self.window.every_ns);
        lines.add("marked", self.window.marked);
        lines.add_section(self.share.as_ref());
        lines.add_section(self.reuse.as_ref());
        lines.add_section(self.trial.as_ref());
        lines.to_string()
    }

    /// The inverse of [`Self::to_text`].
    ///
    /// # Errors
    /// The text is of another version, or is not valid settings.
    pub fn from_text(text: &str) -> Result<Self, SettingsError> {
        let mut lines = Lines::parse(text)?;
        let version = lines.number("version")?;
        if version != VERSION {
            return Err(SettingsError::Version(version));
        }
        let settings = Self {
            engine: lines.choice("engine", [Engine::Burst, Engine::Translate], Engine::name)?,
            load_period: lines.number("load-period")?,
            store_period: lines.number("store-period")?,
            doublings: lines.number("doublings")?,
            period_ns: lines.number("period-ns")?,
            budget_ppm: lines.number("budget-ppm")?,
            max_steps: lines.number("max-steps")?,
            watchpoints: lines.number("watchpoints")?,
            delivery: lines.choice("delivery", DeliveryChoice::ALL, DeliveryChoice::name)?,
            objects: if lines.has("objects") { Some(lines.number("objects")?) } else { None },
            most_kept: if lines.has("most-kept") { Some(lines.number("most-kept")?) } else { None },
            by_instruction: lines.number("by-instruction")?,
            window: Window {
                opens_ns: lines.number("opens-ns")?,
                closes_ns: lines.number("closes-ns")?,
                every_ns: lines.number("every-ns")?,
                marked: lines.number("marked")?,
            },
            share: lines.section()?,
            reuse: lines.section()?,
            trial: lines.section()?,
        };
        lines.end()?;
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use carom_base::{Keep, Reduction};

    use super::*;

    fn full() -> Settings {
        let domains = Domains::new(DomainsOf::Threads, [&[0, 1][..], &[2, 1023, 4000]]);
        Settings {
            load_period: 6,
            store_period: 7,
            doublings: 8,
            period_ns: 1,
            budget_ppm: u32::MAX,
            max_steps: 3,
            watchpoints: 4,
            delivery: DeliveryChoice::Setsig,
            objects: Some(0),
            most_kept: Some(5),
            by_instruction: true,
            window: Window { opens_ns: 8, closes_ns: 9, every_ns: 10, marked: true },
            share: Some(ShareSettings { watch: WatchChoice::Registers, board_slots: 127 }),
            reuse: Some(ReuseSettings {
                method: ReuseMethod::Sampled { watch: WatchChoice::Software, slots: 9 },
                domains,
            }),
            trial: Some(Trial::Checksums),
            ..Settings::of(Engine::Translate)
        }
    }

    #[test]
    fn settings_come_back() {
        let exact =
            ReuseMethod::Exact { granularities: 1 << 6 | 1, sample_rate: 0.01, pairs: true, keep: true };
        let reuse = full().reuse.map(|reuse| ReuseSettings { method: exact, ..reuse });
        let with = |method| full().reuse.map(|reuse| ReuseSettings { method, ..reuse });
        let reduced = |keep| with(ReuseMethod::Reduced(Reduction { latency: 104, keep }));
        for settings in [
            Settings::of(Engine::Burst),
            full(),
            Settings { reuse, ..full() },
            Settings { share: None, ..full() },
            Settings { reuse: with(ReuseMethod::Kept), ..full() },
            Settings { reuse: reduced(Keep::Lossy { sample: 8, itanium: true }), ..full() },
            Settings { reuse: reduced(Keep::Targeted { stores: 0.05 }), ..full() },
            Settings { reuse: reduced(Keep::Loads), ..full() },
        ] {
            assert_eq!(Settings::from_text(&settings.to_text()), Ok(settings), "{}", settings.to_text());
        }
    }

    #[test]
    fn what_is_not_known_is_refused() {
        let text = full().to_text();
        let check = |from: &str, to: &str, expect: &str| {
            assert!(text.contains(from), "{from}: {text}");
            let error = Settings::from_text(&text.replace(from, to)).expect_err(to);
            assert_eq!(error.to_string(), expect);
        };
        check("engine translate", "engine steam", "setting `engine`: `steam` means nothing");
        check("reuse.slots 9", "reuse.slots nine", "setting `reuse.slots`: `nine` means nothing");
        check("share.board-slots 127\n", "", "setting `share.board-slots` is missing");
        check("max-steps 3", "max-steps 3\nsteam 1", "setting `steam` is not known");
        let other = format!("version {}", VERSION + 1);
        check(&format!("version {VERSION}"), &other, &format!("settings of version {}", VERSION + 1));
    }
}
