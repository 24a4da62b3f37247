//! The layout of types as DWARF describes it.

use std::ops::Range;
use std::sync::Arc;

use gimli::{AttributeValue, DwTag, Operation};

use super::dwarf::{DebugInfo, DieRef, Entry, Value};
use super::fields::{Member, Shape, TypeTable};
use super::short;
use super::subscripts::{Dimension, Subscripts};

/// Chains of typedefs and qualifiers, and types in types by value; more is a cycle.
const MAX_CHAIN: usize = 64;

/// Namespaces whose single-member structs are wrappers that nobody wrote on purpose.
const LIBRARIES: [&str; 5] = ["std", "core", "alloc", "__gnu_cxx", "crossbeam_utils"];

const BITS_PER_BYTE: u64 = 8;

/// Here the first subscript counts fastest.
const FORTRAN: [gimli::DwLang; 5] = [
    gimli::DW_LANG_Fortran77,
    gimli::DW_LANG_Fortran90,
    gimli::DW_LANG_Fortran95,
    gimli::DW_LANG_Fortran03,
    gimli::DW_LANG_Fortran08,
];

impl TypeTable for DebugInfo {
    type Type = DieRef;

    fn shape(&self, of: DieRef) -> Arc<Shape<DieRef>> {
        self.shape_within(of, MAX_CHAIN)
    }

    fn size(&self, of: DieRef) -> u64 {
        self.size_within(of, MAX_CHAIN).unwrap_or(0)
    }
}

impl DebugInfo {
    /// The type of a variable or member.
    pub(super) fn type_of(&self, die: DieRef) -> Option<DieRef> {
        let (at, value) = self.attribute(die, gimli::DW_AT_type)?;
        self.follow(at.unit, &value)
    }

    /// What a pointer or reference of type `of` leads to; `None` for `void` and for other types.
    pub(super) fn pointee(&self, of: DieRef) -> Option<DieRef> {
        let (of, entry) = self.unqualified(of)?;
        if is_pointer(entry.tag()) { self.type_of(of) } else { None }
    }

    /// True for pointers and references, those to `void` among them.
    pub(super) fn is_pointer(&self, of: DieRef) -> bool {
        self.unqualified(of).is_some_and(|(_, entry)| is_pointer(entry.tag()))
    }

    /// `struct stats`, `class demo::Pool`: what a record is called, with the keyword. A record without a name is
    /// called by its typedef, one of Rust without its modules. `None` for other types and for records without either.
    pub(super) fn record_name(&self, of: DieRef) -> Option<String> {
        let (record, entry) = self.unqualified(of)?;
        let keyword = match entry.tag() {
            gimli::DW_TAG_structure_type => "struct",
            gimli::DW_TAG_class_type => "class",
            gimli::DW_TAG_union_type => "union",
            _ => return None,
        };
        let name = self.qualified_name(record).or_else(|| {
            let typedef = |die: &DieRef| self.entry(*die).is_some_and(|e| e.tag() == gimli::DW_TAG_typedef);
            let chain = std::iter::successors(Some(of), |die| self.type_of(*die)).take(MAX_CHAIN);
            chain.take_while(|die| *die != record).find(typedef).and_then(|die| self.qualified_name(die))
        })?;
        let name = if self.language(record.unit) == Some(gimli::DW_LANG_Rust) {
            short::of_rust(&name)
        } else {
            name
        };
        Some(format!("{keyword} {name}"))
    }

    /// What a type is called: a record with its keyword, another by its own name.
    pub(super) fn type_name(&self, of: DieRef) -> Option<String> {
        self.record_name(of).or_else(|| {
            let (die, entry) = self.unqualified(of)?;
            self.text_of(die, &entry, gimli::DW_AT_name)
        })
    }

    /// The type behind typedefs, qualifiers and type-unit stubs.
    pub(super) fn unqualified(&self, mut of: DieRef) -> Option<(DieRef, Entry)> {
        for _ in 0..MAX_CHAIN {
            let entry = self.entry(of)?;
            let next = if is_qualifier(entry.tag()) {
                Some(entry.attr_value(gimli::DW_AT_type)?)
            } else {
                entry.attr_value(gimli::DW_AT_signature)
            };
            match next {
                Some(reference) => of = self.follow(of.unit, &reference)?,
                None => return Some((of, entry)),
            }
        }
        None
    }

