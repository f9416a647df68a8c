//! Limits on the size of programs, for programs that come from untrusted sources.
//!
//! A program that exceeds a limit is refused before any compiler pass expands it or recurses over
//! it. Otherwise a source text of a kilobyte could exhaust the stack or the memory of the compiling
//! process. Each limit is a flag of `planimeter switch`, and the error for a refused program names
//! that flag.

use std::fmt;

/// Limits on the size of a program. They apply to every form in which a program arrives: P4 source,
/// BMv2 JSON and IR JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompileLimits {
    /// The largest nesting depth of a type. The depth of `bit<8>` is one, and that of a struct with
    /// a `bit<8>` field is two.
    pub type_depth: u32,
    /// The largest nesting depth of calls. A block that calls nothing has the depth zero.
    /// The application of a table and the action that it runs count as one call.
    pub call_depth: u32,
    /// The largest nesting depth of calls and blocks of statements together. The interpreter uses
    /// stack space for each of these levels.
    pub nesting: u32,
    /// The largest number of parts of a type. A type counts as one part, plus the parts of each of
    /// its fields and array elements.
    pub parts: u64,
}

impl Default for CompileLimits {
    fn default() -> Self {
        Self { type_depth: 64, call_depth: 256, nesting: 1 << 12, parts: 1 << 18 }
    }
}

impl CompileLimits {
    /// The largest value to which [`Self::type_depth`] can be set. Passes that recurse over types
    /// have enough stack for types of this depth.
    pub const MAX_TYPE_DEPTH: u32 = 512;
    /// The largest value to which [`Self::call_depth`] can be set. Passes that recurse over calls
    /// have enough stack for calls of this depth.
    pub const MAX_CALL_DEPTH: u32 = 1 << 12;
    /// The largest value to which [`Self::nesting`] can be set.
    pub const MAX_NESTING: u32 = 1 << 15;
    /// The largest value to which [`Self::parts`] can be set.
    pub const MAX_PARTS: u64 = 1 << 24;

    /// Returns limits that are all set to their largest permitted values, for programs that were
    /// already checked against narrower limits.
    #[must_use]
    pub fn widest() -> Self {
        Self {
            type_depth: Self::MAX_TYPE_DEPTH,
            call_depth: Self::MAX_CALL_DEPTH,
            nesting: Self::MAX_NESTING,
            parts: Self::MAX_PARTS,
        }
    }

    /// Returns these limits with `type_depth` replaced.
    ///
    /// # Errors
    /// Returns an error if `type_depth` is zero or greater than [`Self::MAX_TYPE_DEPTH`].
    pub fn with_type_depth(self, type_depth: u32) -> Result<Self, LimitError> {
        check(Limit::TypeDepth, type_depth.into(), Self::MAX_TYPE_DEPTH.into())?;
        Ok(Self { type_depth, ..self })
    }

    /// Returns these limits with `call_depth` replaced.
    ///
    /// # Errors
    /// Returns an error if `call_depth` is zero or greater than [`Self::MAX_CALL_DEPTH`].
    pub fn with_call_depth(self, call_depth: u32) -> Result<Self, LimitError> {
        check(Limit::CallDepth, call_depth.into(), Self::MAX_CALL_DEPTH.into())?;
        Ok(Self { call_depth, ..self })
    }

    /// Returns these limits with `nesting` replaced.
    ///
    /// # Errors
    /// Returns an error if `nesting` is zero or greater than [`Self::MAX_NESTING`].
    pub fn with_nesting(self, nesting: u32) -> Result<Self, LimitError> {
        check(Limit::Nesting, nesting.into(), Self::MAX_NESTING.into())?;
        Ok(Self { nesting, ..self })
    }

    /// Returns these limits with `parts` replaced.
    ///
    /// # Errors
    /// Returns an error if `parts` is zero or greater than [`Self::MAX_PARTS`].
    pub fn with_parts(self, parts: u64) -> Result<Self, LimitError> {
        check(Limit::Parts, parts, Self::MAX_PARTS)?;
        Ok(Self { parts, ..self })
    }

    /// Checks that `found`, a value measured in a program, is at most the given limit.
    ///
    /// # Errors
    /// Returns an error if `found` is greater than the limit.
    pub fn admit(&self, limit: Limit, found: u64) -> Result<(), Exceeded> {
        let allowed = self.of(limit);
        if found <= allowed { Ok(()) } else { Err(Exceeded { limit, found, allowed }) }
    }

    /// Returns the value to which the given limit is set.
    #[must_use]
    pub fn of(&self, limit: Limit) -> u64 {
        match limit {
            Limit::TypeDepth => self.type_depth.into(),
            Limit::CallDepth => self.call_depth.into(),
            Limit::Nesting => self.nesting.into(),
            Limit::Parts => self.parts,
        }
    }
}

/// A name for each of the [`CompileLimits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// The limit [`CompileLimits::type_depth`].
    TypeDepth,
    /// The limit [`CompileLimits::call_depth`].
    CallDepth,
    /// The limit [`CompileLimits::nesting`].
    Nesting,
    /// The limit [`CompileLimits::parts`].
    Parts,
}

impl Limit {
    /// Returns the flag of `planimeter switch` that sets this limit.
    #[must_use]
    pub fn flag(self) -> &'static str {
        match self {
            Self::TypeDepth => "--push-type-depth",
            Self::CallDepth => "--push-call-depth",
            Self::Nesting => "--push-nesting",
            Self::Parts => "--push-parts",
        }
    }
}

/// An error for a program that exceeds a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// The limit that is exceeded.
    pub limit: Limit,
    /// The value that was measured in the program, such as its nesting depth.
    pub found: u64,
    /// The value of the limit, which the measured value must not exceed.
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
            Limit::Nesting => write!(
                formatter,
                "calls and blocks nest {found} deep together, and at most {allowed} levels are allowed"
            ),
            Limit::Parts => {
                write!(formatter, "a type has {found} parts, and at most {allowed} are allowed")
            }
        }?;
        write!(formatter, " ({} of a switch)", limit.flag())
    }
}

impl std::error::Error for Exceeded {}

/// An error for an attempt to set a limit to a value outside its permitted range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{flag} is from 1 to {most}, not {given}", flag = .limit.flag())]
pub struct LimitError {
    /// The limit that was to be set.
    pub limit: Limit,
    /// The value to which the limit was to be set.
    pub given: u64,
    /// The largest value to which the limit can be set.
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
        assert!(limits.with_call_depth(CompileLimits::MAX_CALL_DEPTH).is_ok());
        assert!(limits.with_call_depth(CompileLimits::MAX_CALL_DEPTH + 1).is_err());
        assert!(limits.with_parts(CompileLimits::MAX_PARTS + 1).is_err());
    }
}
