//! Columns: a payload is a sequence of typed arrays, each a type byte, its length in bytes and its bytes.
//!
//! Reading is lazy: a cursor per column, all advanced row by row. So nothing is allocated on the word of a
//! length that a stranger wrote, and columns may hold entries for some rows only.

use carom_base::{VarintError, at_difference, difference, put_varint, take_varint};

use crate::error::Damage;

const BYTES: u8 = 0;
const INTEGERS: u8 = 1;
const WORDS: u8 = 2;
const FLOATS: u8 = 3;

/// Bytes of a column's length field.
const LENGTH_BYTES: usize = size_of::<u32>();

/// Appends columns to a payload.
#[derive(Default)]
pub struct ColumnWriter {
    payload: Vec<u8>,
}

impl ColumnWriter {
    /// Small codes and flags, one byte each.
    pub fn bytes(&mut self, values: impl IntoIterator<Item = u8>) {
        self.column(BYTES, |out| out.extend(values));
    }

    /// Several pieces of such a column, one after another.
    pub fn byte_pieces<'a>(&mut self, pieces: impl IntoIterator<Item = &'a [u8]>) {
        self.column(BYTES, |out| pieces.into_iter().for_each(|piece| out.extend_from_slice(piece)));
    }

    /// Numbers near their predecessors: differences (modulo 2^64, from 0), zigzag, seven bits to the byte,
    /// low first.
    pub fn integers(&mut self, values: impl IntoIterator<Item = u64>) {
        self.column(INTEGERS, |out| {
            let mut previous = 0;
            for value in values {
                put_varint(out, difference(previous, value));
                previous = value;
            }
        });
    }

    /// Numbers without order, such as hashes: eight bytes each, low first, so that compression sees repeats.
    pub fn words(&mut self, values: impl IntoIterator<Item = u64>) {
        self.column(WORDS, |out| values.into_iter().for_each(|value| out.extend(value.to_le_bytes())));
    }

    /// IEEE 754 single precision, low byte first.
    pub fn floats(&mut self, values: impl IntoIterator<Item = f32>) {
        self.column(FLOATS, |out| values.into_iter().for_each(|value| out.extend(value.to_le_bytes())));
    }

    /// The columns that were written.
    pub fn into_payload(self) -> Vec<u8> {
        self.payload
    }

    fn column(&mut self, kind: u8, fill: impl FnOnce(&mut Vec<u8>)) {
        self.payload.push(kind);
        let length_at = self.payload.len();
        self.payload.extend([0; LENGTH_BYTES]);
        let start = self.payload.len();
        fill(&mut self.payload);
        // A payload that does not fit u32 is refused as a whole when it is framed.
        let length = u32::try_from(self.payload.len() - start).unwrap_or(u32::MAX);
        if let Some(field) = self.payload.get_mut(length_at..start) {
            field.copy_from_slice(&length.to_le_bytes());
        }
    }
}

/// Hands out a payload's columns in order. Columns that nobody asks for are ignored: later versions may
/// append.
pub struct ColumnReader<'a> {
    rest: &'a [u8],
}

impl<'a> ColumnReader<'a> {
    /// From a decompressed payload.
    pub fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }

    /// The next column, which must be of codes.
    pub fn bytes(&mut self) -> Result<Bytes<'a>, Damage> {
        Ok(Bytes { rest: self.column(BYTES)? })
    }

    /// The next column of codes; `None` where this is the end, because the writer did not know the column yet.
    pub fn later_bytes(&mut self) -> Result<Option<Bytes<'a>>, Damage> {
        if self.rest.is_empty() { Ok(None) } else { self.bytes().map(Some) }
    }

    /// The next column, which must be of integers.
    pub fn integers(&mut self) -> Result<Integers<'a>, Damage> {
        Ok(Integers { rest: self.column(INTEGERS)?, previous: 0 })
    }

    /// The next column, which must be of words.
    pub fn words(&mut self) -> Result<Words<'a>, Damage> {
        Ok(Words { rest: self.column(WORDS)? })
    }

    /// The next column, which must be of floats.
    pub fn floats(&mut self) -> Result<Floats<'a>, Damage> {
        Ok(Floats { rest: self.column(FLOATS)? })
    }

    fn column(&mut self, kind: u8) -> Result<&'a [u8], Damage> {
        let [found] = take(&mut self.rest)?;
        if found != kind {
            return Err(Damage::Column);
        }
        let length = u32::from_le_bytes(take(&mut self.rest)?);
        let length = usize::try_from(length).map_err(|_| Damage::Column)?;
        let (column, rest) = self.rest.split_at_checked(length).ok_or(Damage::Column)?;
        self.rest = rest;
        Ok(column)
    }
}

