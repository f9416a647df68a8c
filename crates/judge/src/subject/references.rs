//! References of entries to other entities, which the annotation `@refers_to` declares: the value of
//! a key field or parameter is that of a field of an entry in another table, or the number of a
//! multicast group or clone session.
//!
//! P4Runtime does not say what a device does with a reference to something that is not there. It has
//! to accept an entity whose references lead to what is there.

use protos::config;

/// The entities to which a reference leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The entries of the table with this identifier.
    Table(u32),
    MulticastGroups,
    CloneSessions,
}

/// A reference of a key, or of a call of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) target: Target,
    /// The values that the target must have, all of them in one entity.
    pub(crate) pairs: Vec<Pair>,
}

/// A value of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    /// The identifier of the key field or parameter that refers.
    pub(crate) own: u32,
    /// The identifier of the field of the target's table; 0 for the number of a multicast group or
    /// clone session.
    pub(crate) field: u32,
}

/// Returns the references that fields or parameters declare, which are given by identifier. Those to
/// different fields of one target are one reference.
///
/// # Errors
/// Returns the reason if a reference cannot be followed.
pub(super) fn references<'a>(
    p4info: &config::P4Info,
    annotated: impl Iterator<Item = (u32, &'a [String])>,
) -> Result<Vec<Reference>, String> {
    let mut found: Vec<Reference> = Vec::new();
    for (own, annotations) in annotated {
        for text in annotations.iter().filter(|text| text.starts_with(ANNOTATION)) {
            let (target, field) = named(p4info, text)
                .ok_or_else(|| format!("it refers to what the P4Info does not have ({text})"))?;
            let pair = Pair { own, field };
            let is_same = |one: &&mut Reference| {
                one.target == target
                    && one.pairs.iter().all(|other| other.field != field && other.own != own)
            };
            match found.iter_mut().find(is_same) {
                Some(one) => one.pairs.push(pair),
                None => found.push(Reference { target, pairs: vec![pair] }),
            }
        }
    }
    Ok(found)
}

const ANNOTATION: &str = "@refers_to";

/// Returns the target that an annotation names, and the identifier of the field.
fn named(p4info: &config::P4Info, text: &str) -> Option<(Target, u32)> {
    let body = text.strip_prefix(ANNOTATION)?.trim().strip_prefix('(')?.strip_suffix(')')?;
    let mut words = body.split(',').map(|word| word.trim().trim_matches('"'));
    let (Some(object), Some(field), None) = (words.next(), words.next(), words.next()) else {
        return None;
    };
    let object: String = object.split_whitespace().collect();
    match object.as_str() {
        "builtin::multicast_group_table" => Some((Target::MulticastGroups, 0)),
        "builtin::clone_session_table" => Some((Target::CloneSessions, 0)),
        name => {
            let preamble = |table: &&config::Table| {
                table.preamble.as_ref().is_some_and(|one| one.alias == name || one.name == name)
            };
            let table = p4info.tables.iter().find(preamble)?;
            let field = table.match_fields.iter().find(|one| one.name == field)?;
            Some((Target::Table(table.preamble.as_ref()?.id), field.id))
        }
    }
}
