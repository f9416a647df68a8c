//! Resolves the names in a script to the objects of a program.
//!
//! Scripts are written for several compilers, so the beginning of a name may be missing: `t1` means
//! `ingress.t1`. A full name is preferred, then the part of a full name after a dot, then any
//! suffix of a full name. A suffix that two objects of the same kind share is refused.

use super::number::Number;
use super::script::{Call, MatchText, Operand};
use super::{StfError, strings};
use entities::names;
use ir::bits::Bits;
use ir::{
    ActionId, ActionParameter, BinaryOperator, Expression, ExpressionKind, ExternId, Key,
    MatchKind, Program, Projection, Table, TableId, Type, Value, VariableId,
};
use pipeline::{ActionCall, FieldMatch, Switch};
use std::collections::BTreeSet;

/// Returns the position in `names` of the only name that `wanted` can mean. Returns an error if
/// there is no such name, or more than one.
fn find<'n>(
    kind: &'static str,
    names: impl Iterator<Item = &'n str> + Clone,
    wanted: &str,
) -> Result<usize, StfError> {
    // Scripts for BPF use the names of the generated C code: `pipe_t` for `pipe.t`, and `_NoAction`
    // for `NoAction`.
    let in_c = |name: &str| name.replace('.', "_") == wanted.strip_prefix('_').unwrap_or(wanted);
    let at_dot = |name: &str| names::is_end(name, wanted);
    let at_any = |name: &str| name.ends_with(wanted);
    match names::only(names.clone(), &[&|name| name == wanted, &at_dot, &at_any, &in_c]) {
        Ok(Some(position)) => return Ok(position),
        Ok(None) => {}
        Err([first, second]) => {
            return Err(StfError::Ambiguous {
                kind,
                name: wanted.to_owned(),
                first: first.to_owned(),
                second: second.to_owned(),
            });
        }
    }
    let mut known: Vec<&str> = names.take(12).collect();
    if known.is_empty() {
        known.push("none");
    }
    Err(StfError::Unknown { kind, name: wanted.to_owned(), known: known.join(", ") })
}

pub(super) fn table(program: &Program, name: &str) -> Result<TableId, StfError> {
    let position = find("table", program.tables.iter().map(|table| table.name.as_str()), name)?;
    Ok(TableId(position as u32))
}

/// Checks that BMv2's command line (`tools/runtime_CLI.py`) accepts the names of a table and an
/// action. Each must be a full name, or the part of a full name after a dot, and must match only
/// one object.
pub(super) fn check_unique_end(
    program: &Program,
    table: &str,
    action: &str,
) -> Result<(), StfError> {
    let tables: BTreeSet<&str> = program.tables.iter().map(|table| table.name.as_str()).collect();
    let in_tables = program.tables.iter().flat_map(|table| &table.actions);
    let actions: BTreeSet<&str> = in_tables
        .filter_map(|reference| program.actions.get(reference.action.index()))
        .map(|action| action.name.as_str())
        .collect();
    for (kind, names, wanted) in [("table", tables, table), ("action", actions, action)] {
        let is_end = |name: &&str| *name == wanted || entities::names::is_end(name, wanted);
        if names.iter().filter(|name| is_end(name)).count() != 1 {
            return Err(StfError::NotUnique { kind, name: wanted.to_owned() });
        }
    }
    Ok(())
}

pub(super) fn instance(
    program: &Program,
    kind: &'static str,
    types: &[&str],
    name: &str,
) -> Result<ExternId, StfError> {
    let instances: Vec<(usize, &str)> = program
        .externs
        .iter()
        .enumerate()
        .filter(|(_, instance)| types.contains(&instance.extern_type.name()))
        .map(|(position, instance)| (position, instance.name.as_str()))
        .collect();
    let position = find(kind, instances.iter().map(|(_, name)| *name), name)?;
    let position = instances.get(position).map_or(0, |(position, _)| *position);
    Ok(ExternId(position as u32))
}

