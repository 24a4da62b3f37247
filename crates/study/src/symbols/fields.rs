//! From a position in a variable to the field that lies there. Works on an abstract table of types.

use std::ops::Range;
use std::sync::Arc;

use super::subscripts::Subscripts;

/// Types nest by value only so deep; a table with a cycle is broken.
const MAX_NESTING: usize = 32;

/// Parts looked at for one picture. A line has at most 64 fields, each a few levels deep; only a broken table
/// leads further.
const MAX_PARTS: usize = 1 << 16;

/// How a type is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape<T> {
    /// One value: a number, a pointer, an enumeration, or something unknown.
    Leaf,
    /// An array.
    Array {
        /// The type of one element.
        element: T,
        /// How its elements are numbered.
        subscripts: Subscripts,
    },
    /// A struct, class or tuple.
    Record {
        /// In the order of the declaration, base classes among them.
        members: Vec<Member<T>>,
        /// It is nothing but a wrapper of its only member: `AtomicU64`, `std::array`. Its member is not named.
        transparent: bool,
    },
    /// A union: members overlap, and the first that fits is taken.
    Union(Vec<Member<T>>),
}

/// A part of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member<T> {
    /// `None` for base classes and anonymous structs and unions, whose members are named as if they were the
    /// record's own.
    pub(super) name: Option<String>,
    /// Bytes from the beginning of the record. Bit-fields share bytes.
    pub(super) bytes: Range<u64>,
    /// It is a bit-field.
    pub(super) bits: bool,
    /// Its type.
    pub(super) of: T,
}

/// Where shapes come from.
pub(super) trait TypeTable {
    /// How a type is referred to.
    type Type: Copy;
    /// Its layout, without qualifiers and typedefs.
    fn shape(&self, of: Self::Type) -> Arc<Shape<Self::Type>>;
    /// Bytes; 0 where unknown.
    fn size(&self, of: Self::Type) -> u64;
}

/// The name of what lies at `bytes` of a variable called `name`: `stats.hits`, `table[3].count`. An access that
/// covers several is named from the first to the last: `stats.hits..misses`.
pub(super) fn name_at<T: TypeTable>(table: &T, of: T::Type, name: &str, bytes: Range<u64>) -> String {
    name_within(table, of, name, bytes, MAX_NESTING)
}

fn name_within<T: TypeTable>(table: &T, of: T::Type, name: &str, bytes: Range<u64>, depth: usize) -> String {
    let Some(depth) = depth.checked_sub(1) else { return name.to_owned() };
    match &*table.shape(of) {
        Shape::Leaf => name.to_owned(),
        Shape::Array { element, subscripts } => {
            let Some((first, last)) = elements(table.size(*element), &bytes) else { return name.to_owned() };
            let first_name = format!("{name}{}", subscripts.of(first));
            if first < last {
                return format!("{first_name}..{}", subscripts.of(last));
            }
            let start = first * table.size(*element);
            name_within(table, *element, &first_name, bytes.start - start..bytes.end - start, depth)
        }
        Shape::Record { members, transparent } => {
            let touched: Vec<_> = members.iter().filter(|member| overlaps(&member.bytes, &bytes)).collect();
            let [first, others @ ..] = touched.as_slice() else { return format!("{name} (padding)") };
            if touched.iter().all(|member| member.bits) {
                return join_bits(name, &touched);
            }
            let named = if *transparent { None } else { first.name.as_deref() };
            let first_name =
                name_within(table, first.of, &member_name(name, named), within(&first.bytes, &bytes), depth);
            match others.last().and_then(|last| last.name.as_deref()) {
                Some(last) => format!("{first_name}..{last}"),
                None => first_name,
            }
        }
        Shape::Union(members) => {
            let holds = |member: &&Member<T::Type>| {
                member.bytes.start <= bytes.start && bytes.end <= member.bytes.end
            };
            let touches = |member: &&Member<T::Type>| overlaps(&member.bytes, &bytes);
            let Some(member) = members.iter().find(holds).or_else(|| members.iter().find(touches)) else {
                return format!("{name} (padding)");
            };
            let inner = member_name(name, member.name.as_deref());
            name_within(table, member.of, &inner, within(&member.bytes, &bytes), depth)
        }
    }
}

/// The fields of a variable of `size` bytes that have a byte in `window`, in order of offset. All offsets are
/// from the variable's beginning.
pub(super) fn fields_in<T: TypeTable>(
    table: &T,
    of: T::Type,
    name: &str,
    size: u64,
    window: Range<u64>,
) -> Vec<(Range<u64>, String)> {
    let mut found = Found { window, fields: Vec::new(), parts_left: MAX_PARTS };
    found.collect(table, of, name, 0..size, MAX_NESTING);
    found.fields
}

