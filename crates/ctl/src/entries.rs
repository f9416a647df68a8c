//! The text form of table entries: `TABLE FIELD=VALUE ... ACTION PARAMETER=VALUE ...`.

use crate::error::CommandError;
use crate::names::{Named as _, find};
use crate::operands::{Operands, small};
use crate::session::Session;
use crate::value::{parse, parse_match};
use bytes::Bytes;
use entities::schema::{Action, ActionRef, MatchField, MatchKind, Table};
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::action_profile_action::WatchKind;
use p4runtime::proto::v1::table_action::Type as ActionType;
use p4runtime::proto::v1::{self, FieldMatch, TableEntry, action::Param};
use std::sync::Arc;

/// The separator between key and action in simple_switch_CLI. Entries in Planimeter's own text form
/// may contain it as well.
pub(crate) const ARROW: &str = "=>";

/// Parses the name of a table from the operands.
pub(crate) fn table<'s>(
    schema: &'s Schema,
    words: &mut Operands,
) -> Result<&'s Table, CommandError> {
    let name = words.next("the name of a table")?;
    find("table", &name, schema.tables().iter())
}

/// Parses the fields of a key from the operands: by name (`FIELD=VALUE`), or all in order (`VALUE
/// ...`).
pub(crate) fn key(table: &Table, words: &mut Operands) -> Result<Vec<FieldMatch>, CommandError> {
    let mut found = Vec::new();
    let is_named = words.peek().is_some_and(|word| word != ARROW && word.contains('='));
    if is_named {
        while words.peek().is_some_and(|word| word != ARROW && word.contains('=')) {
            let word = words.next("a field of the key")?;
            let (name, text) = word.split_once('=').unwrap_or((&word, ""));
            let field = find("match field", name, table.match_fields.iter())?;
            if found.iter().any(|(id, _)| *id == field.id) {
                return Err(words.problem(format!("{} is given twice", field.name)));
            }
            found.push((field.id, parse_match(field, text)?));
        }
        let given = |field: &&MatchField| found.iter().any(|(id, _)| *id == field.id);
        let mut exact = table.match_fields.iter().filter(|field| field.kind == MatchKind::Exact);
        if let Some(missing) = exact.find(|field| !given(field)) {
            return Err(words.problem(format!("{} has no value", missing.name)));
        }
    } else {
        for field in &table.match_fields {
            let text = words.next(&format!("a value of {}", field.name))?;
            found.push((field.id, parse_match(field, &text)?));
        }
    }
    words.take(ARROW);
    Ok(found.into_iter().filter_map(|(_, found)| found).collect())
}

/// Parses a call of one of these actions from the operands: its name, and its parameters by name or
/// in order.
pub(crate) fn call(
    schema: &Schema,
    actions: &[ActionRef],
    words: &mut Operands,
) -> Result<v1::Action, CommandError> {
    let name = words.next("the name of an action")?;
    let action = action(schema, actions, &name)?;
    let params = params(action, words)?;
    words.end()?;
    Ok(v1::Action { action_id: action.id.0, params })
}

/// Returns the action with this name, if it is one of those that a table or profile may use.
pub(crate) fn action<'s>(
    schema: &'s Schema,
    actions: &[ActionRef],
    name: &str,
) -> Result<&'s Action, CommandError> {
    let known: Vec<&Action> =
        actions.iter().filter_map(|action| schema.actions().get(action.id)).collect();
    find("action", name, known.into_iter())
}

/// Parses the parameters of an action from the operands, by name or in order.
pub(crate) fn params(action: &Action, words: &mut Operands) -> Result<Vec<Param>, CommandError> {
    let mut params: Vec<Param> = Vec::new();
    let is_param = |word: &str| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| find("parameter", name, action.params.iter()).is_ok())
    };
    for position in 0..action.params.len() {
        let Some(word) = words.peek().map(str::to_owned) else { break };
        let (param, text) = match word.split_once('=') {
            Some((name, text)) if position == 0 || is_param(&word) => {
                (find("parameter", name, action.params.iter())?, text)
            }
            _ => match action.params.get(position) {
                Some(param) => (param, word.as_str()),
                None => break,
            },
        };
        if params.iter().any(|known| known.param_id == param.id.0) {
            return Err(words.problem(format!("parameter {} is given twice", param.name)));
        }
        let value = parse(&param.name, param.value, text)?;
        params.push(Param { param_id: param.id.0, value });
        words.next("a parameter")?;
    }
    if let Some(missing) =
        action.params.iter().find(|param| params.iter().all(|known| known.param_id != param.id.0))
    {
        return Err(words.problem(format!(
            "action {} needs parameter {}",
            action.short(),
            missing.name
        )));
    }
    params.sort_by_key(|param| param.param_id);
    Ok(params)
}

