//! Values of a switch's tables and arrays, from Python and to Python.

use std::borrow::Cow;

use entities::names::{NameError, is_end};
use entities::plain::{EntryError, Form, Plain, PlainMatch, ones, wide};
use entities::schema::{ActionId, MatchField, MatchKind, Param, TableId};
use entities::{ActionCall, BitsType, Code, Data, DataType, EntityError, Matching, Value};
use num_bigint::{BigInt, BigUint, Sign};
use p4runtime::p4info::Schema;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::errors::{Fault, Kind};

/// Returns a plain value that Python code passed.
pub(super) fn plain(object: &Bound<'_, PyAny>) -> PyResult<Plain<'static>> {
    if let Ok(value) = object.cast::<PyBool>() {
        return Ok(Plain::Bool(value.is_true()));
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Plain::Text(Cow::Owned(text.to_cow()?.into_owned())));
    }
    if let Ok(number) = object.extract::<u64>() {
        return Ok(Plain::number(number));
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Plain::Bytes(Cow::Owned(bytes.as_bytes().to_vec())));
    }
    // The addresses and networks of Python's own module print as plain values.
    if object.get_type().module()?.to_cow()? == "ipaddress" {
        return Ok(Plain::Text(Cow::Owned(object.str()?.to_cow()?.into_owned())));
    }
    if let Ok(number) = object.extract::<BigInt>() {
        return match number.into_parts() {
            (Sign::Minus, magnitude) => {
                let what = format!("-{magnitude} is negative");
                Err(Fault::new(Kind::Input, what).mended_by("fields have values from 0").into())
            }
            (Sign::NoSign | Sign::Plus, magnitude) => {
                Ok(Plain::Number(Cow::Owned(magnitude.to_bytes_be())))
            }
        };
    }
    let class = object.get_type().name()?;
    let known = "an int, bool, str, bytes, or an address of the module ipaddress";
    Err(PyTypeError::new_err(format!("a value is {known}, not {class}")))
}

fn plain_match(object: &Bound<'_, PyAny>) -> PyResult<PlainMatch<'static>> {
    if object.is_none() {
        return Ok(PlainMatch::Any);
    }
    let Ok(pair) = object.cast::<PyTuple>() else { return Ok(PlainMatch::One(plain(object)?)) };
    if pair.len() != 2 {
        let what = format!("a match is a value or two, not {}", pair.len());
        let remedy = "write (value, mask), (value, prefix length) or (low, high)";
        return Err(Fault::new(Kind::Input, what).mended_by(remedy).into());
    }
    Ok(PlainMatch::Pair(plain(&pair.get_item(0)?)?, plain(&pair.get_item(1)?)?))
}

/// Returns the plain matches of a key, by field.
pub(super) fn key(given: &Bound<'_, PyDict>) -> PyResult<Vec<(String, PlainMatch<'static>)>> {
    given.iter().map(|(name, value)| Ok((name.extract()?, plain_match(&value)?))).collect()
}

/// Returns the plain arguments of an action, by parameter.
pub(super) fn arguments(given: &Bound<'_, PyDict>) -> PyResult<Vec<(String, Plain<'static>)>> {
    given.iter().map(|(name, value)| Ok((name.extract()?, plain(&value)?))).collect()
}

/// Returns a value in its form: a number as `int`, everything else as `str`.
fn shown<'py>(
    py: Python<'py>,
    form: Form,
    bits: Option<u32>,
    bytes: &[u8],
) -> PyResult<Bound<'py, PyAny>> {
    match form {
        Form::Decimal | Form::Hexadecimal => {
            Ok(BigUint::from_bytes_be(bytes).into_pyobject(py)?.into_any())
        }
        Form::Ipv4 | Form::Ipv6 | Form::Ethernet | Form::Text => {
            Ok(form.show(bits, bytes).into_pyobject(py)?.into_any())
        }
    }
}

/// Returns the argument of a parameter, as it could be written.
fn argument<'py>(
    py: Python<'py>,
    schema: &Schema,
    action: ActionId,
    param: &Param,
    value: &Value,
) -> PyResult<Bound<'py, PyAny>> {
    let annotations = schema.param_annotations(action, param.id);
    let form = Form::of(param.value, &param.name, false, annotations);
    shown(py, form, param.value.bits(), value.bytes())
}

/// Returns the name and the arguments of a call.
pub(super) fn call<'py>(
    py: Python<'py>,
    schema: &Schema,
    call: &ActionCall,
) -> PyResult<(String, Bound<'py, PyDict>)> {
    let arguments = PyDict::new(py);
    let action = schema.actions().get(call.action).ok_or_else(|| absent("an action"))?;
    for given in &call.arguments {
        let param = action.param(given.param).ok_or_else(|| absent("a parameter"))?;
        let value = argument(py, schema, action.id, param, &given.value)?;
        arguments.set_item(&param.name, value)?;
    }
    let name = entities::names::Named::short(action).to_owned();
    Ok((name, arguments))
}

