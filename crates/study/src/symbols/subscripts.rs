//! The elements of arrays, as the languages call them: `a[1][2]` of C, `a(3,2)` of Fortran.

/// The dimensions of an array, in the order of its declaration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Subscripts {
    pub(super) dimensions: Vec<Dimension>,
    /// The first subscript counts fastest, as in Fortran. Otherwise the last one does.
    pub(super) first_fastest: bool,
}

/// Subscripts from `lower` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dimension {
    pub(super) lower: i64,
    /// 0 where it is not stated.
    pub(super) count: u64,
}

impl Subscripts {
    /// Of an array of C with these numbers of elements.
    #[cfg(test)]
    pub(super) fn of_c(counts: &[u64]) -> Self {
        let dimensions = counts.iter().map(|count| Dimension { lower: 0, count: *count }).collect();
        Self { dimensions, first_fastest: false }
    }

    /// The number of elements; `None` where it is more than the address space holds.
    pub(super) fn elements(&self) -> Option<u64> {
        self.dimensions.iter().try_fold(1u64, |all, dimension| all.checked_mul(dimension.count))
    }

    /// The subscripts of element number `index` in memory.
    pub(super) fn of(&self, index: u64) -> String {
        let mut rest = index;
        let mut found = Vec::new();
        let slowest = self.dimensions.len().saturating_sub(1);
        for place in 0..=slowest {
            let dimension = self.by_speed(place);
            // The number in the dimension that counts slowest is not needed.
            let (number, others) = match (place == slowest, dimension.count) {
                (true, _) => (rest, 0),
                (false, 0) => (0, 0),
                (false, count) => (rest % count, rest / count),
            };
            found.push(dimension.lower.wrapping_add_unsigned(number).to_string());
            rest = others;
        }
        if self.first_fastest {
            return format!("({})", found.join(","));
        }
        found.iter().rev().map(|subscript| format!("[{subscript}]")).collect()
    }

    /// The dimension at a place, the one that counts fastest first.
    fn by_speed(&self, place: usize) -> Dimension {
        let at = match self.first_fastest {
            true => Some(place),
            false => self.dimensions.len().checked_sub(place + 1),
        };
        at.and_then(|at| self.dimensions.get(at)).copied().unwrap_or(Dimension { lower: 0, count: 0 })
    }
}

/// The array that a field is an element of, or part of one: `a` of `a[3].count` and of `a(3,4)`.
pub(crate) fn array_of(field: &str) -> Option<&str> {
    let subscript = |(begin, _): (usize, &str)| {
        let within = field.get(begin + 1..)?.split_once(')')?.0;
        let numbers = within.chars().all(|letter| letter.is_ascii_digit() || letter == ',' || letter == '-');
        (numbers && !within.is_empty()).then_some(begin)
    };
    let fortran = || field.match_indices('(').find_map(subscript);
    let end = field.find('[').or_else(fortran)?;
    field.get(..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_subscript_counts_fastest_in_c_and_the_first_in_fortran() {
        let c = Subscripts::of_c(&[2, 3]);
        assert_eq!((c.of(5), c.of(1), c.elements()), ("[1][2]".to_owned(), "[0][1]".to_owned(), Some(6)));
        assert_eq!(Subscripts::of_c(&[]).of(7), "[7]");
        let dimensions = vec![Dimension { lower: 1, count: 64 }, Dimension { lower: -5, count: 11 }];
        let fortran = Subscripts { dimensions, first_fastest: true };
        assert_eq!(
            (fortran.of(0), fortran.of(63), fortran.of(64)),
            ("(1,-5)".into(), "(64,-5)".into(), "(1,-4)".into())
        );
        assert_eq!(Subscripts::of_c(&[u64::MAX, 2]).elements(), None);
    }

    #[test]
    fn elements_tell_their_array() {
        let arrays =
            ["a[3].count", "state::sums(3,4)", "sums(-2)", "(anonymous namespace)::slots[2]"].map(array_of);
        assert_eq!(
            arrays,
            [Some("a"), Some("state::sums"), Some("sums"), Some("(anonymous namespace)::slots")]
        );
        assert_eq!(["q.head", "q (padding)", "(anonymous namespace)::total"].map(array_of), [None; 3]);
    }
}
