//! Converts between values of the control plane and values of the interpreter.

use super::binding::{BoundAction, BoundParam, BoundTable};
use crate::error::ControlError;
use crate::externs::meter::MeterConfig;
use crate::switch::Core;
use crate::table::{self, FieldMatch};
use crate::value::Value;
use entities::schema::{MatchField, MatchKind, MeterAlgorithm, TranslatedTypeId};
use entities::{
    ActionCall, Argument, BitsType, Code, Data, DataType, EntityError, MatchKey, Matching,
    Translations, ValueType, value,
};
use ir::bits::Bits;
use std::fmt;

impl From<ControlError> for EntityError {
    fn from(error: ControlError) -> Self {
        let code = match &error {
            ControlError::Duplicate => Code::AlreadyExists,
            ControlError::NotFound(_) => Code::NotFound,
            ControlError::Full { .. } => Code::ResourceExhausted,
            ControlError::Constant(_) | ControlError::ActionScope { .. } => Code::PermissionDenied,
            ControlError::InUse(_) => Code::FailedPrecondition,
            ControlError::Index { .. } | ControlError::Width { .. } => Code::OutOfRange,
            _ => Code::InvalidArgument,
        };
        Self::new(code, error.to_string())
    }
}

/// Returns the error for a value that controllers see as a string although P4Info does not name its
/// type.
pub(super) fn untranslated(what: impl fmt::Display) -> EntityError {
    EntityError::invalid(format!(
        "{what} has a width of 0, which stands for a string, but no type_name of a type that P4Info \
         translates to strings"
    ))
}

/// Converts a value of the control plane to the number that the program uses. If the value is a
/// string, `translated` is its type. `place` names the value in an error.
fn bits(
    translations: &Translations,
    value: &entities::Value,
    translated: Option<TranslatedTypeId>,
    place: impl fmt::Display,
) -> Result<Bits, EntityError> {
    if let Some(width) = value.bits() {
        return Ok(Bits::from_be_bytes(width, false, value.bytes()));
    }
    let Some(of) = translated else { return Err(untranslated(place)) };
    match (translations.number(of, value.bytes()), translations.bits(of)) {
        (Some(number), Some(width)) => Ok(Bits::unsigned(width, number)),
        _ => Err(translations.unknown(of, value.bytes()).within(place)),
    }
}

/// Converts a number of the program to a value of the control plane. Returns `None` if the number
/// is too wide for the control plane's type, or if controllers see it as a string, but none is
/// assigned to it.
fn scalar(
    translations: &Translations,
    of: ValueType,
    translated: Option<TranslatedTypeId>,
    pattern: &Bits,
) -> Option<entities::Value> {
    let width = match of {
        ValueType::Bits(width) => width,
        ValueType::Text | ValueType::TextOrEmpty => {
            let text = translations.text(translated?, pattern.to_u128()?)?;
            return entities::Value::new(of, &text).ok();
        }
    };
    if let Some(number) = pattern.to_u128() {
        return entities::Value::number(width.get(), number);
    }
    let mut bytes = pattern.to_be_bytes();
    if bytes.is_empty() {
        bytes.push(0);
    }
    entities::Value::new(of, &bytes).ok()
}

/// Converts the matches of an entry from the control plane to one match for each key of the table.
pub(super) fn matches(
    translations: &Translations,
    table: &BoundTable,
    key: &MatchKey,
) -> Result<Vec<FieldMatch>, EntityError> {
    let fields = table.keys.iter().map(|declared| match declared {
        Some(declared) => field_match(translations, declared, &key.fields),
        None => Ok(FieldMatch::Any),
    });
    fields.collect()
}

/// Converts the match of one field from the control plane. A field that is missing in the list
/// matches any value.
pub(super) fn field_match(
    translations: &Translations,
    declared: &MatchField,
    fields: &[entities::FieldMatch],
) -> Result<FieldMatch, EntityError> {
    let Some(found) = fields.iter().find(|field| field.field == declared.id) else {
        return Ok(FieldMatch::Any);
    };
    let bits = |value| {
        let place = format_args!("match field '{}'", declared.name);
        bits(translations, value, declared.translated, place)
    };
    Ok(match &found.matching {
        Matching::Exact(value) | Matching::Optional(value) => FieldMatch::Exact(bits(value)?),
        Matching::Lpm { value, prefix_len } => {
            FieldMatch::Lpm { value: bits(value)?, prefix_length: *prefix_len }
        }
        Matching::Ternary { value, mask } => {
            FieldMatch::Ternary { value: bits(value)?, mask: bits(mask)? }
        }
        Matching::Range { low, high } => FieldMatch::Range { low: bits(low)?, high: bits(high)? },
    })
}

