//! Sizes of types (§9).

use super::{Checked, Type};

impl Checked<'_> {
    /// The size of a value of this type in bits: the largest if `maximum`, else the smallest. They differ for
    /// `varbit` and header unions. `None` for types that have no size, such as `int` and externs.
    pub fn size_in_bits(&self, ty: &Type, maximum: bool) -> Option<u64> {
        self.size_within(ty, maximum, 0)
    }

    fn size_within(&self, ty: &Type, maximum: bool, depth: u32) -> Option<u64> {
        if depth > 100 {
            return None;
        }
        let sum = |sizes: Vec<Option<u64>>| {
            sizes.into_iter().try_fold(0_u64, |sum, size| sum.checked_add(size?))
        };
        match ty {
            Type::Bool => Some(1),
            Type::Bits { width, .. } => Some(u64::from(*width)),
            Type::Varbit { max_width } => Some(if maximum { u64::from(*max_width) } else { 0 }),
            Type::NewType(_) | Type::SerializableEnum(_) => {
                self.size_within(self.underlying(ty)?, maximum, depth + 1)
            }
            Type::Tuple(elements) => sum(elements
                .iter()
                .map(|element| self.size_within(element, maximum, depth + 1))
                .collect()),
            Type::Struct(_) | Type::Header(_) => sum(self
                .fields(ty)
                .iter()
                .map(|field| self.size_within(&field.ty, maximum, depth + 1))
                .collect()),
            Type::HeaderUnion(_) => {
                // Of an invalid union nothing is on the wire, but the smallest size is that of the smallest header.
                let mut sizes = Vec::new();
                for field in self.fields(ty) {
                    sizes.push(self.size_within(&field.ty, maximum, depth + 1)?);
                }
                if maximum { sizes.into_iter().max() } else { sizes.into_iter().min() }
            }
            Type::Stack { element, size } => {
                self.size_within(element, maximum, depth + 1)?.checked_mul(u64::from(*size))
            }
            _ => None,
        }
    }
}
