//! Where in the loop the contended instruction is.

use std::str::FromStr;

/// A position in a loop of any length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// The instruction's number, from 0.
    Number(u64),
    /// So many eighths of the way from the first to the last position.
    Eighths(u64),
}

/// The positions that have names.
const NAMES: [(&str, Position); 5] = [
    ("first", Position::Eighths(0)),
    ("quarter", Position::Eighths(2)),
    ("middle", Position::Eighths(4)),
    ("three-quarters", Position::Eighths(6)),
    ("last", Position::LAST),
];

impl Position {
    /// The last one before the two instructions that close the loop.
    pub const LAST: Self = Self::Eighths(8);

    /// The instruction's number in a loop of `length` instructions, whose last position is `length - 3`
    /// because two instructions close the loop. Rounded down.
    pub fn in_loop_of(self, length: u64) -> u64 {
        match self {
            Self::Number(number) => number,
            Self::Eighths(eighths) => length.saturating_sub(3) * eighths / 8,
        }
    }
}

impl FromStr for Position {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(&(_, position)) = NAMES.iter().find(|(name, _)| *name == text) {
            return Ok(position);
        }
        text.parse().map(Self::Number).map_err(|_| {
            "neither a number nor one of first, quarter, middle, three-quarters, last".to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_eighths_of_the_way() {
        // The last position of 200 is 197: a half of it is 98.5, three quarters 147.75.
        let at = |name: &str| name.parse::<Position>().unwrap().in_loop_of(200);
        assert_eq!(["first", "middle", "three-quarters", "last", "13"].map(at), [0, 98, 147, 197, 13]);
        assert!("centre".parse::<Position>().is_err());
    }
}
