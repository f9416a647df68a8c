//! Symbolic execution of P4 programs: packets and table entries that take a path, or a proof that
//! there are none.
//!
//! [`search::search`] executes a program for v1model, PSA or PNA with terms in place of values, and
//! returns tests that reach its statements, branches, parser transitions and actions of tables
//! ([`goals`]), each with its expected outputs ([`generated`]), and what no packet reaches.
//! [`search::find_each`] offers tests for given wishes, which the caller may refuse.
//!
//! The lower half of this crate knows bit-vectors and no P4. It is used as follows.
//!
//! 1. A [`term::Terms`] holds all terms of an execution. Its constructors return [`term::Term`]s,
//!    which are handles that can be copied and compared. What is not known is an input
//!    ([`term::Terms::input`]), identified by an [`term::Origin`]: a number that the caller allots,
//!    and whether a test chooses the value or it is undefined. A packet is best one wide input,
//!    whose bits are taken by [`term::Terms::extract`]: adjacent slices join again when they are
//!    concatenated, and only bits that a query mentions reach the solver.
//! 2. A [`query::Context`] answers whether conditions can hold together: with a
//!    [`evaluate::Model`], which has a value for each input that matters; with an unsatisfiable
//!    core, which names conditions that exclude each other; or with the limit that was reached.
//!    What is known to hold always is asserted; what belongs to one query is passed to it.
//! 3. An [`evaluate::Evaluation`] computes terms under a model, and an
//!    [`evaluate::KnownBits`] computes which bits of a term are the same whatever the undefined
//!    inputs are: the mask of an expected output.
//! 4. [`hash`] encodes CRCs, the Internet checksum and the other hashes of the architectures as
//!    terms, so that the solver can find packets with a given hash.
//!
//! ```
//! use symbolic::query::{Answer, Context, Settings};
//! use symbolic::term::{Origin, Terms};
//!
//! let mut terms = Terms::new();
//! let packet = terms.input(Origin::chosen(0), 112);
//! let ether_type = terms.extract(packet, 15, 0);
//! let ipv4 = terms.number(16, 0x0800);
//! let guard = terms.equal(ether_type, ipv4);
//!
//! let mut context = Context::new(Settings::default());
//! let Answer::Model(model) = context.solve(&terms, &[guard])? else { unreachable!() };
//! assert_eq!(symbolic::evaluate::Evaluation::new(model).value(&terms, ether_type).low_u64(), 0x800);
//! # Ok::<(), symbolic::query::QueryError>(())
//! ```

pub mod blast;
mod ends;
pub mod equivalence;
pub mod evaluate;
mod execute;
mod expected;
pub mod generated;
pub mod given;
pub mod goals;
pub mod hash;
mod packet;
pub mod proof;
pub mod query;
mod realise;
mod restriction;
pub mod search;
mod shape;
pub mod solver;
mod state;
pub mod term;
pub mod wanted;

pub use ends::Ends;
pub use execute::Unsupported;
pub use packet::MAXIMUM_LENGTH as LONGEST_PACKET;
