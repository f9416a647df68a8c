//! The table of all settings, with one file per section.
//!
//! A new setting needs a field in the draft ([`super::draft`]), a row here, and a field in the
//! configuration ([`super::Config`]). Flags, help, TOML and the reference documentation follow from
//! these. A test regenerates `docs/probe-settings.md`.
//!
//! The range, the default and the example of a setting are appended wherever its manual is shown.
//! The manual itself therefore explains the meaning, the unit and the reason for the default.

pub(super) mod controller;
pub(super) mod output;
pub(super) mod p4runtime;
pub(super) mod plan;
pub(super) mod rfc8456;
pub(super) mod run;
pub(super) mod switches;
pub(super) mod timing;
pub(super) mod tls;
pub(super) mod traffic;

use super::setting::{Kind, Limits, Setting};

/// A row with the default for each field. The rows of the table state only the fields in which they
/// differ.
const BASE: Setting = Setting {
    key: "",
    flag: "",
    short: None,
    value_name: "",
    kind: Kind::Value,
    default: "",
    example: "",
    summary: "",
    manual: "",
    limits: Limits::Free,
    slot: |draft| &mut draft.seed,
};

/// The maximum duration of any phase in seconds, a week.
const WEEK: f64 = 7.0 * 24.0 * 3600.0;
