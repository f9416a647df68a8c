//! Converts what the control plane writes in a generated test to updates of P4Runtime.

use std::iter;

use ir::bits::Bits;
use ir::{MatchKind, Program};
use p4lang::p4info::{self, P4InfoError};
use p4runtime::proto::config::{self, P4Info, Preamble, match_field};
use p4runtime::proto::v1::{self, entity, field_match, table_action, update};
use symbolic::generated::{self, Matched, Test};

/// The reason why a test cannot be expressed in P4Runtime.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoUpdate {
    #[error("the P4Info of the program has no {what} `{name}`")]
    NoPart { what: &'static str, name: String },
    #[error("controllers write {0} as a string, and the test has a number")]
    Translated(String),
    #[error("{0} is matched in a way that P4Runtime does not define")]
    Match(String),
    #[error("`{0}` is no number (an error in this program, please report it)")]
    Number(String),
}

/// A program with its P4Info, in which the identifiers of names are looked up.
pub(super) struct Identifiers<'p> {
    program: &'p Program,
    info: P4Info,
}

impl<'p> Identifiers<'p> {
    /// Generates the P4Info of a program.
    ///
    /// # Errors
    /// Returns the reasons if the program has no P4Info.
    pub(super) fn new(program: &'p Program) -> Result<Self, Vec<P4InfoError>> {
        Ok(Self { program, info: p4info::generate(program)? })
    }