/// Returns the matches of an entry in the control plane's form, in the order in which P4Info
/// declares the fields. Returns `None` if no controller could have written the entry, or if
/// controllers see a field as a string, but no string is assigned to its number.
pub(super) fn match_key(
    translations: &Translations,
    declared: &[MatchField],
    table: &BoundTable,
    matches: &[FieldMatch],
    priority: u32,
) -> Option<MatchKey> {
    let mut fields = Vec::with_capacity(declared.len());
    for field in declared {
        let is_of = |of: &Option<MatchField>| of.as_ref().is_some_and(|of| of.id == field.id);
        let position = table.keys.iter().position(is_of)?;
        if let Some(matching) = matching(translations, field, matches.get(position)?)? {
            fields.push(entities::FieldMatch { field: field.id, matching });
        }
    }
    Some(MatchKey { fields: fields.into(), priority })
}

/// Converts the match of one field to the control plane's form. Returns `Some(None)` if the field
/// matches every value. Returns `None` if no controller could have written the match, or if
/// controllers see the field as a string, but no string is assigned to its number.
fn matching(
    translations: &Translations,
    field: &MatchField,
    found: &FieldMatch,
) -> Option<Option<Matching>> {
    let of = |pattern: &Bits| scalar(translations, field.value, field.translated, pattern);
    Some(Some(match (found, &field.kind) {
        (FieldMatch::Any, MatchKind::Exact) => return None,
        (FieldMatch::Any, _) => return Some(None),
        (FieldMatch::Exact(value), MatchKind::Optional) => Matching::Optional(of(value)?),
        (FieldMatch::Exact(value), _) => Matching::Exact(of(value)?),
        (FieldMatch::Lpm { value, prefix_length }, _) => {
            Matching::Lpm { value: of(value)?, prefix_len: *prefix_length }
        }
        (FieldMatch::Ternary { value, mask }, _) => {
            Matching::Ternary { value: of(value)?, mask: of(mask)? }
        }
        (FieldMatch::Range { low, high }, _) => Matching::Range { low: of(low)?, high: of(high)? },
    }))
}

/// Converts an action call of the control plane to a call of the program's action, with arguments
/// of the program's types.
pub(super) fn call(
    core: &Core,
    translations: &Translations,
    action: Option<&BoundAction>,
    call: &ActionCall,
) -> Result<table::ActionCall, EntityError> {
    let action = action.ok_or_else(|| {
        EntityError::invalid(format!("the program has no action {} here", call.action))
    })?;
    let argument = |param: &BoundParam| {
        let mut arguments = call.arguments.iter();
        let argument = arguments.find(|argument| argument.param == param.id)?;
        let place = format_args!("parameter '{}' of action '{}'", param.name, action.name);
        Some(bits(translations, &argument.value, param.translated, place))
    };
    let arguments = action.params.iter().filter_map(argument).collect::<Result<Vec<_>, _>>()?;
    Ok(core.action_call(action.of_program, &arguments)?)
}

/// Returns the error about the first field of a key that controllers see as a string but to whose
/// number no string is assigned.
pub(super) fn unnamed_key(
    translations: &Translations,
    declared: &[MatchField],
    table: &BoundTable,
    matches: &[FieldMatch],
) -> Option<EntityError> {
    let mut texts = declared.iter().filter(|field| field.value.bits().is_none());
    texts.find_map(|field| {
        let is_of = |of: &Option<MatchField>| of.as_ref().is_some_and(|of| of.id == field.id);
        let position = table.keys.iter().position(is_of)?;
        let Some(FieldMatch::Exact(bits)) = matches.get(position) else { return None };
        let place = format_args!("match field '{}'", field.name);
        unnamed(translations, field.translated, bits, place)
    })
}

