//! The table of all settings, a file per section.
//!
//! To add a setting: a place in the draft ([`super::draft`]), a row here, and a field in the
//! configuration ([`super::Config`]). Flags, help, TOML and the reference documentation follow by
//! themselves; a test regenerates `docs/probe-settings.md`.
//!
//! The range, the default and the example of a setting are appended to its manual wherever that is
//! shown, so that the manuals themselves say what it means, what its unit is and why the default is
//! what it is.

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

/// What most settings share; a row overrides the rest.
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

/// Longest time that any phase may take: a week.
const WEEK: f64 = 7.0 * 24.0 * 3600.0;
