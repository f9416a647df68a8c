//! Sizes of types in bits (P4_16 §9).

use super::{Checked, Field, Type};

/// The largest number of parts of a type that are visited. Structs may contain structs, so a type
/// can have exponentially many parts.
pub(super) const MAX_PARTS: u32 = 1 << 16;

impl<'program> Checked<'program> {
    /// Returns the fields of a struct that is the element type of a value set. As in p4c, a nested
    /// struct is replaced by its fields. Returns `None` if there are too many fields.
    pub(crate) fn match_fields(&self, ty: &Type) -> Option<Vec<Field<'program>>> {
        let mut found = Vec::new();
        self.match_fields_within(ty, &mut found, &mut { MAX_PARTS })?;
        Some(found)
    }

    fn match_fields_within(
        &self,
        ty: &Type,
        found: &mut Vec<Field<'program>>,
        budget: &mut u32,
    ) -> Option<()> {
        for field in self.fields(ty) {
            *budget = budget.checked_sub(1)?;
            match &field.ty {
                Type::Struct(_) => self.match_fields_within(&field.ty.clone(), found, budget)?,
                _ => found.push(field),
            }
        }
        Some(())
    }

    /// Returns the size in bits of a value of this type: the largest size if `maximum` is true, and
    /// the smallest size otherwise. The two differ for types that contain a `varbit`. Returns
    /// `None` for a type without a size, such as `int` or an extern.
    pub fn size_in_bits(&self, ty: &Type, maximum: bool) -> Option<u64> {
        self.sizes(ty).map(|sizes| if maximum { sizes.largest } else { sizes.smallest })
    }

    /// Returns whether all values of this type have the same size in a packet.
    pub(super) fn has_fixed_size(&self, ty: &Type) -> bool {
        self.sizes(ty).is_some_and(|sizes| sizes.is_fixed)
    }

    /// Returns the smallest and the largest size in bits of a value of this type. They are computed
    /// once for each declared type.
    fn sizes(&self, ty: &Type) -> Option<Sizes> {
        if ty.named().is_none() {
            return self.new_sizes(ty);
        }
        if let Some(known) = self.sizes.borrow().get(ty) {
            return *known;
        }
        let sizes = self.new_sizes(ty);
        self.sizes.borrow_mut().insert(ty.clone(), sizes);
        sizes
    }

    /// Computes the sizes of a type. Returns `None` if a value of the type has no size in bits.
    fn new_sizes(&self, ty: &Type) -> Option<Sizes> {
        ir::meter::count(1);
        match ty {
            Type::Bool => Some(Sizes::fixed(1)),
            Type::Bits { width, .. } => Some(Sizes::fixed(u64::from(*width))),
            Type::Varbit { max_width } => {
                let largest = u64::from(*max_width);
                Some(Sizes { smallest: 0, largest, is_fixed: largest == 0 })
            }
            Type::NewType(_) | Type::SerializableEnum(_) => self.sizes(self.underlying(ty)?),
            Type::Tuple(elements) => elements
                .iter()
                .try_fold(Sizes::fixed(0), |sum, element| sum.plus(self.sizes(element)?)),
            Type::Struct(_) | Type::Header(_) => self
                .fields(ty)
                .iter()
                .try_fold(Sizes::fixed(0), |sum, field| sum.plus(self.sizes(&field.ty)?)),
            Type::HeaderUnion(_) => {
                // An invalid union takes no bits in a packet, but both sizes are defined as those
                // of its largest header (section "Compile-time size determination").
                let members = self.fields(ty);
                let sizes: Vec<Sizes> =
                    members.iter().map(|field| self.sizes(&field.ty)).collect::<Option<_>>()?;
                let largest = sizes.iter().map(|sizes| sizes.largest).max()?;
                Some(Sizes {
                    smallest: sizes.iter().map(|sizes| sizes.smallest).max()?,
                    largest,
                    is_fixed: sizes.iter().all(|sizes| sizes.is_fixed && sizes.largest == largest),
                })
            }
            Type::Stack { element, size } => {
                let element = self.sizes(element)?;
                let all = |bits: u64| bits.checked_mul(u64::from(*size));
                let (smallest, largest) = (all(element.smallest)?, all(element.largest)?);
                Some(Sizes { smallest, largest, is_fixed: element.is_fixed })
            }
            _ => None,
        }
    }
}

/// The smallest and the largest size of a value, in bits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    smallest: u64,
    largest: u64,
    /// Whether all values have the same size in a packet.
    is_fixed: bool,
}

impl Sizes {
    fn fixed(bits: u64) -> Self {
        Self { smallest: bits, largest: bits, is_fixed: true }
    }

    fn plus(self, other: Self) -> Option<Self> {
        Some(Self {
            smallest: self.smallest.checked_add(other.smallest)?,
            largest: self.largest.checked_add(other.largest)?,
            is_fixed: self.is_fixed && other.is_fixed,
        })
    }
}
