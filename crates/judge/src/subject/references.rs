//! References from entities to other entities, which the annotation `@refers_to` declares. The
//! value of a key field or action parameter must be that of a field of an entry in another table,
//! or the number of a multicast group or clone session.
//!
//! P4Runtime does not specify what a device does with a reference to an entity that does not exist.
//! It must accept an entity if all entities to which it refers exist.

use protos::config;

/// The kind of entity to which a reference refers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// An entry of the table with this identifier.
    Table(u32),
    MulticastGroups,
    CloneSessions,
}

/// A reference from the key of an entry, or from the arguments of an action call, to another
/// entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) target: Target,
    /// The values that the referring and the referenced entity must have in common.
    pub(crate) pairs: Vec<Pair>,
}

/// A pair of fields that must have the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    /// The identifier of the referring key field or parameter.
    pub(crate) own: u32,
    /// The identifier of the field in the referenced entity; 0 if the value is the number of a
    /// multicast group or clone session.
    pub(crate) field: u32,
}

/// Returns the references that are declared by the annotations of fields or parameters, which are
/// given by identifier. Annotations for different fields of the same target make up a single
/// reference.
///
/// # Errors
/// Returns the reason if a reference cannot be resolved.
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

/// Returns the target that the text of an annotation names, and the identifier of the target's
/// field.
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