/// Returns the action that `call` names. It must be an action of `table`, or of any table if
/// `table` is `None`.
pub(super) fn action(
    program: &Program,
    table: Option<&Table>,
    call: &Call,
) -> Result<ActionId, StfError> {
    let actions: Vec<ActionId> = match table {
        Some(table) => table.actions.iter().map(|reference| reference.action).collect(),
        None => (0..program.actions.len()).map(|position| ActionId(position as u32)).collect(),
    };
    let names = actions
        .iter()
        .map(|id| program.actions.get(id.index()).map_or("", |action| action.name.as_str()));
    let position = find("action", names, &call.action)?;
    actions.get(position).copied().ok_or_else(|| unknown_action(call))
}

fn unknown_action(call: &Call) -> StfError {
    StfError::Unknown { kind: "action", name: call.action.clone(), known: String::new() }
}

/// Resolves a call of an action, and puts its arguments in the order of the action's parameters.
/// The action must be one of `table`, or of any table if `table` is `None`.
pub(super) fn call(
    switch: &Switch,
    table: Option<&Table>,
    call: &Call,
    strict: bool,
) -> Result<ActionCall, StfError> {
    let program = switch.program();
    let id = self::action(program, table, call)?;
    let Some(action) = program.actions.get(id.index()) else { return Err(unknown_action(call)) };
    let declared = action.parameters.iter().enumerate();
    let declared: Vec<(usize, &ActionParameter)> =
        declared.filter(|(_, parameter)| parameter.direction.is_none()).collect();
    let parameters: Vec<&str> =
        declared.iter().map(|(_, parameter)| parameter.name.as_str()).collect();
    // p4c's runner for BPF ignores the names of arguments and writes the values into a C struct in
    // script order.
    let by_order = program.architecture.is_for_bpf()
        && call.arguments.len() == parameters.len()
        && call.arguments.iter().any(|(name, _)| !parameters.contains(&name.as_str()));
    let renamed: Vec<(String, Operand)>;
    let given = if by_order {
        let names = parameters.iter().map(|name| (*name).to_owned());
        renamed = names.zip(call.arguments.iter().map(|(_, value)| value.clone())).collect();
        &renamed
    } else {
        &call.arguments
    };
    if let Some((name, _)) = given.iter().find(|(name, _)| !parameters.contains(&name.as_str())) {
        return Err(StfError::Unknown {
            kind: "parameter",
            name: format!("{name} of {}", action.name),
            known: parameters.join(", "),
        });
    }
    let argument = |(position, parameter): &(usize, &ActionParameter)| {
        let found = given.iter().rev().find(|(name, _)| *name == parameter.name);
        let (_, operand) = found.ok_or_else(|| StfError::Missing {
            action: action.name.clone(),
            parameter: parameter.name.clone(),
        })?;
        let number = match operand {
            Operand::Number(number) => number,
            Operand::Text(text) => {
                let translated = switch.translated();
                let of = translated.of_parameter(id, *position);
                let what = || format!("parameter {} of {}", parameter.name, action.name);
                return strings::number(translated, of, text, what);
            }
        };
        let shape = match program.types.find(parameter.type_id) {
            Some(Type::Bits { width, signed }) if !strict => Some((width, signed)),
            _ => None,
        };
        let cut = shape.and_then(|(width, signed)| number.in_bytes_of(width, signed));
        Ok(cut.unwrap_or_else(|| number.to_shortest_bits()))
    };
    let arguments: Vec<Bits> = declared.iter().map(argument).collect::<Result<_, StfError>>()?;
    Ok(switch.action_call(id, &arguments)?)
}