/// The fields that were found.
struct Found {
    window: Range<u64>,
    fields: Vec<(Range<u64>, String)>,
    parts_left: usize,
}

impl Found {
    /// Adds the fields of a part of type `of` that occupies `place`.
    fn collect<T: TypeTable>(&mut self, table: &T, of: T::Type, name: &str, place: Range<u64>, depth: usize) {
        if !overlaps(&place, &self.window) || self.parts_left == 0 {
            return;
        }
        self.parts_left -= 1;
        let shape = if depth == 0 { Arc::new(Shape::Leaf) } else { table.shape(of) };
        let depth = depth.saturating_sub(1);
        match &*shape {
            Shape::Leaf => self.fields.push((place, name.to_owned())),
            Shape::Array { element, subscripts } => {
                self.collect_array(table, *element, subscripts, name, place, depth);
            }
            Shape::Record { members, transparent } => {
                for run in members.chunk_by(|a, b| a.bits && b.bits && overlaps(&a.bytes, &b.bytes)) {
                    let [first, others @ ..] = run else { continue };
                    let end = others.iter().map(|member| member.bytes.end).fold(first.bytes.end, u64::max);
                    let bytes = shifted(&(first.bytes.start..end), place.start);
                    if first.bits {
                        let names: Vec<_> = run.iter().collect();
                        self.push(bytes, join_bits(name, &names));
                    } else {
                        let named = if *transparent { None } else { first.name.as_deref() };
                        self.collect(table, first.of, &member_name(name, named), bytes, depth);
                    }
                }
            }
            Shape::Union(members) => {
                // The first member speaks for the union, the next for what lies behind it.
                let window = self.window.clone();
                for member in members {
                    let bytes = shifted(&member.bytes, place.start);
                    let behind = bytes.end;
                    let inner = member_name(name, member.name.as_deref());
                    self.collect(table, member.of, &inner, bytes, depth);
                    self.window.start = self.window.start.max(behind);
                }
                self.window = window;
            }
        }
    }

    fn collect_array<T: TypeTable>(
        &mut self,
        table: &T,
        element: T::Type,
        subscripts: &Subscripts,
        name: &str,
        place: Range<u64>,
        depth: usize,
    ) {
        let stride = table.size(element);
        let visible = place.start.max(self.window.start)..place.end.min(self.window.end);
        let visible = visible.start - place.start..visible.end.saturating_sub(place.start);
        let Some((first, last)) = elements(stride, &visible) else {
            return self.fields.push((place, name.to_owned()));
        };
        if stride == 1 && first < last {
            // Sixty-four lines for the characters of a string would tell nobody anything.
            let range = format!("{name}{}..{}", subscripts.of(first), subscripts.of(last));
            return self.fields.push((shifted(&visible, place.start), range));
        }
        for index in first..=last {
            let name = format!("{name}{}", subscripts.of(index));
            let start = place.start + index * stride;
            self.collect(table, element, &name, start..start.saturating_add(stride), depth);
        }
    }

    fn push(&mut self, bytes: Range<u64>, name: String) {
        if overlaps(&bytes, &self.window) {
            self.fields.push((bytes, name));
        }
    }
}

/// First and last element of an array that `bytes` touches; `None` where elements have no size.
fn elements(stride: u64, bytes: &Range<u64>) -> Option<(u64, u64)> {
    Some((bytes.start.checked_div(stride)?, bytes.end.checked_sub(1)?.checked_div(stride)?))
}

/// `name.member`; Rust's `__0` is written as in the source, `.0`.
fn member_name(name: &str, member: Option<&str>) -> String {
    let Some(member) = member else { return name.to_owned() };
    let position = member.strip_prefix("__").filter(|rest| rest.parse::<u32>().is_ok());
    format!("{name}.{}", position.unwrap_or(member))
}

fn join_bits<T>(name: &str, members: &[&Member<T>]) -> String {
    let names: Vec<&str> = members.iter().map(|member| member.name.as_deref().unwrap_or("")).collect();
    format!("{name}.{}", names.join("|"))
}

fn overlaps(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end && !a.is_empty() && !b.is_empty()
}

/// The part of `bytes` that lies in `part`, relative to it.
fn within(part: &Range<u64>, bytes: &Range<u64>) -> Range<u64> {
    bytes.start.max(part.start) - part.start..bytes.end.min(part.end) - part.start
}