/// Returns the fault of an entity that names what its own program lacks.
pub(super) fn absent(what: &str) -> Fault {
    Fault::new(Kind::Internal, format!("an entity names {what} that its program lacks"))
}

/// Returns the match of a field, as it could be written.
pub(super) fn matching<'py>(
    py: Python<'py>,
    schema: &Schema,
    table: Option<TableId>,
    field: &MatchField,
    found: &Matching,
) -> PyResult<Bound<'py, PyAny>> {
    let annotations = table.map_or(&[][..], |table| schema.field_annotations(table, field.id));
    let is_prefix = field.kind == MatchKind::Lpm;
    let form = Form::of(field.value, &field.name, is_prefix, annotations);
    let bits = field.value.bits();
    let value = |value: &Value| shown(py, form, bits, value.bytes());
    let pair = |first, second| Ok(PyTuple::new(py, [first, second])?.into_any());
    match found {
        Matching::Exact(found) | Matching::Optional(found) => value(found),
        Matching::Lpm { value: prefix, prefix_len } => match form {
            Form::Ipv4 | Form::Ipv6 => {
                let text = format!("{}/{prefix_len}", form.show(bits, prefix.bytes()));
                Ok(text.into_pyobject(py)?.into_any())
            }
            Form::Decimal | Form::Hexadecimal | Form::Ethernet | Form::Text => {
                pair(value(prefix)?, prefix_len.into_pyobject(py)?.into_any())
            }
        },
        Matching::Ternary { value: found, mask } => {
            let is_full = bits.is_some_and(|bits| wide(mask.bytes(), bits) == ones(bits, bits));
            if is_full { value(found) } else { pair(value(found)?, value(mask)?) }
        }
        Matching::Range { low, high } => pair(value(low)?, value(high)?),
    }
}

/// Returns data of a type that Python code passed: numbers, truth values, names of members, and
/// tuples or lists of them.
pub(super) fn data(name: &str, of: &DataType, object: &Bound<'_, PyAny>) -> PyResult<Data> {
    let wrong = |what: &str| {
        let value = object.repr().map(|text| text.to_string()).unwrap_or_default();
        PyErr::from(
            Fault::new(Kind::Input, format!("{value} is not a value of {name}"))
                .mended_by(format!("the type is {of}, {what}")),
        )
    };
    let unsigned = |bits: u32| {
        let kind = std::num::NonZeroU32::new(bits)
            .map_or(entities::ValueType::Text, entities::ValueType::Bits);
        let value = entities::plain::value(name, kind, &plain(object)?);
        value.map(|value| Box::from(value.bytes())).map_err(|error| input(error.to_string()).into())
    };
    let members = |types: &[DataType]| -> PyResult<Vec<Data>> {
        let given: Vec<Bound<'_, PyAny>> =
            object.extract().map_err(|_| wrong("whose members are a tuple"))?;
        if given.len() != types.len() {
            return Err(wrong("which has another number of members"));
        }
        types.iter().zip(&given).map(|(of, object)| data(name, of, object)).collect()
    };
    let member = |names: &[String]| -> PyResult<String> {
        let text: String = object.extract().map_err(|_| wrong("whose members have names"))?;
        let is_one = names.contains(&text);
        is_one.then_some(text).ok_or_else(|| wrong(&format!("with {}", names.join(", "))))
    };
    match of {
        DataType::Bits(BitsType::Unsigned(bits)) => unsigned(*bits).map(Data::Bits),
        DataType::SerializableEnum(bits) => unsigned(*bits).map(Data::EnumValue),
        DataType::Bits(BitsType::Signed(bits)) => {
            let number: BigInt = object.extract().map_err(|_| wrong("a number"))?;
            let bytes = number.to_signed_bytes_be();
            let bytes = entities::value::signed(&bytes, *bits);
            bytes.map(|bytes| Data::Bits(bytes.into())).map_err(|_| wrong("which is narrower"))
        }
        DataType::Bool => {
            let value = object.cast::<PyBool>().map_err(|_| wrong("True or False"))?;
            Ok(Data::Bool(value.is_true()))
        }
        DataType::Text(_) => {
            let text: String = object.extract().map_err(|_| wrong("a str"))?;
            Ok(Data::Bits(text.into_bytes().into()))
        }
        DataType::Enum(names) => member(names).map(Data::Enum),
        DataType::Error(names) => member(names).map(Data::Error),
        DataType::Tuple(types) => members(types).map(Data::Tuple),
        DataType::Struct(types) => members(types).map(Data::Struct),
        DataType::Bits(BitsType::Varbit(_))
        | DataType::Header(_)
        | DataType::HeaderUnion(_)
        | DataType::HeaderStack { .. }
        | DataType::HeaderUnionStack { .. } => Err(wrong("which cannot be written from Python")),
    }
}

