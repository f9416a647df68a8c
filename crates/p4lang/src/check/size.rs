//! Sizes of types (§9).

use super::{Checked, Field, Type};

/// Types are looked into up to this many parts: structs of structs grow exponentially with the program.
pub(super) const MOST_PARTS: u32 = 1 << 16;

impl<'program> Checked<'program> {
    /// The fields that members of a value set of this struct have: those of structs in it in their place, as p4c has
    /// it. `None` if there are too many.
    pub(crate) fn match_fields(&self, ty: &Type) -> Option<Vec<Field<'program>>> {
        let mut found = Vec::new();
        self.match_fields_within(ty, &mut found, &mut { MOST_PARTS })?;
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

    /// The size of a value of this type in bits: the largest if `maximum`, else the smallest. They differ for
    /// `varbit` and header unions. `None` for types that have no size, such as `int` and externs.
    pub fn size_in_bits(&self, ty: &Type, maximum: bool) -> Option<u64> {
        self.sizes(ty).map(|sizes| if maximum { sizes.largest } else { sizes.smallest })
    }

    /// The smallest and the largest size, found once for each declared type.
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

    fn new_sizes(&self, ty: &Type) -> Option<Sizes> {
        ir::meter::count(1);
        match ty {
            Type::Bool => Some(Sizes::fixed(1)),
            Type::Bits { width, .. } => Some(Sizes::fixed(u64::from(*width))),
            Type::Varbit { max_width } => {
                Some(Sizes { smallest: 0, largest: u64::from(*max_width) })
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
                // Of an invalid union nothing is on the wire, but the smallest size is that of the smallest header.
                let members = self.fields(ty);
                let sizes: Vec<Sizes> =
                    members.iter().map(|field| self.sizes(&field.ty)).collect::<Option<_>>()?;
                Some(Sizes {
                    smallest: sizes.iter().map(|sizes| sizes.smallest).min()?,
                    largest: sizes.iter().map(|sizes| sizes.largest).max()?,
                })
            }
            Type::Stack { element, size } => {
                let element = self.sizes(element)?;
                let all = |bits: u64| bits.checked_mul(u64::from(*size));
                Some(Sizes { smallest: all(element.smallest)?, largest: all(element.largest)? })
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
}

impl Sizes {
    fn fixed(bits: u64) -> Self {
        Self { smallest: bits, largest: bits }
    }

    fn plus(self, other: Self) -> Option<Self> {
        Some(Self {
            smallest: self.smallest.checked_add(other.smallest)?,
            largest: self.largest.checked_add(other.largest)?,
        })
    }
}
