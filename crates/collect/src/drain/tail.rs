//! A file that an agent appends to.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

/// The position in a file, and the bytes that were read and not used yet.
#[derive(Default)]
pub struct Tail {
    offset: u64,
    pub bytes: Vec<u8>,
}

impl Tail {
    /// Reads the file on, up to `most` bytes. After an error the next visit goes on.
    pub fn read(&mut self, path: &Path, most: u64) {
        let _ = self.try_read(path, most);
    }

    fn try_read(&mut self, path: &Path, most: u64) -> io::Result<()> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(self.offset))?;
        self.offset += file.take(most).read_to_end(&mut self.bytes)? as u64;
        Ok(())
    }
}