/// Returns the error about the first argument that controllers see as a string but to whose number
/// no string is assigned.
pub(super) fn unnamed_argument(
    translations: &Translations,
    actions: &[BoundAction],
    call: &table::ActionCall,
) -> Option<EntityError> {
    let action = actions.iter().find(|action| action.of_program == call.action)?;
    let params = action.params.iter().zip(&call.arguments);
    let mut texts = params.filter(|(param, _)| param.value.bits().is_none());
    texts.find_map(|(param, value)| {
        let place = format_args!("parameter '{}' of action '{}'", param.name, action.name);
        unnamed(translations, param.translated, &value.to_pattern()?, place)
    })
}

fn unnamed(
    translations: &Translations,
    translated: Option<TranslatedTypeId>,
    bits: &Bits,
    place: impl fmt::Display,
) -> Option<EntityError> {
    let Some(of) = translated else { return Some(untranslated(place)) };
    let number = bits.to_u128()?;
    let is_unnamed = translations.text(of, number).is_none();
    is_unnamed.then(|| translations.unnamed(of, number).within(place))
}

/// Converts an action call to the control plane's form. Returns `None` if P4Info does not have the
/// action, or if controllers see an argument as a string, but no string is assigned to its number.
pub(super) fn shown_call(
    translations: &Translations,
    actions: &[BoundAction],
    call: &table::ActionCall,
) -> Option<ActionCall> {
    let action = actions.iter().find(|action| action.of_program == call.action)?;
    let mut arguments = Vec::with_capacity(action.params.len());
    for (param, value) in action.params.iter().zip(&call.arguments) {
        let value = scalar(translations, param.value, param.translated, &value.to_pattern()?)?;
        arguments.push(Argument { param: param.id, value });
    }
    arguments.sort_by_key(|argument| argument.param);
    Some(ActionCall { action: action.of_schema, arguments: arguments.into() })
}

pub(super) fn meter_config(
    algorithm: MeterAlgorithm,
    config: Option<entities::MeterConfig>,
) -> Option<MeterConfig> {
    config.map(|config| match algorithm {
        MeterAlgorithm::TwoRateThreeColor => MeterConfig::TwoRate {
            committed_rate: config.committed_rate,
            committed_burst: config.committed_burst,
            peak_rate: config.peak_rate,
            peak_burst: config.peak_burst,
        },
        _ => MeterConfig::SingleRate {
            committed_rate: config.committed_rate,
            committed_burst: config.committed_burst,
            excess_burst: config.excess_burst,
        },
    })
}

pub(super) fn shown_meter_config(config: Option<MeterConfig>) -> Option<entities::MeterConfig> {
    config.map(|config| match config {
        MeterConfig::TwoRate { committed_rate, committed_burst, peak_rate, peak_burst } => {
            entities::MeterConfig {
                committed_rate,
                committed_burst,
                peak_rate,
                peak_burst,
                excess_burst: 0,
            }
        }
        // The peak rate of a single-rate meter is its committed rate (P4Runtime, "MeterConfig").
        MeterConfig::SingleRate { committed_rate, committed_burst, excess_burst } => {
            entities::MeterConfig {
                committed_rate,
                committed_burst,
                peak_rate: committed_rate,
                peak_burst: committed_burst,
                excess_burst,
            }
        }
    })
}

