//! The list of a program's constraints on table entries and actions.

use std::fmt::Write as _;

use constraints::{Key, KeyType};
use p4runtime::p4info::{Owner, SchemaError, restricted};
use p4runtime::proto::config::P4Info;

/// Returns the constraints on the entries of each table and on the parameters of each action, as
/// text. A constraint that consists of several conditions, all of which must hold, is shown with
/// one condition in each line.
///
/// # Errors
/// Returns an error if the P4Info is inconsistent.
pub(super) fn list(p4info: &P4Info) -> Result<String, SchemaError> {
    let restricted = restricted(p4info)?;
    if restricted.is_empty() {
        return Ok("The program states no constraints on entries or actions.\n".to_owned());
    }
    let mut text = String::new();
    for one in &restricted {
        let of = match one.owner {
            Owner::Table(..) => "table",
            Owner::Action(..) => "action",
        };
        let constraint = one.compile()?;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{of} {}", one.name);
        let keys: Vec<String> = one.keys.iter().map(|key| declared(key, &one.owner)).collect();
        let _ = writeln!(text, "  {}", keys.join(", "));
        for number in 0..constraint.conjuncts() {
            let conjunct = constraint.conjunct(number).unwrap_or_default();
            let _ = writeln!(text, "    {conjunct};");
        }
    }
    Ok(text)
}

/// Formats a key with its match kind and type, or a parameter with its type.
fn declared(key: &Key, owner: &Owner) -> String {
    let ty = match &key.ty {
        KeyType::Bits(width) => format!("bit<{width}>"),
        KeyType::Text(_) => "string".to_owned(),
    };
    match owner {
        Owner::Table(..) => format!("{}: {} {ty}", key.name, key.kind.name()),
        Owner::Action(..) => format!("{}: {ty}", key.name),
    }
}
