//! The nesting depth and the number of parts of types, computed without expanding the types.
//!
//! The [`Extent`] of a generic declaration depends on the extents of its type arguments. Its depth
//! is the maximum of a constant `a` and of `b + depth(T)` for each type parameter `T`. Its number
//! of parts is the sum of a constant `c` and of `m * parts(T)` for each `T`. The numbers `b` and
//! `m` are constants for each `T`. Where the declaration is used, the extents of the type arguments
//! are substituted. A program in which each declaration doubles the size of a type is therefore
//! refused after a number of steps that is linear in the number of declarations.
//!
//! Some passes print the names of all types inside a type, each with its type arguments. The total
//! length of these names can also double with each declaration, even if the type arguments are not
//! the types of any fields. The lengths are therefore counted in addition to the parts.

use std::collections::HashMap;

use super::checker::Checker;
use super::{Bindings, Checked, Named, Type};
use crate::ast::DeclarationId;
use crate::diagnostic::{Diagnostic, LIMIT};
use crate::source::Span;
use ir::{Exceeded, Limit};

/// The depth and the number of parts of a type; see the documentation of the module.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Extent {
    /// The constant `a`: the depth of the parts that do not depend on type parameters.
    depth: u64,
    /// The constant `c`: the number of parts that do not depend on type parameters.
    parts: u64,
    /// The length of the type's name, which includes the names of its type arguments.
    name: u64,
    /// The total length of the type's name and of the names of all types inside it.
    names: u64,
    /// The type parameters on which the extent depends, and how the type contains each of them.
    variables: HashMap<DeclarationId, Occurrence>,
}

/// The way in which an outer type contains an inner type or a type parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Occurrence {
    /// The constant `b`: the number of levels between the outer type and the deepest occurrence of
    /// the inner type.
    above: u64,
    /// The factor `m`: the number of times that the inner type is a part of the outer one.
    parts: u64,
    /// The number of times that the name of the outer type contains the name of the inner one.
    in_name: u64,
    /// The number of times that the names of types inside the outer type contain the name of the
    /// inner type. Names of the inner type's own parts are not included.
    in_names: u64,
    /// The number of times that the names of the inner type's own parts count.
    names: u64,
}

impl Occurrence {
    /// The occurrence of a type parameter in a type that consists only of this type parameter.
    const ITSELF: Self = Self { above: 0, parts: 1, in_name: 1, in_names: 0, names: 1 };
    /// The occurrence of a field in a struct.
    const FIELD: Self = Self { above: 1, parts: 1, in_name: 0, in_names: 0, names: 1 };
    /// The occurrence of a type argument in a type of which it is not a part.
    const ARGUMENT: Self = Self { above: 1, parts: 0, in_name: 1, in_names: 1, names: 0 };

    /// Returns the occurrence of an element type in a tuple, record, list or array that contains
    /// the element `times` times.
    fn element(times: u64) -> Self {
        Self { above: 1, parts: times, in_name: 1, in_names: 1, names: 1 }
    }
}

impl Extent {
    fn leaf() -> Self {
        Self { depth: 1, parts: 1, name: 1, names: 1, variables: HashMap::new() }
    }

    fn variable(parameter: DeclarationId) -> Self {
        Self { variables: HashMap::from([(parameter, Occurrence::ITSELF)]), ..Self::default() }
    }

    /// Adds the depth and the number of parts of `inner`, which the type contains as `place`
    /// describes.
    fn hold(&mut self, inner: &Self, place: Occurrence) {
        fn add(sum: &mut u64, number: u64, times: u64) {
            *sum = sum.saturating_add(number.saturating_mul(times));
        }
        if inner.depth > 0 {
            self.depth = self.depth.max(inner.depth.saturating_add(place.above));
        }
        add(&mut self.parts, inner.parts, place.parts);
        add(&mut self.name, inner.name, place.in_name);
        add(&mut self.names, inner.name, place.in_names);
        add(&mut self.names, inner.names, place.names);
        for (parameter, of_inner) in &inner.variables {
            let known = self.variables.entry(*parameter).or_default();
            known.above = known.above.max(of_inner.above.saturating_add(place.above));
            add(&mut known.parts, of_inner.parts, place.parts);
            add(&mut known.in_name, of_inner.in_name, place.in_name);
            add(&mut known.in_names, of_inner.in_name, place.in_names);
            add(&mut known.in_names, of_inner.in_names, place.names);
            add(&mut known.names, of_inner.names, place.names);
        }
    }

    /// Returns the depth and the number of parts of a type that contains each of the `inner` types
    /// as `place` describes.
    fn around<'e>(inner: impl IntoIterator<Item = &'e Self>, place: Occurrence) -> Self {
        let mut extent = Self::leaf();
        for inner in inner {
            extent.hold(inner, place);
        }
        extent
    }

    /// Returns the extent after the substitution of `others` for type parameters. A type parameter
    /// that `others` does not contain remains.
    fn with(&self, others: &HashMap<DeclarationId, Self>) -> Self {
        let mut extent = Self { variables: HashMap::new(), ..*self };
        for (parameter, place) in &self.variables {
            match others.get(parameter) {
                Some(other) => extent.hold(other, *place),
                None => extent.hold(&Self::variable(*parameter), *place),
            }
        }
        extent
    }

    /// Returns the smallest possible depth and number of parts: those that result if each type
    /// parameter stands for a type of one part.
    fn least(&self) -> (u64, u64) {
        let places = self.variables.values();
        let deepest = places.clone().map(|place| place.above.saturating_add(1)).max().unwrap_or(0);
        let parts = places.clone().fold(self.parts, |sum, place| sum.saturating_add(place.parts));
        let names = places.fold(self.names, |sum, place| {
            sum.saturating_add(place.in_names).saturating_add(place.names)
        });
        (self.depth.max(deepest), parts.max(names))
    }
}

