//! Sizes of types (§9).

use super::{Checked, Type};

/// Types are looked into up to this many parts: structs of structs grow exponentially with the program.
pub(super) const MOST_PARTS: u32 = 1 << 16;

impl Checked<'_> {
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