fn shifted(bytes: &Range<u64>, by: u64) -> Range<u64> {
    bytes.start.saturating_add(by)..bytes.end.saturating_add(by)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types by their position in a list, each with its size.
    struct Table(Vec<(u64, Shape<usize>)>);

    impl TypeTable for Table {
        type Type = usize;
        fn shape(&self, of: usize) -> Arc<Shape<usize>> {
            Arc::new(self.0[of].1.clone())
        }
        fn size(&self, of: usize) -> u64 {
            self.0[of].0
        }
    }

    const LONG: usize = 0;
    const BYTE: usize = 1;

    /// A table with `long` and `char`, and `more` from number 2 on.
    fn table(more: Vec<(u64, Shape<usize>)>) -> Table {
        Table([vec![(8, Shape::Leaf), (1, Shape::Leaf)], more].concat())
    }

    fn member(name: &str, bytes: Range<u64>, of: usize) -> Member<usize> {
        Member { name: (!name.is_empty()).then(|| name.to_owned()), bytes, bits: false, of }
    }

    fn record(members: Vec<Member<usize>>) -> Shape<usize> {
        Shape::Record { members, transparent: false }
    }

    fn drawn(fields: &[(Range<u64>, String)]) -> Vec<(u64, u64, &str)> {
        fields.iter().map(|(bytes, name)| (bytes.start, bytes.end, name.as_str())).collect()
    }

    #[test]
    fn wrappers_and_nameless_parts_leave_no_trace_in_the_name() {
        // 2: Atomic { v: long }, a library's; 3: struct { Atomic hits; struct { char low; } ; }
        let wrapper = Shape::Record { members: vec![member("v", 0..8, LONG)], transparent: true };
        let anonymous = record(vec![member("low", 0..1, BYTE)]);
        let outer = record(vec![member("hits", 0..8, 2), member("", 8..9, 3), member("__1", 9..10, BYTE)]);
        let table = table(vec![(8, wrapper), (1, anonymous), (16, outer)]);
        assert_eq!(name_at(&table, 4, "s", 0..8), "s.hits");
        assert_eq!(name_at(&table, 4, "s", 8..9), "s.low");
        assert_eq!(name_at(&table, 4, "s", 9..10), "s.1", "the second of a Rust tuple");
        assert_eq!(name_at(&table, 4, "s", 12..16), "s (padding)");
    }

    #[test]
    fn rows_come_before_columns() {
        // long a[2][3]: element 5 is the last, [1][2].
        let array = Shape::Array { element: LONG, subscripts: Subscripts::of_c(&[2, 3]) };
        let table = table(vec![(48, array)]);
        assert_eq!(name_at(&table, 2, "a", 40..48), "a[1][2]");
        assert_eq!(name_at(&table, 2, "a", 16..32), "a[0][2]..[1][0]", "a vector load across the rows");
        let line = fields_in(&table, 2, "a", 48, 12..28);
        assert_eq!(drawn(&line), [(8, 16, "a[0][1]"), (16, 24, "a[0][2]"), (24, 32, "a[1][0]")]);
    }

    #[test]
    fn a_union_is_drawn_by_its_first_members() {
        // union { char tag; long parts[2]; }: the tag speaks for byte 0, the array for what it leaves: the rest of
        // its first element and the second.
        let array = Shape::Array { element: LONG, subscripts: Subscripts::of_c(&[2]) };
        let both = Shape::Union(vec![member("tag", 0..1, BYTE), member("parts", 0..16, 2)]);
        let table = table(vec![(16, array), (16, both)]);
        let fields = fields_in(&table, 3, "u", 16, 0..64);
        assert_eq!(drawn(&fields), [(0, 1, "u.tag"), (0, 8, "u.parts[0]"), (8, 16, "u.parts[1]")]);
    }

    #[test]
    fn a_type_that_contains_itself_ends() {
        let cyclic = record(vec![member("a", 0..8, 2), member("b", 0..8, 2)]);
        let table = table(vec![(8, cyclic)]);
        assert!(name_at(&table, 2, "x", 0..4).starts_with("x.a.a"));
        assert!(fields_in(&table, 2, "x", 8, 0..8).len() <= MAX_PARTS);
        // An array of more than the address space.
        let huge = Table(vec![
            (u64::MAX, Shape::Leaf),
            (8, Shape::Array { element: 0, subscripts: Subscripts::default() }),
        ]);
        assert_eq!(drawn(&fields_in(&huge, 1, "x", 8, 0..8)), [(0, u64::MAX, "x[0]")]);
    }
}