/// Resolves the matches of an entry to one match for each key. If the script omits an exact key, it
/// matches zero, and any other omitted key matches all values, as in p4c's runner.
pub(super) fn matches(
    switch: &Switch,
    id: TableId,
    table: &Table,
    given: &[(String, MatchText)],
    strict: bool,
) -> Result<Vec<FieldMatch>, StfError> {
    let program = switch.program();
    let mut matches: Vec<FieldMatch> = table
        .keys
        .iter()
        .map(|key| match key.match_kind {
            MatchKind::Exact | MatchKind::Other(_) => {
                let (width, signed) = shape(program, key);
                FieldMatch::Exact(Bits::zero(width, signed))
            }
            _ => FieldMatch::Any,
        })
        .collect();
    for (name, text) in given {
        let position = match bpf_key(program, table, name) {
            Some(position) => position,
            None => key(table, name)?,
        };
        if let (Some(key), Some(place)) = (table.keys.get(position), matches.get_mut(position)) {
            *place = match text {
                MatchText::Text(text) => {
                    let translated = switch.translated();
                    // P4Runtime allows strings only in exact and optional matches.
                    let of = match key.match_kind {
                        MatchKind::Exact | MatchKind::Optional => translated.of_key(id, position),
                        MatchKind::Lpm
                        | MatchKind::Ternary
                        | MatchKind::Range
                        | MatchKind::Selector
                        | MatchKind::Other(_) => None,
                    };
                    let what = || format!("key {}", key.name);
                    FieldMatch::Exact(strings::number(translated, of, text, what)?)
                }
                MatchText::Value(_)
                | MatchText::Prefix(..)
                | MatchText::Mask(..)
                | MatchText::Range(..)
                | MatchText::Any => field(program, key, text, strict)?,
            };
        }
    }
    Ok(matches)
}

/// Returns the width of a key in bits, and whether it is signed. Enumerations and errors are
/// represented by 32 bits.
fn shape(program: &Program, key: &Key) -> (u32, bool) {
    match program.types.find(key.expression.type_id) {
        Some(Type::Bits { width, signed }) => (width, signed),
        Some(Type::Varbits { max_width }) => (max_width, false),
        Some(Type::Bool) => (1, false),
        _ => (32, false),
    }
}

/// Returns the position of the key that a script for BPF means by a name such as `struct.field1`:
/// after the name of the struct with the keys, there is either `field` and the position of the key,
/// or the name of the key with `_` in place of dots. Returns `None` if no key or more than one has
/// the name.
fn bpf_key(program: &Program, table: &Table, given: &str) -> Option<usize> {
    if !program.architecture.is_for_bpf() {
        return None;
    }
    let (_, field) = given.split_once('.')?;
    let numbered = field.strip_prefix("field").and_then(|number| number.parse::<usize>().ok());
    if let Some(position) = numbered.filter(|position| *position < table.keys.len()) {
        return Some(position);
    }
    let mut named = table.keys.iter().enumerate().filter(|(_, key)| {
        let in_c = key.name.replace('.', "_");
        in_c == field || in_c.strip_suffix(field).is_some_and(|before| before.ends_with('_'))
    });
    match (named.next(), named.next()) {
        (Some((position, _)), None) => Some(position),
        _ => None,
    }
}

/// Returns the position of the key that the name `given` in a script means.
pub(super) fn key(table: &Table, given: &str) -> Result<usize, StfError> {
    let given = stack_element(given);
    let keys = || table.keys.iter().filter(|key| key.match_kind != MatchKind::Selector);
    // Scripts also write `hdr.valid` or `hdr` for `hdr.$valid$`.
    let mut spellings = vec![given.clone(), format!("{given}$"), format!("{given}.$valid$")];
    if given == "valid" {
        spellings.push("$valid$".to_owned());
    }
    if let Some(header) = given.strip_suffix(".valid").or_else(|| given.strip_suffix(".isValid")) {
        spellings.push(format!("{header}.$valid$"));
    }
    if let Some(header) = given.strip_suffix(".$valid$").or_else(|| given.strip_suffix(".$valid")) {
        spellings.push(format!("{header}.$valid$"));
        spellings.push(format!("{header}.isValid()"));
    }
    for spelling in &spellings {
        if let Some(position) = table.keys.iter().position(|key| key.name == *spelling) {
            return Ok(position);
        }
    }
    // If several keys end with the name, the last one is meant, as in p4c's runner.
    for spelling in &spellings {
        let end = format!(".{spelling}");
        if let Some(position) = table
            .keys
            .iter()
            .rposition(|key| key.match_kind != MatchKind::Selector && key.name.ends_with(&end))
        {
            return Ok(position);
        }
    }
    let known: Vec<&str> = keys().map(|key| key.name.as_str()).collect();
    Err(StfError::Unknown {
        kind: "key",
        name: format!("{given} of {}", table.name),
        known: known.join(", "),
    })
}