    /// Returns the updates that configure a switch for a test, in an order in which the switch
    /// accepts them.
    ///
    /// # Errors
    /// Returns an error if a part of the test cannot be expressed in P4Runtime.
    pub(super) fn updates(&self, test: &Test) -> Result<Vec<v1::Update>, NoUpdate> {
        let mut updates = Vec::new();
        for cell in &test.registers {
            updates.push(update(update::Type::Modify, self.register(cell)?));
        }
        for default in &test.defaults {
            let (_, table_id) = self.table(&default.table)?;
            let action = table_action::Type::Action(self.action(&default.action)?);
            let entry = v1::TableEntry {
                table_id,
                action: Some(v1::TableAction { r#type: Some(action) }),
                is_default_action: true,
                ..v1::TableEntry::default()
            };
            updates.push(update(update::Type::Modify, entity::Entity::TableEntry(entry)));
        }
        for entry in &test.entries {
            if let Some(member) = &entry.member {
                let member = self.member(member, &entry.action)?;
                updates.push(update(update::Type::Insert, member));
            }
            let entry = entity::Entity::TableEntry(self.entry(entry)?);
            updates.push(update(update::Type::Insert, entry));
        }
        for session in &test.sessions {
            updates.push(update(update::Type::Insert, self::session(session)));
        }
        for group in &test.groups {
            updates.push(update(update::Type::Insert, self::group(group)));
        }
        Ok(updates)
    }

    fn table(&self, name: &str) -> Result<(&config::Table, u32), NoUpdate> {
        named("table", name, &self.info.tables, |table| table.preamble.as_ref())
    }

    fn entry(&self, entry: &generated::Entry) -> Result<v1::TableEntry, NoUpdate> {
        let (table, table_id) = self.table(&entry.table)?;
        let mut fields = Vec::with_capacity(entry.matches.len());
        for one in &entry.matches {
            let field = self.field(&entry.table, table, one)?;
            fields.extend(field_match(&entry.table, field, one)?);
        }
        let action = match &entry.member {
            Some(member) => table_action::Type::ActionProfileMemberId(member.member),
            None => table_action::Type::Action(self.action(&entry.action)?),
        };
        Ok(v1::TableEntry {
            table_id,
            r#match: fields,
            action: Some(v1::TableAction { r#type: Some(action) }),
            priority: entry.priority.map_or(0, |one| i32::try_from(one).unwrap_or(i32::MAX)),
            ..v1::TableEntry::default()
        })
    }

    /// Returns the match field of the P4Info that belongs to a key of the program. The P4Info lists
    /// keys in the order of the program, without those of selectors. A lookup by name does not
    /// suffice, since two keys may have the same name.
    fn field<'t>(
        &self,
        name: &str,
        table: &'t config::Table,
        one: &generated::Match,
    ) -> Result<&'t config::MatchField, NoUpdate> {
        let missing = || NoUpdate::NoPart { what: "match field", name: one.key.clone() };
        let of_program = self.program.tables.iter().find(|table| table.name == name);
        let keys = of_program.ok_or_else(missing)?.keys.iter().take(one.position);
        let before = keys.filter(|key| key.match_kind != MatchKind::Selector).count();
        table.match_fields.get(before).ok_or_else(missing)
    }

    fn action(&self, call: &generated::Call) -> Result<v1::Action, NoUpdate> {
        let (action, action_id) =
            named("action", &call.name, &self.info.actions, |action| action.preamble.as_ref())?;
        let mut params = Vec::with_capacity(call.arguments.len());
        for (position, (name, value)) in call.arguments.iter().enumerate() {
            let missing = || NoUpdate::NoPart { what: "parameter", name: name.clone() };
            let param = action.params.get(position).ok_or_else(missing)?;
            if param.bitwidth == 0 {
                let what = format!("parameter {name} of action {}", call.name);
                return Err(NoUpdate::Translated(what));
            }
            let value = number(value)?.into();
            params.push(v1::action::Param { param_id: param.id, value });
        }
        Ok(v1::Action { action_id, params })
    }

    fn member(
        &self,
        member: &generated::Member,
        call: &generated::Call,
    ) -> Result<entity::Entity, NoUpdate> {
        let profiles = &self.info.action_profiles;
        let (_, action_profile_id) =
            named("action profile", &member.profile, profiles, |one| one.preamble.as_ref())?;
        Ok(entity::Entity::ActionProfileMember(v1::ActionProfileMember {
            action_profile_id,
            member_id: member.member,
            action: Some(self.action(call)?),
        }))
    }

    fn register(&self, cell: &generated::Cell) -> Result<entity::Entity, NoUpdate> {
        let registers = &self.info.registers;
        let (_, register_id) =
            named("register", &cell.register, registers, |register| register.preamble.as_ref())?;
        let data = v1::p4_data::Data::Bitstring(number(&cell.value)?.into());
        let index = i64::try_from(cell.index).unwrap_or(i64::MAX);
        Ok(entity::Entity::RegisterEntry(v1::RegisterEntry {
            register_id,
            index: Some(v1::Index { index }),
            data: Some(v1::P4Data { data: Some(data) }),
        }))
    }
}

/// Returns the object with this name, and its identifier.
fn named<'i, T>(
    what: &'static str,
    name: &str,
    objects: &'i [T],
    preamble: impl Fn(&T) -> Option<&Preamble>,
) -> Result<(&'i T, u32), NoUpdate> {
    let found = objects.iter().find_map(|object| {
        let preamble = preamble(object)?;
        (preamble.name == name).then_some((object, preamble.id))
    });
    found.ok_or_else(|| NoUpdate::NoPart { what, name: name.to_owned() })
}

fn update(kind: update::Type, entity: entity::Entity) -> v1::Update {
    v1::Update { r#type: kind.into(), entity: Some(v1::Entity { entity: Some(entity) }) }
}

fn session(session: &generated::Session) -> entity::Entity {
    replication(v1::packet_replication_engine_entry::Type::CloneSessionEntry(
        v1::CloneSessionEntry {
            session_id: session.session,
            replicas: vec![replica(session.port, 0)],
            ..v1::CloneSessionEntry::default()
        },
    ))
}

fn group(group: &generated::Group) -> entity::Entity {
    replication(v1::packet_replication_engine_entry::Type::MulticastGroupEntry(
        v1::MulticastGroupEntry {
            multicast_group_id: group.group,
            replicas: vec![replica(group.port, group.instance)],
            ..v1::MulticastGroupEntry::default()
        },
    ))
}

fn replication(kind: v1::packet_replication_engine_entry::Type) -> entity::Entity {
    entity::Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry {
        r#type: Some(kind),
    })
}

/// Returns a replica to a port. The port is in the form that servers of all versions of P4Runtime
/// accept.
fn replica(port: u32, instance: u32) -> v1::Replica {
    v1::Replica {
        instance,
        port_kind: Some(v1::replica::PortKind::EgressPort(port)),
        ..v1::Replica::default()
    }
}

/// Returns the match of a key as a message of P4Runtime, or `None` if it matches all values,
/// because P4Runtime omits such matches.
fn field_match(
    table: &str,
    field: &config::MatchField,
    one: &generated::Match,
) -> Result<Option<v1::FieldMatch>, NoUpdate> {
    use field_match::FieldMatchType as Form;
    use match_field::MatchType as Kind;
    let what = || format!("key {} of table {table}", one.key);
    if field.bitwidth == 0 {
        return Err(NoUpdate::Translated(what()));
    }
    let kind = match &field.r#match {
        Some(match_field::Match::MatchType(kind)) => Kind::try_from(*kind).ok(),
        Some(match_field::Match::OtherMatchType(_)) | None => None,
    };
    let form = match (kind, &one.matched) {
        (Some(Kind::Exact), Matched::Exact(value)) => {
            Form::Exact(field_match::Exact { value: shortest(value).into() })
        }
        (Some(Kind::Optional), Matched::Exact(value)) => {
            Form::Optional(field_match::Optional { value: shortest(value).into() })
        }
        (Some(Kind::Lpm), Matched::Lpm { prefix: 0, .. }) => return Ok(None),
        (Some(Kind::Lpm), Matched::Lpm { value, prefix }) => Form::Lpm(field_match::Lpm {
            value: shortest(value).into(),
            prefix_len: i32::try_from(*prefix).unwrap_or(i32::MAX),
        }),
        (Some(Kind::Ternary), Matched::Ternary { mask, .. }) if mask.is_zero() => return Ok(None),
        (Some(Kind::Ternary), Matched::Ternary { value, mask }) => {
            Form::Ternary(field_match::Ternary {
                value: shortest(&value.bit_and(mask)).into(),
                mask: shortest(mask).into(),
            })
        }
        (Some(Kind::Range), Matched::Range { low, high }) => {
            if low.is_zero() && high.complement().is_zero() {
                return Ok(None);
            }
            Form::Range(field_match::Range {
                low: shortest(low).into(),
                high: shortest(high).into(),
            })
        }
        _ => return Err(NoUpdate::Match(what())),
    };
    Ok(Some(v1::FieldMatch { field_id: field.id, field_match_type: Some(form) }))
}

