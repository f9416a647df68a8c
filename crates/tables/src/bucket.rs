//! Buckets of one cache line that hold keys and values side by side.
//!
//! ```text
//! byte   0        4        8 ............ 8+N*K ......... 8+N*K+N*V   64
//!        version  meta     N keys         N values                    padding
//! ```
//!
//! The header is one 64-bit word. Its low half is a version: odd while a writer holds the bucket, two higher after
//! each change, so that readers need no lock. Its high half has four bits that count the entries which found the
//! bucket full and lie further on (15 stands for "at least 15" and stays), then the action of each slot, 0 for an
//! empty one. With keys and values of 4 bytes there are seven slots and four bits for an action.
//!
//! An entry that finds its home bucket full goes to the next bucket with room. Entries never move, which is what
//! makes a lock-free miss right: a key that was there throughout is found, whatever happens around it.
//!
//! Buckets may be made for the numbers of entries instead of keys: then a number says bucket and slot by itself, and nothing
//! overflows.
//!
//! All access is by atomics (relaxed ones cost nothing), so that no sequence of calls is a data race, and a reader
//! that loses against a writer finds the version changed and reads again. Lock order: whoever holds more than one
//! bucket holds `overflow`; so nobody waits for a bucket while holding one unless everyone else will let go.

mod access;
mod line;
mod table;

pub(crate) use table::{Buckets, Found, Full, buckets_for, number_bits, numbered_hash};

pub(crate) use line::{Fields, action_bits, max_actions, slots, values_offset};