/// Rewrites an element of a header stack from `stack$2.field` to `stack[2].field`.
fn stack_element(name: &str) -> String {
    for (dollar, _) in name.match_indices('$').collect::<Vec<_>>().into_iter().rev() {
        let after = &name[dollar + 1..];
        let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        if digits > 0 {
            return format!("{}[{}]{}", &name[..dollar], &after[..digits], &after[digits..]);
        }
    }
    name.to_owned()
}

/// The part of a field that is a key of a table. p4c's back end matches the whole field under a
/// mask in this case, so the values in entries are values of the whole field.
enum Part {
    /// The bits that a mask selects, for a key `field & mask`.
    Masked(Bits),
    /// The bits from bit `low` on, for a key `field[high:low]`. `width` is the width of the whole
    /// field.
    Slice { low: u32, width: u32 },
}

fn part(program: &Program, key: &Key) -> Option<Part> {
    let constant = |expression: &Expression| match &expression.kind {
        ExpressionKind::Constant(Value::Bits(bits)) => Some(bits.clone()),
        _ => None,
    };
    match &key.expression.kind {
        ExpressionKind::Binary(BinaryOperator::BitAnd, left, right) => {
            constant(right).or_else(|| constant(left)).map(Part::Masked)
        }
        ExpressionKind::Slice { operand, low, .. } => match program.types.find(operand.type_id) {
            Some(Type::Bits { width, .. }) => Some(Part::Slice { low: *low, width }),
            _ => None,
        },
        ExpressionKind::Read(place) => match place.path.as_slice() {
            [before @ .., Projection::Slice { low, .. }] => {
                let width = field_width(program, place.variable, before)?;
                Some(Part::Slice { low: *low, width })
            }
            _ => None,
        },
        _ => None,
    }
}

/// Returns the width in bits of the field that `path` leads to.
fn field_width(program: &Program, variable: VariableId, path: &[Projection]) -> Option<u32> {
    let mut ty = program.variables.get(variable.index())?.type_id;
    for projection in path {
        ty = match (program.types.find(ty)?, projection) {
            (Type::Composite(id), Projection::Field(position)) => {
                let composite = program.types.composites.get(id.index())?;
                composite.fields.get(*position as usize)?.type_id
            }
            (Type::Stack { element, .. }, _) => element,
            _ => return None,
        };
    }
    match program.types.find(ty)? {
        Type::Bits { width, .. } => Some(width),
        _ => None,
    }
}