/// Returns data of a type as Python values: tuples for structs and headers, `None` for an invalid
/// header, and the name of the member for an enum.
pub(super) fn shown_data<'py>(
    py: Python<'py>,
    of: &DataType,
    data: &Data,
) -> PyResult<Bound<'py, PyAny>> {
    let number = |bytes: &[u8]| -> PyResult<Bound<'py, PyAny>> {
        Ok(BigUint::from_bytes_be(bytes).into_pyobject(py)?.into_any())
    };
    let header = |header: &entities::Header| -> PyResult<Bound<'py, PyAny>> {
        match header {
            None => Ok(py.None().into_bound(py)),
            Some(fields) => {
                let fields = fields.iter().map(|field| number(field)).collect::<PyResult<Vec<_>>>();
                Ok(PyTuple::new(py, fields?)?.into_any())
            }
        }
    };
    let union = |union: &entities::Union| -> PyResult<Bound<'py, PyAny>> {
        match union {
            None => Ok(py.None().into_bound(py)),
            Some((name, fields)) => {
                let name = name.into_pyobject(py)?.into_any();
                Ok(PyTuple::new(py, [name, header(&Some(fields.clone()))?])?.into_any())
            }
        }
    };
    let list = |all: Vec<Bound<'py, PyAny>>| Ok(PyList::new(py, all)?.into_any());
    match (of, data) {
        (DataType::Bits(BitsType::Signed(_)), Data::Bits(bytes)) => {
            Ok(BigInt::from_signed_bytes_be(bytes).into_pyobject(py)?.into_any())
        }
        (DataType::Text(_), Data::Bits(bytes)) => {
            Ok(String::from_utf8_lossy(bytes).into_pyobject(py)?.into_any())
        }
        (
            DataType::Tuple(types) | DataType::Struct(types),
            Data::Tuple(values) | Data::Struct(values),
        ) => {
            let members = types.iter().zip(values).map(|(of, one)| shown_data(py, of, one));
            Ok(PyTuple::new(py, members.collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
        (_, Data::Bits(bytes) | Data::EnumValue(bytes) | Data::Varbit { bytes, .. }) => {
            number(bytes)
        }
        (_, Data::Bool(value)) => Ok(PyBool::new(py, *value).to_owned().into_any()),
        (_, Data::Enum(name) | Data::Error(name)) => Ok(name.into_pyobject(py)?.into_any()),
        (_, Data::Header(found)) => header(found),
        (_, Data::Union(found)) => union(found),
        (_, Data::HeaderStack(found)) => {
            list(found.iter().map(header).collect::<PyResult<Vec<_>>>()?)
        }
        (_, Data::UnionStack(found)) => {
            list(found.iter().map(union).collect::<PyResult<Vec<_>>>()?)
        }
        (_, Data::Tuple(_) | Data::Struct(_)) => Err(absent("a type").into()),
    }
}

fn input(what: impl Into<String>) -> Fault {
    Fault::new(Kind::Input, what)
}

/// Returns the fault of a name. Its remedy names what exists.
pub(super) fn name_fault(error: &NameError) -> Fault {
    let text = error.to_string();
    match text.split_once("; ") {
        Some((what, remedy)) => Fault::new(Kind::Missing, what).mended_by(remedy),
        None => Fault::new(Kind::Missing, text.as_str()),
    }
}

/// Returns the fault of a part of an entry.
pub(super) fn entry_fault(error: &EntryError) -> Fault {
    match error {
        EntryError::Name(error) => name_fault(error),
        EntryError::Missing { parameter, .. } => input(format!("it needs parameter {parameter}")),
        EntryError::Value(error) => {
            let what = format!("{} is not a value of {}", error.value, error.name);
            input(what).mended_by(error.problem.as_str())
        }
        other => input(other.to_string()),
    }
}

/// Returns the shortest end of a field's name that no other field of its table has.
pub(super) fn short_name<'f>(fields: &[MatchField], field: &'f MatchField) -> &'f str {
    let is_free = |end: &&str| {
        let has_it = |one: &&MatchField| is_end(&one.name, end) || one.name == *end;
        fields.iter().filter(has_it).count() == 1
    };
    let name = field.name.as_str();
    let mut ends = name.match_indices('.').rev().filter_map(|(dot, _)| name.get(dot + 1..));
    ends.find(is_free).unwrap_or(name)
}

/// Returns the fault of an update that the switch refuses.
pub(super) fn entity_fault(error: &EntityError) -> Fault {
    let kind = match error.code() {
        Code::NotFound => Kind::Missing,
        Code::ResourceExhausted => Kind::Limit,
        Code::Internal | Code::Unknown | Code::DataLoss | Code::Ok => Kind::Internal,
        Code::InvalidArgument | Code::OutOfRange | Code::Unimplemented => Kind::Input,
        Code::AlreadyExists
        | Code::PermissionDenied
        | Code::FailedPrecondition
        | Code::Aborted
        | Code::Cancelled
        | Code::DeadlineExceeded
        | Code::Unavailable
        | Code::Unauthenticated => Kind::Refused,
    };
    Fault::new(kind, error.message())
}
