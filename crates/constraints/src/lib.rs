//! Constraints on table entries and actions of P4 programs, in the language of p4-constraints.
//!
//! A program states constraints in the annotations `@entry_restriction("...")` of a table and
//! `@action_restriction("...")` of an action. [`Text`] reads the string of such an annotation.
//! [`Constraint::compile`] checks it against the keys of the table or the parameters of the action.
//! [`Constraint::check`] evaluates it for an entry and explains a violation. [`Constraint::solve`]
//! generates entries that satisfy it.
//!
//! The language is that of p4-constraints' `docs/language-specification.md`. That specification
//! refers to P4_16. Where it leaves a choice, this crate decides as P4_16 does:
//!
//! * An integer that is combined with a value of type `bit<W>` is reduced modulo 2^W, as in a cast,
//!   so `-1` is the mask of all ones. The compiler warns if a constant is neither an unsigned nor a
//!   signed number of W bits.
//! * `-x` of a value of type `bit<W>` is computed modulo 2^W.
//! * A key that is matched exactly stands for its value. Any other key without `::` is compared as
//!   a whole. With `==` and `!=`, a number stands for the match of exactly this number, and another
//!   key of the same kind is compared in its value and mask, its prefix, or its range.
//! * A key that an entry omits has value, mask and prefix length 0, or the full range.
//! * A key that controllers write as a string can be compared with the numbers for which the
//!   program states strings.
//! * A constraint without any expression is satisfied by every entry.
//!
//! ```
//! use constraints::{Constraint, Entry, Key, KeyType, Kind, Match, Subject};
//!
//! let keys = [
//!     Key { name: "is_ipv4".into(), kind: Kind::Exact, ty: KeyType::Bits(1) },
//!     Key { name: "dst".into(), kind: Kind::Ternary, ty: KeyType::Bits(32) },
//! ];
//! let compiled = Constraint::compile("dst::mask != 0 -> is_ipv4 == 1", Subject::Table(&keys))?;
//! let dst = Match::ternary(&[10, 0, 0, 0], &[255, 0, 0, 0]);
//! let entry = [Match::exact(&[0]), dst];
//! let violation = compiled.constraint.check(&Entry { matches: &entry, priority: 1 }).unwrap_err();
//! assert_eq!(
//!     violation.to_string(),
//!     "`dst::mask != 0 -> is_ipv4 == 1` does not hold for dst = 0xa000000 &&& 0xff000000, is_ipv4 = 0"
//! );
//! # Ok::<(), constraints::Problem>(())
//! ```

mod bits;
mod check;
mod compiled;
mod entry;
mod lexer;
mod parser;
mod problem;
mod solve;
mod text;
mod violation;

pub use self::compiled::Constraint;
pub use self::entry::{Entry, Key, KeyType, Kind, Match, NamedNumber, Subject};
pub use self::problem::{Compiled, Problem};
pub use self::solve::{Goal, Solution, Wishes};
pub use self::text::Text;
pub use self::violation::Violation;

/// The name of the annotation that constrains the entries of a table.
pub const ENTRY_RESTRICTION: &str = "entry_restriction";
/// The name of the annotation that constrains the arguments of an action.
pub const ACTION_RESTRICTION: &str = "action_restriction";