/// Resolves the match of one key. A value that is too wide for the key but fits the key's number of
/// bytes is truncated, as on BMv2. If `strict` is set, it is refused.
fn field(
    program: &Program,
    key: &Key,
    text: &MatchText,
    strict: bool,
) -> Result<FieldMatch, StfError> {
    let (width, signed) = shape(program, key);
    let part = part(program, key);
    let bits = |number: &Number| {
        let fitting = match (strict, &part) {
            (false, None) => number.in_bytes_of(width, signed),
            _ => number.to_bits(width, signed),
        };
        let fitting = match (&part, fitting) {
            (Some(Part::Masked(mask)), Some(bits)) => Some(bits.bit_and(mask)),
            // The value is that of the slice, unless it has as many digits as the whole field.
            (Some(Part::Slice { width: whole, .. }), Some(bits))
                if number.digits_width() < *whole =>
            {
                Some(bits)
            }
            (Some(Part::Slice { low, width: whole }), _) => {
                let of_field = number.to_bits(*whole, false);
                of_field.map(|bits| bits.shift_right(u64::from(*low)).cast(width, signed))
            }
            (_, fitting) => fitting,
        };
        fitting.ok_or_else(|| StfError::Width {
            key: key.name.clone(),
            width,
            value: number.to_string(),
        })
    };
    let refused = |form: &'static str| StfError::Form {
        key: key.name.clone(),
        kind: kind_name(&key.match_kind),
        form,
    };
    Ok(match (&key.match_kind, text) {
        (MatchKind::Exact | MatchKind::Other(_), MatchText::Value(value)) => {
            FieldMatch::Exact(bits(value)?)
        }
        (MatchKind::Optional, MatchText::Value(value)) => FieldMatch::Exact(bits(value)?),
        (MatchKind::Lpm, MatchText::Value(value)) => {
            prefix(bits(value)?, value.written_length(width))
        }
        (MatchKind::Lpm, MatchText::Prefix(value, length)) => {
            if *length > width {
                return Err(refused("a prefix that is longer than the key"));
            }
            prefix(bits(value)?, *length)
        }
        (MatchKind::Ternary, MatchText::Value(value)) => {
            masked(&bits(value)?, &value.written_bits(width, signed))
        }
        (MatchKind::Ternary, MatchText::Mask(value, mask)) => masked(&bits(value)?, &bits(mask)?),
        (MatchKind::Ternary, MatchText::Prefix(value, length)) => {
            let mask = Bits::prefix_mask(width, (*length).min(width)).cast(width, signed);
            masked(&bits(value)?, &mask)
        }
        (MatchKind::Range, MatchText::Value(value)) => {
            FieldMatch::Range { low: bits(value)?, high: bits(value)? }
        }
        (MatchKind::Range, MatchText::Range(low, high)) => {
            FieldMatch::Range { low: bits(low)?, high: bits(high)? }
        }
        (MatchKind::Exact | MatchKind::Other(_), MatchText::Any) => {
            return Err(refused("anything (`*`)"));
        }
        (_, MatchText::Any) => FieldMatch::Any,
        (_, MatchText::Value(_)) => return Err(refused("a value")),
        (_, MatchText::Text(_)) => return Err(refused("a string")),
        (_, MatchText::Prefix(..)) => return Err(refused("a prefix")),
        (_, MatchText::Mask(..)) => return Err(refused("a mask")),
        (_, MatchText::Range(..)) => return Err(refused("a range")),
    })
}

fn prefix(value: Bits, prefix_length: u32) -> FieldMatch {
    let mask =
        Bits::prefix_mask(value.width(), prefix_length).cast(value.width(), value.is_signed());
    FieldMatch::Lpm { value: value.bit_and(&mask), prefix_length }
}

fn masked(value: &Bits, mask: &Bits) -> FieldMatch {
    FieldMatch::Ternary { value: value.bit_and(mask), mask: mask.clone() }
}

fn kind_name(kind: &MatchKind) -> &'static str {
    match kind {
        MatchKind::Exact => "exact",
        MatchKind::Lpm => "lpm",
        MatchKind::Ternary => "ternary",
        MatchKind::Range => "range",
        MatchKind::Optional => "optional",
        MatchKind::Selector => "selector",
        _ => "another",
    }
}

/// Returns whether the entries of a table have priorities. BMv2 orders entries by priority only in
/// tables with a ternary, range or optional key.
pub(super) fn has_priorities(table: &Table) -> bool {
    table.keys.iter().any(|key| {
        matches!(key.match_kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_name_goes_before_ends() {
        let names = ["a.t", "t", "b.st"];
        assert_eq!(find("table", names.into_iter(), "t").unwrap(), 1);
        assert_eq!(find("table", names.into_iter(), "st").unwrap(), 2);
        assert_eq!(find("table", ["a.t1", "b.xt1"].into_iter(), "t1").unwrap(), 0);
        assert_eq!(find("table", ["a.t1"].into_iter(), "1").unwrap(), 0);
        assert!(matches!(
            find("table", ["a.t", "b.t"].into_iter(), "t"),
            Err(StfError::Ambiguous { .. })
        ));
        assert!(matches!(find("table", names.into_iter(), "x"), Err(StfError::Unknown { .. })));
    }

    #[test]
    fn elements_of_stacks_may_be_written_with_a_dollar() {
        assert_eq!(stack_element("hdr.stack$2.field"), "hdr.stack[2].field");
        assert_eq!(stack_element("hdr.x.$valid$"), "hdr.x.$valid$");
    }
}
