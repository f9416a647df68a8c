//! The commands about parser value sets. P4Runtime can only write a value set as a whole, so
//! commands that add or remove members read it first.

use crate::error::CommandError;
use crate::names::{Named as _, find};
use crate::operands::Operands;
use crate::session::{Session, Sink};
use crate::value::parse_match;
use entities::schema::ValueSet;
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::{ValueSetEntry, ValueSetMember, entity::Entity as Kind, update::Type};

/// Parses the name of a value set from the operands.
fn value_set<'s>(schema: &'s Schema, words: &mut Operands) -> Result<&'s ValueSet, CommandError> {
    let name = words.next("the name of a value set")?;
    find("value set", &name, schema.value_sets().iter())
}

/// Parses a member of a value set: the values of its fields, separated by commas.
fn member(set: &ValueSet, words: &Operands, text: &str) -> Result<ValueSetMember, CommandError> {
    let texts: Vec<&str> = text.split(',').collect();
    if texts.len() != set.match_fields.len() {
        return Err(words.problem(format!(
            "a member of {} has {} values, separated by commas",
            set.short(),
            set.match_fields.len()
        )));
    }
    let pairs = set.match_fields.iter().zip(texts);
    let fields = pairs.map(|(field, text)| parse_match(field, text.trim()));
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    Ok(ValueSetMember { r#match: fields.into_iter().flatten().collect() })
}

/// Parses the name of a value set, followed by members, from the operands.
fn set_and_members<'s>(
    schema: &'s Schema,
    words: &mut Operands,
) -> Result<(&'s ValueSet, Vec<ValueSetMember>), CommandError> {
    let set = value_set(schema, words)?;
    let texts = words.rest();
    let members = texts.iter().map(|text| member(set, words, text));
    Ok((set, members.collect::<Result<_, _>>()?))
}

fn read(session: &mut Session<'_>, set: &ValueSet) -> Result<Vec<ValueSetMember>, CommandError> {
    let request = ValueSetEntry { value_set_id: set.id.0, members: Vec::new() };
    let members = session.read_as(request, |kind| match kind {
        Kind::ValueSetEntry(entry) => Some(entry.members),
        _ => None,
    })?;
    Ok(members.into_iter().flatten().collect())
}

fn put(
    session: &mut Session<'_>,
    set: &ValueSet,
    members: Vec<ValueSetMember>,
) -> Result<(), CommandError> {
    session.write(Type::Modify, ValueSetEntry { value_set_id: set.id.0, members })
}

/// Runs the command `value-set write`, which replaces the members of a value set.
pub(crate) fn write(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let (set, members) = set_and_members(&schema, &mut words)?;
    put(session, set, members)
}

/// Runs the command `value-set add`, which adds members to a value set.
pub(crate) fn add(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let (set, more) = set_and_members(&schema, &mut words)?;
    let mut members = read(session, set)?;
    for member in more {
        if !members.contains(&member) {
            members.push(member);
        }
    }
    put(session, set, members)
}

/// Runs the command `value-set remove`, which removes members from a value set.
pub(crate) fn remove(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let (set, gone) = set_and_members(&schema, &mut words)?;
    let mut members = read(session, set)?;
    members.retain(|member| !gone.contains(member));
    put(session, set, members)
}

/// Runs the command `value-set clear`, which removes all members of a value set.
pub(crate) fn clear(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let set = value_set(&schema, &mut words)?;
    words.end()?;
    put(session, set, Vec::new())
}

/// Runs the command `value-set dump`, which shows value sets.
pub(crate) fn dump(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let value_set_id = match words.peek() {
        Some(_) => value_set(&schema, &mut words)?.id.0,
        None => 0,
    };
    words.end()?;
    session.list(vec![ValueSetEntry { value_set_id, members: Vec::new() }.into()], sink)
}
