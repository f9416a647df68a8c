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
        self.size_within(ty, maximum, &mut { MOST_PARTS })
    }

    fn size_within(&self, ty: &Type, maximum: bool, budget: &mut u32) -> Option<u64> {
        *budget = budget.checked_sub(1)?;
        match ty {
            Type::Bool => Some(1),
            Type::Bits { width, .. } => Some(u64::from(*width)),
            Type::Varbit { max_width } => Some(if maximum { u64::from(*max_width) } else { 0 }),
            Type::NewType(_) | Type::SerializableEnum(_) => {
                self.size_within(self.underlying(ty)?, maximum, budget)
            }
            Type::Tuple(elements) => elements.iter().try_fold(0_u64, |sum, element| {
                sum.checked_add(self.size_within(element, maximum, budget)?)
            }),
            Type::Struct(_) | Type::Header(_) => {
                self.fields(ty).iter().try_fold(0_u64, |sum, field| {
                    sum.checked_add(self.size_within(&field.ty, maximum, budget)?)
                })
            }
            Type::HeaderUnion(_) => {
                // Of an invalid union nothing is on the wire, but the smallest size is that of the smallest header.
                let mut sizes = Vec::new();
                for field in self.fields(ty) {
                    sizes.push(self.size_within(&field.ty, maximum, budget)?);
                }
                if maximum { sizes.into_iter().max() } else { sizes.into_iter().min() }
            }
            Type::Stack { element, size } => {
                self.size_within(element, maximum, budget)?.checked_mul(u64::from(*size))
            }
            _ => None,
        }
    }
}
