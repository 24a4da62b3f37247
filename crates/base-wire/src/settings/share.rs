use super::{Lines, Section, SettingsError, WatchChoice};

/// The settings for sharing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareSettings {
    /// How lines that other threads have written are watched: by debug registers, or by translated code itself. Where
    /// code cannot be translated, by debug registers.
    pub watch: WatchChoice,
    /// Slots of the bulletin board.
    pub board_slots: u32,
}

impl Section for ShareSettings {
    const NAME: &'static str = "share";

    fn write(&self, lines: &mut Lines) {
        lines.add("watch", self.watch.name());
        lines.add("board-slots", self.board_slots);
    }

    fn read(lines: &mut Lines) -> Result<Self, SettingsError> {
        Ok(Self {
            watch: lines.choice("watch", WatchChoice::ALL, WatchChoice::name)?,
            board_slots: lines.number("board-slots")?,
        })
    }
}