/// A column of codes.
pub struct Bytes<'a> {
    rest: &'a [u8],
}

impl Bytes<'_> {
    /// The next code as it is.
    pub fn read(&mut self) -> Result<u8, Damage> {
        take(&mut self.rest).map(|[byte]| byte)
    }

    /// The next codes as they are.
    pub fn read_slice(&mut self, count: usize) -> Result<&[u8], Damage> {
        let (slice, rest) = self.rest.split_at_checked(count).ok_or(Damage::Column)?;
        self.rest = rest;
        Ok(slice)
    }

    /// The next code as what it stands for.
    pub fn read_as<T>(&mut self, meaning: impl FnOnce(u8) -> Option<T>) -> Result<T, Damage> {
        meaning(self.read()?).ok_or(Damage::Value)
    }

    /// The next flag.
    pub fn read_bool(&mut self) -> Result<bool, Damage> {
        self.read_as(|byte| (byte <= 1).then_some(byte == 1))
    }
}

/// A column of integers.
pub struct Integers<'a> {
    rest: &'a [u8],
    previous: u64,
}

impl Integers<'_> {
    /// The next integer.
    pub fn read(&mut self) -> Result<u64, Damage> {
        self.previous = at_difference(self.previous, take_varint(&mut self.rest)?);
        Ok(self.previous)
    }

    /// The next integer where the field has 32 bits.
    pub fn read_u32(&mut self) -> Result<u32, Damage> {
        u32::try_from(self.read()?).map_err(|_| Damage::Value)
    }
}

/// A column of words.
pub struct Words<'a> {
    rest: &'a [u8],
}

impl Words<'_> {
    /// The next word.
    pub fn read(&mut self) -> Result<u64, Damage> {
        take(&mut self.rest).map(u64::from_le_bytes)
    }
}

/// A column of floats.
pub struct Floats<'a> {
    rest: &'a [u8],
}

impl Floats<'_> {
    /// The next float.
    pub fn read(&mut self) -> Result<f32, Damage> {
        take(&mut self.rest).map(f32::from_le_bytes)
    }
}

impl From<VarintError> for Damage {
    fn from(error: VarintError) -> Self {
        match error {
            VarintError::Incomplete => Self::Column,
            VarintError::TooLarge => Self::Value,
        }
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], Damage> {
    let (head, tail) = rest.split_first_chunk::<N>().ok_or(Damage::Column)?;
    *rest = tail;
    Ok(*head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integers(values: &[u64]) -> Vec<u8> {
        let mut columns = ColumnWriter::default();
        columns.integers(values.iter().copied());
        columns.into_payload()
    }

    #[test]
    fn integers_are_differences_in_zigzag_varints() {
        // 3 is +3, zigzag 6; 2 is -1, zigzag 1; 66 is +64, zigzag 128, in two bytes of seven bits: 0, then 1.
        assert_eq!(integers(&[3, 2, 66]), [INTEGERS, 4, 0, 0, 0, 6, 1, 0x80, 1]);
    }

    #[test]
    fn extreme_integers_survive() {
        let values = [u64::MAX, 0, 1 << 63, u64::MAX, (1 << 63) - 1, 0];
        let payload = integers(&values);
        let mut column = ColumnReader::new(&payload).integers().unwrap();
        for value in values {
            assert_eq!(column.read(), Ok(value));
        }
        assert_eq!(column.read(), Err(Damage::Column));
    }

    #[test]
    fn another_type_of_column_is_refused() {
        let payload = integers(&[1]);
        assert_eq!(ColumnReader::new(&payload).words().err(), Some(Damage::Column));
    }

    #[test]
    fn a_length_past_the_end_is_refused() {
        let mut payload = integers(&[1, 2, 3]);
        payload.pop();
        assert_eq!(ColumnReader::new(&payload).integers().err(), Some(Damage::Column));
    }
}
