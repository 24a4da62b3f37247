//! What tells the chunks of one table from those of another.

/// A kind of row: the code in the headers of its chunks, and the file that holds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind {
    code: u8,
    file_name: &'static str,
}

impl Kind {
    /// A kind of its own. Where its file is missing, there are no rows.
    pub(crate) const fn new(code: u8, file_name: &'static str) -> Self {
        Self { code, file_name }
    }

    /// The code in the headers of its chunks.
    pub const fn code(self) -> u8 {
        self.code
    }

    /// The name of its file in the recording's directory.
    pub const fn file_name(self) -> &'static str {
        self.file_name
    }
}