/// Returns a number in as few bytes as possible. All servers of P4Runtime accept this form
/// (P4Runtime 1.4, section 8.3).
fn shortest(value: &Bits) -> Vec<u8> {
    without_zeros(value.to_be_bytes())
}

fn without_zeros(bytes: Vec<u8>) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let kept: Vec<u8> = bytes.into_iter().skip(zeros).collect();
    if kept.is_empty() { vec![0] } else { kept }
}

/// Parses a hexadecimal number with the prefix `0x` into as few bytes as possible.
fn number(text: &str) -> Result<Vec<u8>, NoUpdate> {
    let wrong = || NoUpdate::Number(text.to_owned());
    let digits = text.strip_prefix("0x").ok_or_else(wrong)?;
    let padding = iter::repeat_n('0', digits.len() % 2);
    let even: String = padding.chain(digits.chars()).collect();
    bytes(&even).map(without_zeros).ok_or_else(wrong)
}

/// Parses hexadecimal digits into bytes, or returns `None` if their number is odd or one of them is
/// no digit.
pub(super) fn bytes(digits: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = digits
        .chars()
        .map(|digit| u8::try_from(digit.to_digit(16)?).ok())
        .collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

/// An expected packet, and a mask of the bits that are compared with it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Masked {
    /// The bytes of the packet, with zeros for undefined digits.
    pub(super) payload: Vec<u8>,
    /// The mask of the bits that are defined.
    pub(super) mask: Vec<u8>,
}

/// Parses the hexadecimal digits of an expected packet. The character `*` stands for an undefined
/// digit.
pub(super) fn masked(digits: &str) -> Result<Masked, NoUpdate> {
    let wrong = || NoUpdate::Number(digits.to_owned());
    let mask = digits.chars().map(|digit| if digit == '*' { '0' } else { 'f' });
    let mask: String = mask.collect();
    Ok(Masked {
        payload: bytes(&digits.replace('*', "0")).ok_or_else(wrong)?,
        mask: bytes(&mask).ok_or_else(wrong)?,
    })
}
