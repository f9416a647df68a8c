//! Buckets of one cache line that hold keys and values side by side.
//!
//! ```text
//! byte   0        4        8 ............ 8+N*K ......... 8+N*K+N*V   64
//!        version  meta     N keys         N values                    padding
//! ```
//!
//! The header is one 64-bit word. Its low half is a version, which is odd while a writer holds the
//! bucket and grows by two with each change, so that readers need no lock. The lowest four bits of
//! its high half count the entries that are in a later bucket because this one was full. The home
//! of these entries is this bucket or an earlier one. The count 15 stands for "at least 15" and
//! never decreases. The number of each slot's action plus one follows, or 0 for an empty slot. With
//! keys and values of 4 bytes, there are seven slots and four bits for an action.
//!
//! An entry whose home bucket is full goes to the next bucket with room. Entries never move, so a
//! lock-free lookup that finds nothing is correct: a key that is in the table throughout the lookup
//! is found, whatever other threads change.
//!
//! Buckets may be made for entry numbers instead of keys. A number then encodes the bucket and the
//! slot, and no bucket overflows.
//!
//! All accesses are atomic (a relaxed atomic access costs no more than a plain one), so no sequence
//! of calls is a data race. A reader that overlaps with a writer finds the version changed and
//! reads again. Lock order: a thread that locks a bucket while it holds another also holds the
//! mutex `overflow` of [`Buckets`]. All other threads hold at most one bucket and release it
//! without waiting for another, so there is no deadlock.

mod access;
mod line;
mod table;

pub(crate) use table::{Buckets, Found, Full, buckets_for, number_bits, numbered_hash};

pub(crate) use line::{Fields, action_bits, max_actions, slots, values_offset};