impl Checked<'_> {
    /// Checks that a type with this extent is within the limits, at least if its type parameters
    /// stand for the smallest types.
    pub(super) fn admit_extent(&self, extent: &Extent) -> Result<(), Exceeded> {
        let (depth, parts) = extent.least();
        self.limits.admit(Limit::TypeDepth, depth)?;
        self.limits.admit(Limit::Parts, parts)
    }

    /// Checks that a type is within the limits after `bindings` is substituted for its type
    /// parameters.
    pub(crate) fn admit_type(&self, ty: &Type, bindings: &Bindings) -> Result<(), Exceeded> {
        let extent = self.extent(ty);
        let bound = extent
            .variables
            .keys()
            .filter_map(|parameter| Some((*parameter, self.extent(bindings.get(*parameter)?))));
        self.admit_extent(&extent.with(&bound.collect()))
    }

    /// Computes the extent of a type, from the extents of declarations that were recorded before.
    pub(super) fn extent(&self, ty: &Type) -> Extent {
        ir::meter::count(1);
        match ty {
            Type::Variable(parameter) => Extent::variable(*parameter),
            Type::Tuple(elements) => self.extent_around(elements.iter(), Occurrence::element(1)),
            Type::Record(fields) => {
                self.extent_around(fields.iter().map(|(_, ty)| ty), Occurrence::element(1))
            }
            Type::List(element) | Type::Set(element) | Type::Name(element) => {
                self.extent_around([&**element], Occurrence::element(1))
            }
            Type::Stack { element, size } => {
                self.extent_around([&**element], Occurrence::element(u64::from(*size)))
            }
            Type::Struct(named) | Type::Header(named) | Type::HeaderUnion(named) => {
                self.extent_of_use(named)
            }
            Type::Extern(named)
            | Type::Parser(named)
            | Type::Control(named)
            | Type::Package(named) => {
                self.extent_around(named.arguments.iter(), Occurrence::ARGUMENT)
            }
            Type::NewType(id) | Type::SerializableEnum(id) => {
                self.extents.get(id).cloned().unwrap_or_else(Extent::leaf)
            }
            _ => Extent::leaf(),
        }
    }

    fn extent_around<'t>(
        &self,
        inner: impl IntoIterator<Item = &'t Type>,
        place: Occurrence,
    ) -> Extent {
        let inner: Vec<Extent> = inner.into_iter().map(|ty| self.extent(ty)).collect();
        Extent::around(&inner, place)
    }

    fn extent_of_use(&self, named: &Named) -> Extent {
        let arguments: Vec<Extent> = named.arguments.iter().map(|ty| self.extent(ty)).collect();
        let name = Extent::around(&arguments, Occurrence::ARGUMENT);
        let Some(declared) = self.extents.get(&named.declaration) else { return name };
        let parameters = self.type_parameters(named.declaration).iter().map(|one| one.id);
        let bound: HashMap<DeclarationId, Extent> = parameters.zip(arguments).collect();
        let mut extent = declared.with(&bound);
        extent.hold(&name, Occurrence { in_name: 1, names: 1, ..Occurrence::default() });
        extent
    }
}

impl Checker<'_, '_> {
    /// Returns the type if it is within the limits. Otherwise reports an error and returns
    /// [`Type::Unknown`].
    pub(super) fn admitted(&mut self, ty: Type, span: Span) -> Type {
        let extent = self.out.extent(&ty);
        if self.admits(&extent, span) { ty } else { Type::Unknown }
    }

    /// Returns whether the depth and the number of parts of a type are within the limits. If not,
    /// reports an error at `span`.
    pub(super) fn admits(&mut self, extent: &Extent, span: Span) -> bool {
        let outcome = self.out.admit_extent(extent);
        if let Err(exceeded) = &outcome {
            self.report(Diagnostic::error(LIMIT, span, exceeded.to_string()).note(NOTE));
        }
        outcome.is_ok()
    }

    /// Computes and records the extent of a declared type. `inner` contains the types of its
    /// fields, or the type on which a `type` declaration is based. Returns whether the extent is
    /// within the limits.
    pub(super) fn declare_extent(&mut self, id: DeclarationId, inner: &[Type], span: Span) -> bool {
        let mut extent = self.out.extent_around(inner, Occurrence::FIELD);
        let fits = self.admits(&extent, span);
        // The name of the type itself is added where the type is used, since it contains the type
        // arguments.
        (extent.name, extent.names) = (0, extent.names.saturating_sub(1));
        if fits {
            self.out.extents.insert(id, extent);
        }
        fits
    }
}

/// The note of the error about a type that exceeds a limit.
pub(super) const NOTE: &str = "the parts of a type are its fields, elements and type arguments, each with all of its own parts";