    fn size_within(&self, of: DieRef, depth: usize) -> Option<u64> {
        let depth = depth.checked_sub(1)?;
        let (of, entry) = self.unqualified(of)?;
        let stated = entry.attr_value(gimli::DW_AT_byte_size).and_then(|size| size.udata_value());
        match entry.tag() {
            _ if stated.is_some() => stated,
            gimli::DW_TAG_array_type => {
                let element = self.size_within(self.type_of(of)?, depth)?;
                self.subscripts(of).elements()?.checked_mul(element)
            }
            tag if is_pointer(tag) || tag == gimli::DW_TAG_ptr_to_member_type => {
                Some(self.address_size(of.unit))
            }
            gimli::DW_TAG_enumeration_type => self.size_within(self.type_of(of)?, depth),
            _ => None,
        }
    }

    fn shape_within(&self, of: DieRef, depth: usize) -> Arc<Shape<DieRef>> {
        if let Some(known) = self.shapes.borrow().get(&of) {
            return known.clone();
        }
        // A type that contains itself is broken, and meets this.
        self.shapes.borrow_mut().insert(of, Arc::new(Shape::Leaf));
        let shape = Arc::new(self.read_shape(of, depth).unwrap_or(Shape::Leaf));
        self.shapes.borrow_mut().insert(of, shape.clone());
        shape
    }

    fn read_shape(&self, of: DieRef, depth: usize) -> Option<Shape<DieRef>> {
        let depth = depth.checked_sub(1)?;
        let (of, entry) = self.unqualified(of)?;
        match entry.tag() {
            gimli::DW_TAG_array_type => {
                Some(Shape::Array { element: self.type_of(of)?, subscripts: self.subscripts(of) })
            }
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => self.read_record(of, depth),
            gimli::DW_TAG_union_type => {
                let children = self.children(of);
                let members = children.iter().filter_map(|(die, member)| self.read_member(*die, member));
                let members: Vec<_> = members.collect();
                Some(if self.is_wrapper(of, &members) {
                    Shape::Record { members, transparent: true }
                } else {
                    Shape::Union(members)
                })
            }
            _ => None,
        }
    }

    fn read_record(&self, of: DieRef, depth: usize) -> Option<Shape<DieRef>> {
        let mut members = Vec::new();
        for (die, entry) in self.children(of) {
            match entry.tag() {
                // A Rust enum: which variant is alive cannot be known.
                gimli::DW_TAG_variant_part => return Some(Shape::Leaf),
                gimli::DW_TAG_inheritance if self.is_empty(die, depth) => {}
                _ => members.extend(self.read_member(die, &entry)),
            }
        }
        if members.is_empty() && self.size(of) == 0 {
            // Declared, not defined: nothing is known of what lies there.
            return Some(Shape::Leaf);
        }
        members.sort_by_key(|member| member.bytes.start);
        if let Some(last) = members.last_mut()
            && last.bytes.is_empty()
            && matches!(&*self.shape_within(last.of, depth), Shape::Array { .. })
        {
            // A flexible array member reaches to the end of the variable, wherever that is.
            last.bytes.end = u64::MAX;
        }
        let transparent = self.is_wrapper(of, &members);
        Some(Shape::Record { members, transparent })
    }

    /// True for a library's type with one member that is not empty.
    fn is_wrapper(&self, of: DieRef, members: &[Member<DieRef>]) -> bool {
        let mut occupied = members.iter().filter(|member| !member.bytes.is_empty());
        occupied.next().is_some()
            && occupied.next().is_none()
            && self.outermost_namespace(of).is_some_and(|outermost| LIBRARIES.contains(&outermost.as_str()))
    }

    /// True for a base class without data. Its size is 1, but it occupies nothing.
    fn is_empty(&self, base: DieRef, depth: usize) -> bool {
        let shape = self.type_of(base).map(|of| self.shape_within(of, depth));
        matches!(shape.as_deref(), Some(Shape::Record { members, .. }) if members.is_empty())
    }

