//! What a run is asked to do, after everything was checked.
//!
//! [`Config`] is the checked form that the engines read. The unchecked form is a flat list of
//! settings, one per key, that a TOML file, flags and the peers' `.ini` files all fill.

mod model;

pub use model::*;
