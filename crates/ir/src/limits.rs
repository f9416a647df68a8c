//! The largest program that is compiled for somebody else.
//!
//! A program is refused before any pass expands or recurses over what exceeds a limit, so that a text of
//! a kilobyte can take neither the stack nor the memory of the process that compiles it. Each limit is a
//! flag of `planimeter switch`, and a refusal names it.

use std::fmt;

/// Limits on a program. Every form in which a program arrives (P4 source, BMv2 JSON, IR JSON) is held to
/// the same ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompileLimits {
    /// The largest number of levels of a type: a `bit<8>` has one, a struct of it two.
    pub type_depth: u32,
    /// The largest number of calls inside one another: a block that calls nothing has none. The
    /// application of a table and the action that it runs are one.
    pub call_depth: u32,
    /// The largest number of parts of a type: each field and each element of an array, with all the parts
    /// that it has itself.
    pub parts: u64,
}

impl Default for CompileLimits {
    fn default() -> Self {
        Self { type_depth: 64, call_depth: 256, parts: 1 << 18 }
    }
}

impl CompileLimits {
    /// The largest [`Self::type_depth`] that the passes over types have room for on their stack.
    pub const MOST_TYPE_DEPTH: u32 = 512;
    /// The largest [`Self::call_depth`] that the passes over calls have room for on their stack.
    pub const MOST_CALL_DEPTH: u32 = 1 << 12;
    /// The largest [`Self::parts`].
    pub const MOST_PARTS: u64 = 1 << 24;

    /// The largest of all limits, for what was held to others before.
    #[must_use]
    pub fn widest() -> Self {
        Self {
            type_depth: Self::MOST_TYPE_DEPTH,
            call_depth: Self::MOST_CALL_DEPTH,
            parts: Self::MOST_PARTS,
        }
    }

    /// Returns the limits with another depth of types.
    ///
    /// # Errors
    /// If it is zero or more than [`Self::MOST_TYPE_DEPTH`].
    pub fn with_type_depth(self, type_depth: u32) -> Result<Self, LimitError> {
        check(Limit::TypeDepth, type_depth.into(), Self::MOST_TYPE_DEPTH.into())?;
        Ok(Self { type_depth, ..self })
    }

    /// Returns the limits with another depth of calls.
    ///
    /// # Errors
    /// If it is zero or more than [`Self::MOST_CALL_DEPTH`].
    pub fn with_call_depth(self, call_depth: u32) -> Result<Self, LimitError> {
        check(Limit::CallDepth, call_depth.into(), Self::MOST_CALL_DEPTH.into())?;
        Ok(Self { call_depth, ..self })
    }

    /// Returns the limits with another number of parts of a type.
    ///
    /// # Errors
    /// If it is zero or more than [`Self::MOST_PARTS`].
    pub fn with_parts(self, parts: u64) -> Result<Self, LimitError> {
        check(Limit::Parts, parts, Self::MOST_PARTS)?;
        Ok(Self { parts, ..self })
    }

    /// Refuses a type, or a program of calls, that exceeds `limit`.
    ///
    /// # Errors
    /// If `found` exceeds it.
    pub fn admit(&self, limit: Limit, found: u64) -> Result<(), Exceeded> {
        let allowed = self.of(limit);
        if found <= allowed { Ok(()) } else { Err(Exceeded { limit, found, allowed }) }
    }

    /// Returns the value of a limit.
    #[must_use]
    pub fn of(&self, limit: Limit) -> u64 {
        match limit {
            Limit::TypeDepth => self.type_depth.into(),
            Limit::CallDepth => self.call_depth.into(),
            Limit::Parts => self.parts,
        }
    }
}

/// One of the [`CompileLimits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// [`CompileLimits::type_depth`].
    TypeDepth,
    /// [`CompileLimits::call_depth`].
    CallDepth,
    /// [`CompileLimits::parts`].
    Parts,
}

impl Limit {
    /// The flag of `planimeter switch` that sets the limit.
    #[must_use]
    pub fn flag(self) -> &'static str {
        match self {
            Self::TypeDepth => "--push-type-depth",
            Self::CallDepth => "--push-call-depth",
            Self::Parts => "--push-parts",
        }
    }
}

/// A program that exceeds a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// The limit.
    pub limit: Limit,
    /// The value that the program would need.
    pub found: u64,
    /// The value of the limit.
    pub allowed: u64,
}

impl fmt::Display for Exceeded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit, found, allowed } = self;
        match limit {
            Limit::TypeDepth => {
                write!(formatter, "a type has {found} levels, and at most {allowed} are allowed")
            }
            Limit::CallDepth => {
                write!(formatter, "calls nest {found} deep, and at most {allowed} are allowed")
            }
            Limit::Parts => {
                write!(formatter, "a type has {found} parts, and at most {allowed} are allowed")
            }
        }?;
        write!(formatter, " ({} of a switch)", limit.flag())
    }
}

impl std::error::Error for Exceeded {}

/// A value that a limit cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{flag} is from 1 to {most}, not {given}", flag = .limit.flag())]
pub struct LimitError {
    /// The limit.
    pub limit: Limit,
    /// The value that was asked for.
    pub given: u64,
    /// The largest value that it can have.
    pub most: u64,
}

fn check(limit: Limit, given: u64, most: u64) -> Result<(), LimitError> {
    if (1..=most).contains(&given) { Ok(()) } else { Err(LimitError { limit, given, most }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_admits_its_own_value_and_refuses_one_more() {
        let limits = CompileLimits::default().with_call_depth(7).expect("it is possible");
        assert_eq!(limits.admit(Limit::CallDepth, 7), Ok(()));
        let refusal = limits.admit(Limit::CallDepth, 8).expect_err("it is too deep").to_string();
        assert_eq!(
            refusal,
            "calls nest 8 deep, and at most 7 are allowed (--push-call-depth of a switch)"
        );
    }

    #[test]
    fn no_limit_can_be_set_beyond_what_the_stack_holds() {
        let limits = CompileLimits::default();
        let error = limits.with_type_depth(0).expect_err("nothing would be allowed").to_string();
        assert_eq!(error, "--push-type-depth is from 1 to 512, not 0");
        assert!(limits.with_call_depth(CompileLimits::MOST_CALL_DEPTH).is_ok());
        assert!(limits.with_call_depth(CompileLimits::MOST_CALL_DEPTH + 1).is_err());
        assert!(limits.with_parts(CompileLimits::MOST_PARTS + 1).is_err());
    }
}
