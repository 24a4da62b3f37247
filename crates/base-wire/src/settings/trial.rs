use super::{Lines, Section, SettingsError};

/// A part of the translate engine alone, to measure its cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// Code is translated, and does nothing else.
    Translation,
    /// It counts and streams every access; nothing reads the stream.
    Stream,
    /// As `Stream`, and each thread adds up the addresses.
    Checksums,
    /// It counts and takes samples with the periods of [`super::Settings`], which are dropped.
    Samples,
}

impl Trial {
    const ALL: [Self; 4] = [Self::Translation, Self::Stream, Self::Checksums, Self::Samples];

    /// The name in settings and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Translation => "translation",
            Self::Stream => "stream",
            Self::Checksums => "checksums",
            Self::Samples => "samples",
        }
    }
}

impl Section for Trial {
    const NAME: &'static str = "trial";

    fn write(&self, lines: &mut Lines) {
        lines.add("of", self.name());
    }

    fn read(lines: &mut Lines) -> Result<Self, SettingsError> {
        lines.choice("of", Self::ALL, Self::name)
    }
}