/// Converts structured data from the control plane to a value of the same type as `like`. Returns
/// `None` if the data do not fit that type.
pub(super) fn from_data(
    translations: &Translations,
    like: &Value,
    of: &DataType,
    data: &Data,
) -> Option<Value> {
    let each = |like: &[Value], types: &[DataType], values: &[Data]| {
        let parts = like.iter().zip(types).zip(values);
        let parts = parts.map(|((like, of), value)| from_data(translations, like, of, value));
        parts.collect::<Option<Vec<_>>>()
    };
    let position = |members: &[String], name: &String| {
        Some(members.iter().position(|one| one == name)? as u32)
    };
    Some(match (like, of, data) {
        (Value::Bits(like), DataType::Text(translated), Data::Bits(text)) => {
            let number = translations.number((*translated)?, text)?;
            Value::Bits(Bits::unsigned(u128::BITS, number).cast(like.width(), like.is_signed()))
        }
        (Value::Bits(like), _, Data::Bits(bytes) | Data::EnumValue(bytes)) => {
            Value::Bits(extended(like, bytes, matches!(of, DataType::Bits(BitsType::Signed(_)))))
        }
        (Value::Bool(_), _, Data::Bool(value)) => Value::Bool(*value),
        (Value::Enum(_), DataType::Enum(members), Data::Enum(name)) => {
            Value::Enum(position(members, name)?)
        }
        (Value::Error(_), DataType::Error(members), Data::Error(name)) => {
            Value::Error(position(members, name)?)
        }
        (Value::Struct(like), DataType::Struct(types), Data::Struct(values))
        | (Value::Struct(like), DataType::Tuple(types), Data::Tuple(values)) => {
            Value::Struct(each(like, types, values)?)
        }
        (Value::Header { fields, .. }, DataType::Header(types), Data::Header(header)) => {
            let Some(values) = header else {
                return Some(Value::Header { valid: false, fields: fields.clone() });
            };
            let parts = fields.iter().zip(types.iter()).zip(values);
            let fields = parts.map(|((like, of), bytes)| {
                from_data(translations, like, &DataType::Bits(*of), &Data::Bits(bytes.clone()))
            });
            Value::Header { valid: true, fields: fields.collect::<Option<_>>()? }
        }
        _ => return None,
    })
}

/// Extends a number to the width of `like`. The control plane sends numbers in as few bytes as
/// possible; a signed number is sign-extended.
fn extended(like: &Bits, bytes: &[u8], signed: bool) -> Bits {
    let width = u32::try_from(bytes.len()).unwrap_or(u32::MAX).saturating_mul(8);
    Bits::from_be_bytes(width, signed, bytes).cast(like.width(), like.is_signed())
}

/// Converts a value to structured data of the control plane. Returns `None` if registers and
/// digests do not support its type here, or if controllers see a number in it as a string, but no
/// string is assigned to it.
pub(super) fn to_data(translations: &Translations, of: &DataType, value: &Value) -> Option<Data> {
    let each = |types: &[DataType], values: &[Value]| {
        let parts = types.iter().zip(values);
        parts.map(|(of, value)| to_data(translations, of, value)).collect::<Option<Vec<_>>>()
    };
    let name = |members: &[String], position: &u32| members.get(*position as usize).cloned();
    Some(match (of, value) {
        (DataType::Text(translated), Value::Bits(bits)) => {
            let text = translations.text((*translated)?, bits.to_u128()?)?;
            Data::Bits(Box::from(&*text))
        }
        (DataType::Bits(of), Value::Bits(bits)) => Data::Bits(string(*of, bits)?),
        (DataType::SerializableEnum(width), Value::Bits(bits)) => {
            Data::EnumValue(string(BitsType::Unsigned(*width), bits)?)
        }
        (DataType::Bool, Value::Bool(value)) => Data::Bool(*value),
        (DataType::Enum(members), Value::Enum(position)) => Data::Enum(name(members, position)?),
        (DataType::Error(members), Value::Error(position)) => Data::Error(name(members, position)?),
        (DataType::Struct(types), Value::Struct(values)) => Data::Struct(each(types, values)?),
        (DataType::Tuple(types), Value::Struct(values)) => Data::Tuple(each(types, values)?),
        (DataType::Header(types), Value::Header { valid, fields }) => {
            let fields = types.iter().zip(fields).map(|(of, field)| match field {
                Value::Bits(bits) => string(*of, bits),
                _ => None,
            });
            Data::Header(if *valid { Some(fields.collect::<Option<_>>()?) } else { None })
        }
        _ => return None,
    })
}

fn string(of: BitsType, bits: &Bits) -> Option<Box<[u8]>> {
    let mut bytes = bits.cast(bits.width().next_multiple_of(8), bits.is_signed()).to_be_bytes();
    if bytes.is_empty() {
        bytes.push(0);
    }
    match of {
        BitsType::Unsigned(width) => value::unsigned(&bytes, width).ok().map(Box::from),
        BitsType::Signed(width) => value::signed(&bytes, width).ok().map(Box::from),
        BitsType::Varbit(_) => None,
    }
}