    /// A member or base class; `None` for static members, virtual bases and anything else.
    fn read_member(&self, die: DieRef, entry: &Entry) -> Option<Member<DieRef>> {
        let tag = entry.tag();
        let is_static = entry.has_attr(gimli::DW_AT_external) || entry.has_attr(gimli::DW_AT_declaration);
        if tag != gimli::DW_TAG_inheritance && (tag != gimli::DW_TAG_member || is_static) {
            return None;
        }
        let of = self.type_of(die)?;
        let start = match entry.attr_value(gimli::DW_AT_data_member_location) {
            Some(location) => self.constant_offset(die.unit, &location)?,
            None => 0,
        };
        let bits = self.bit_field(entry, start, of);
        let bytes = match &bits {
            Some(bytes) => bytes.clone(),
            None => start..start.checked_add(self.size(of))?,
        };
        let name = self.text_of(die, entry, gimli::DW_AT_name).filter(|_| tag == gimli::DW_TAG_member);
        Some(Member { name, bytes, bits: bits.is_some(), of })
    }

    /// A member's offset: a number or, before DWARF 3, an expression that adds one.
    fn constant_offset(&self, unit: usize, location: &Value) -> Option<u64> {
        if let Some(offset) = location.udata_value() {
            return Some(offset);
        }
        let mut operations = location.exprloc_value()?.operations(self.encoding(unit)?);
        match (operations.next().ok()??, operations.next().ok()?) {
            (Operation::PlusConstant { value }, None) => Some(value),
            _ => None,
        }
    }

    /// The bytes that a bit-field has a part in, on a little-endian machine; `None` for other members.
    ///
    /// DWARF 4 counts from the beginning of the record (`DW_AT_data_bit_offset`), earlier versions from the most
    /// significant bit of the storage unit (`DW_AT_bit_offset`): DWARF 4, 5.5.6.
    fn bit_field(&self, entry: &Entry, start: u64, of: DieRef) -> Option<Range<u64>> {
        let number = |name| entry.attr_value(name).and_then(|value: Value| value.udata_value());
        let size = number(gimli::DW_AT_bit_size)?;
        let first = match number(gimli::DW_AT_data_bit_offset) {
            Some(first) => first,
            None => {
                let storage = number(gimli::DW_AT_byte_size).unwrap_or_else(|| self.size(of));
                let from_top = match entry.attr_value(gimli::DW_AT_bit_offset) {
                    Some(offset) => offset.udata_value()?,
                    None => storage.checked_mul(BITS_PER_BYTE)?.checked_sub(size)?,
                };
                let top = start.checked_add(storage)?.checked_mul(BITS_PER_BYTE)?;
                top.checked_sub(from_top.checked_add(size)?)?
            }
        };
        let end = first.checked_add(size)?.checked_add(BITS_PER_BYTE - 1)?;
        Some(first / BITS_PER_BYTE..end / BITS_PER_BYTE)
    }
}

impl DebugInfo {
    /// The dimensions of an array type.
    pub(super) fn subscripts(&self, array: DieRef) -> Subscripts {
        let language = self.language(array.unit);
        // Where no lower bound is stated, it is the language's.
        let lowest = language.and_then(|language| language.default_lower_bound()).unwrap_or(0) as i64;
        let children = self.children(array);
        let subranges = children.iter().filter(|(_, entry)| entry.tag() == gimli::DW_TAG_subrange_type);
        let dimension = |entry: &Entry| {
            let bound = |name| entry.attr_value(name).and_then(|value| bound(&value));
            let lower = bound(gimli::DW_AT_lower_bound).unwrap_or(lowest);
            let count = entry.attr_value(gimli::DW_AT_count).and_then(|count| count.udata_value());
            // GCC writes the upper bound of an empty array as -1.
            let upper = || bound(gimli::DW_AT_upper_bound)?.checked_sub(lower)?.checked_add(1);
            let count = count.or_else(|| u64::try_from(upper()?).ok()).unwrap_or(0);
            Dimension { lower, count }
        };
        let dimensions = subranges.map(|(_, entry)| dimension(entry)).collect();
        Subscripts { dimensions, first_fastest: language.is_some_and(|language| FORTRAN.contains(&language)) }
    }

    fn language(&self, unit: usize) -> Option<gimli::DwLang> {
        match self.entry(self.root(unit)?)?.attr_value(gimli::DW_AT_language)? {
            AttributeValue::Language(language) => Some(language),
            _ => None,
        }
    }
}

fn bound(value: &Value) -> Option<i64> {
    value.sdata_value().or_else(|| i64::try_from(value.udata_value()?).ok())
}

fn is_pointer(tag: DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type
    )
}

fn is_qualifier(tag: DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_atomic_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_immutable_type
            | gimli::DW_TAG_packed_type
            | gimli::DW_TAG_shared_type
    )
}
