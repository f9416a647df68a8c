//! Computes the nesting depth and the number of parts of each type without expanding the type. The
//! validator compares the results with the [`CompileLimits`].

use super::limits::{CompileLimits, Exceeded, Limit};
use super::{Type, TypeId, Types};

/// The reason why the size of a type could not be computed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unmeasured {
    /// The type contains itself.
    Recursive,
    /// The type exceeds a limit.
    Exceeded(Exceeded),
}

impl From<Exceeded> for Unmeasured {
    fn from(exceeded: Exceeded) -> Self {
        Self::Exceeded(exceeded)
    }
}

/// The nesting depth and the number of parts of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    depth: u32,
    parts: u64,
}

/// The progress of computing a type's size. If the size of a type is needed while its own
/// computation is still `Started`, the type contains itself.
#[derive(Clone, Copy)]
enum Progress {
    Untouched,
    Started,
    Known(Size),
}

/// The sizes of all types, each computed at most once.
pub(super) struct TypeSizes<'t> {
    types: &'t Types,
    limits: &'t CompileLimits,
    sizes: Vec<Progress>,
}

impl<'t> TypeSizes<'t> {
    pub(super) fn new(types: &'t Types, limits: &'t CompileLimits) -> Self {
        let count = types.iter().count();
        Self { types, limits, sizes: vec![Progress::Untouched; count] }
    }

    /// Checks that a type does not contain itself and does not exceed a limit. All type ids in the
    /// type must be in range.
    pub(super) fn admit(&mut self, id: TypeId) -> Result<(), Unmeasured> {
        self.size(id, 1).map(|_| ())
    }

    /// Returns the size of a type. `level` is the nesting level, counted from 1, at which it occurs
    /// in the type that was given to [`Self::admit`]. The recursion ends because `level` is
    /// limited.
    fn size(&mut self, id: TypeId, level: u32) -> Result<Size, Unmeasured> {
        match self.sizes.get(id.index()).copied() {
            Some(Progress::Known(size)) => return Ok(size),
            Some(Progress::Started) => return Err(Unmeasured::Recursive),
            Some(Progress::Untouched) | None => {}
        }
        super::meter::count(1);
        self.limits.admit(Limit::TypeDepth, level.into())?;
        self.note(id, Progress::Started);
        let types = self.types;
        let mut inner = Size { depth: 0, parts: 0 };
        match types.get(id) {
            Type::Stack { element, size } => {
                let of = self.size(element, level + 1)?;
                inner = Size { parts: of.parts.saturating_mul(size.into()), ..of };
            }
            Type::Composite(_) => {
                for field in types.composite(id).map_or(&[][..], |composite| &composite.fields) {
                    let of = self.size(field.type_id, level + 1)?;
                    inner.depth = inner.depth.max(of.depth);
                    inner.parts = inner.parts.saturating_add(of.parts);
                }
            }
            _ => {}
        }
        let size =
            Size { depth: inner.depth.saturating_add(1), parts: inner.parts.saturating_add(1) };
        self.limits.admit(Limit::TypeDepth, size.depth.into())?;
        self.limits.admit(Limit::Parts, size.parts)?;
        self.note(id, Progress::Known(size));
        Ok(size)
    }

    fn note(&mut self, id: TypeId, progress: Progress) {
        if let Some(place) = self.sizes.get_mut(id.index()) {
            *place = progress;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Composite, CompositeKind, Field};

    /// Builds nested structs in which each struct has `fields` fields of the previous one, and
    /// returns the last struct.
    fn nested(levels: u32, fields: usize) -> (Types, TypeId) {
        let mut types = Types::default();
        let mut inner = types.intern(Type::Bool);
        for level in 1..levels {
            let field = |position: usize| Field {
                name: format!("f{position}"),
                type_id: inner,
                user_type: None,
                annotations: Vec::new(),
            };
            inner = types.add_composite(Composite {
                name: format!("S{level}"),
                kind: CompositeKind::Struct,
                fields: (0..fields).map(field).collect(),
                annotations: Vec::new(),
                location: None,
            });
        }
        (types, inner)
    }

    fn admitted(types: &Types, id: TypeId) -> Result<(), Unmeasured> {
        TypeSizes::new(types, &CompileLimits::default()).admit(id)
    }

    #[test]
    fn types_nest_as_deep_as_allowed_and_no_deeper() {
        let (types, last) = nested(64, 1);
        assert_eq!(admitted(&types, last), Ok(()));
        for levels in [65, 100_000] {
            let (types, last) = nested(levels, 1);
            let exceeded = Exceeded { limit: Limit::TypeDepth, found: 65, allowed: 64 };
            assert_eq!(admitted(&types, last), Err(exceeded.into()), "{levels}");
        }
    }

    #[test]
    fn doubling_types_are_measured_without_expansion() {
        // A struct of two structs of two structs, and so on, has 2^n - 1 parts.
        let (types, last) = nested(18, 2);
        assert_eq!(admitted(&types, last), Ok(()));
        let (types, last) = nested(19, 2);
        let found = (1 << 19) - 1;
        let exceeded = Exceeded { limit: Limit::Parts, found, allowed: 1 << 18 };
        assert_eq!(admitted(&types, last), Err(exceeded.into()));
        let (types, last) = nested(64, 2);
        assert!(matches!(admitted(&types, last), Err(Unmeasured::Exceeded(_))));
    }

    #[test]
    fn elements_of_a_stack_are_parts() {
        let (mut types, element) = nested(2, 3);
        // A header with three fields has four parts.
        let fits = types.intern(Type::Stack { element, size: (1 << 16) - 1 });
        let exceeds = types.intern(Type::Stack { element, size: 1 << 16 });
        assert_eq!(admitted(&types, fits), Ok(()));
        assert!(matches!(admitted(&types, exceeds), Err(Unmeasured::Exceeded(_))));
    }
}