/// Parses an entry with its key, its action and its options from the operands.
pub(crate) fn entry(
    session: &Session<'_>,
    words: &mut Operands,
) -> Result<TableEntry, CommandError> {
    let schema: Arc<Schema> = session.schema()?;
    let options = Options::take(words)?;
    let table = table(&schema, words)?;
    let key = key(table, words)?;
    let action = options.action(&schema, table, words)?;
    words.end()?;
    let needs_priority = table.needs_priority && options.priority.is_none();
    if needs_priority {
        return Err(words.problem(format!(
            "the entries of {} have priorities, of which the largest wins; give --priority N",
            table.short()
        )));
    }
    Ok(TableEntry { table_id: table.id.0, r#match: key, action, ..options.entry() })
}

/// Parses the key of an entry from the operands. The word `default` stands for the default entry.
pub(crate) fn entry_key(schema: &Schema, words: &mut Operands) -> Result<TableEntry, CommandError> {
    let priority = words.number_option::<i32>("priority")?.unwrap_or(0);
    let table = table(schema, words)?;
    let key = match words.take("default") {
        true => {
            return Ok(TableEntry {
                table_id: table.id.0,
                is_default_action: true,
                ..TableEntry::default()
            });
        }
        false => key(table, words)?,
    };
    Ok(TableEntry { table_id: table.id.0, r#match: key, priority, ..TableEntry::default() })
}

/// The options with which an entry is written, such as its priority.
struct Options {
    priority: Option<i32>,
    idle_timeout_ns: i64,
    metadata: Bytes,
    controller_metadata: u64,
    meter: Option<v1::MeterConfig>,
    member: Option<u32>,
    group: Option<u32>,
}

impl Options {
    fn take(words: &mut Operands) -> Result<Self, CommandError> {
        let idle = words.time_option("idle-timeout")?;
        let idle = idle.map_or(Ok(0), i64::try_from);
        let metadata = words.option("metadata")?.map(|text| hexadecimal(&text));
        let meter = words.option("meter")?.map(|text| meter(&text));
        Ok(Self {
            priority: words.number_option("priority")?,
            idle_timeout_ns: idle.map_err(|_| words.problem("--idle-timeout is too long"))?,
            metadata: metadata
                .map_or(Some(Bytes::new()), |metadata| metadata)
                .ok_or_else(|| words.problem("--metadata is bytes in hexadecimal"))?,
            controller_metadata: words.number_option("controller-metadata")?.unwrap_or(0),
            meter: match meter {
                Some(None) => return Err(words.problem("--meter is RATE:BURST,RATE:BURST")),
                Some(Some(meter)) => Some(meter),
                None => None,
            },
            member: words.number_option("member")?,
            group: words.number_option("group")?,
        })
    }

    fn entry(self) -> TableEntry {
        TableEntry {
            priority: self.priority.unwrap_or(0),
            idle_timeout_ns: self.idle_timeout_ns,
            metadata: self.metadata,
            controller_metadata: self.controller_metadata,
            meter_config: self.meter,
            ..TableEntry::default()
        }
    }

    fn action(
        &self,
        schema: &Schema,
        table: &Table,
        words: &mut Operands,
    ) -> Result<Option<v1::TableAction>, CommandError> {
        let action = match (self.member, self.group) {
            (Some(_), Some(_)) => {
                return Err(words.problem("--member and --group exclude each other"));
            }
            (Some(member), None) => ActionType::ActionProfileMemberId(member),
            (None, Some(group)) => ActionType::ActionProfileGroupId(group),
            (None, None) if words.take("one-shot") => {
                ActionType::ActionProfileActionSet(one_shot(schema, table, words)?)
            }
            (None, None) => ActionType::Action(call(schema, &table.actions, words)?),
        };
        Ok(Some(v1::TableAction { r#type: Some(action) }))
    }
}

/// Parses the members of a one-shot action selector group from the operands: `ACTION ... [--weight
/// N] [--watch PORT] , ACTION ...`.
fn one_shot(
    schema: &Schema,
    table: &Table,
    words: &mut Operands,
) -> Result<v1::ActionProfileActionSet, CommandError> {
    let all = words.rest();
    let mut members = Vec::new();
    for part in all.split(|word| word == ",") {
        let mut words = words.fresh(part.iter().cloned());
        let weight = words.number_option("weight")?.unwrap_or(1);
        let watch = words.option("watch")?.map(|port| WatchKind::WatchPort(port_bytes(&port)));
        let action = Some(call(schema, &table.actions, &mut words)?);
        members.push(v1::ActionProfileAction { action, weight, watch_kind: watch });
    }
    Ok(v1::ActionProfileActionSet { action_profile_actions: members, ..Default::default() })
}

/// Returns the bytes of a port in P4Runtime. The text is a number, or a name if the type of ports
/// is translated to strings.
pub(crate) fn port_bytes(text: &str) -> Bytes {
    match small::<u64>(text) {
        Some(number) => entities::value::encode(number.into()),
        None => Bytes::copy_from_slice(text.as_bytes()),
    }
}

/// Parses hexadecimal digits, with or without `0x`, into bytes.
pub(crate) fn hexadecimal(text: &str) -> Option<Bytes> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let digits: Option<Vec<u32>> = digits.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    let byte = |pair: &[u32]| {
        pair.iter().try_fold(0, |byte: u8, digit| Some(byte << 4 | u8::try_from(*digit).ok()?))
    };
    digits.chunks_exact(2).map(byte).collect::<Option<Vec<u8>>>().map(Bytes::from)
}

/// Parses the rates of a meter: `RATE:BURST` for one rate, `RATE:BURST,RATE:BURST` for committed
/// and peak rate, and a third number for the excess burst.
pub(crate) fn meter(text: &str) -> Option<v1::MeterConfig> {
    let mut parts = text.split(',');
    let pair = |text: &str| -> Option<(i64, i64)> {
        let (rate, burst) = text.split_once(':')?;
        Some((small(rate)?, small(burst)?))
    };
    let (cir, cburst) = pair(parts.next()?)?;
    let (pir, pburst) = parts.next().map_or(Some((cir, cburst)), pair)?;
    let eburst = parts.next().map_or(Some(0), small)?;
    parts.next().is_none().then_some(v1::MeterConfig { cir, cburst, pir, pburst, eburst })
}
