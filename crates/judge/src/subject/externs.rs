//! The extern objects of a device's program, read from its P4Info: counters, meters, registers and
//! value sets.

use protos::config::{
    self, counter_spec, meter_spec, p4_bitstring_like_type_spec, p4_data_type_spec,
};

use super::{Key, keys, special, width};

/// An indexed array of cells: a counter, meter or register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Array<T> {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) size: i64,
    /// The form of the array's cells, which depends on the kind of the array.
    pub(crate) form: T,
}

/// The units that a counter counts: packets, bytes or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) packets: bool,
    pub(crate) bytes: bool,
}

/// The algorithm of a meter (9.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marker {
    /// Two rates and three colours (RFC 2698).
    TwoRateThree,
    /// One rate and three colours (RFC 2697).
    SingleRateThree,
    /// One rate and two colours.
    SingleRateTwo,
}

/// The width of a register's values in bits, or `None` if the values are not unsigned numbers.
pub(crate) type Width = Option<u32>;

/// A direct counter or direct meter of a table, with the form of its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Direct<T> {
    pub(crate) id: u32,
    pub(crate) form: T,
}

/// A parser value set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ValueSet {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) keys: Vec<Key>,
    pub(crate) size: i64,
    /// Whether all values of the set's members are plain numbers that no annotation restricts.
    pub(crate) is_plain: bool,
}

impl<T> Array<T> {
    fn new(preamble: Option<&config::Preamble>, size: i64, form: T) -> Self {
        let preamble = preamble.cloned().unwrap_or_default();
        Self { id: preamble.id, name: preamble.name, size, form }
    }
}

pub(super) fn counters(p4info: &config::P4Info) -> Vec<Array<Counts>> {
    let counters = p4info.counters.iter();
    let array = |one: &config::Counter| {
        Array::new(one.preamble.as_ref(), one.size, counts(one.spec.as_ref()))
    };
    counters.map(array).collect()
}

pub(super) fn direct_counters(p4info: &config::P4Info) -> Vec<Direct<Counts>> {
    let counters = p4info.direct_counters.iter();
    let direct = |one: &config::DirectCounter| {
        self::direct(one.preamble.as_ref(), counts(one.spec.as_ref()))
    };
    counters.map(direct).collect()
}

pub(super) fn meters(p4info: &config::P4Info) -> Vec<Array<Marker>> {
    let meters = p4info.meters.iter();
    let array = |one: &config::Meter| {
        Array::new(one.preamble.as_ref(), one.size, marker(one.spec.as_ref()))
    };
    meters.map(array).collect()
}

pub(super) fn direct_meters(p4info: &config::P4Info) -> Vec<Direct<Marker>> {
    let meters = p4info.direct_meters.iter();
    let direct =
        |one: &config::DirectMeter| self::direct(one.preamble.as_ref(), marker(one.spec.as_ref()));
    meters.map(direct).collect()
}

pub(super) fn registers(p4info: &config::P4Info) -> Vec<Array<Width>> {
    let registers = p4info.registers.iter();
    let array = |one: &config::Register| {
        Array::new(one.preamble.as_ref(), one.size.into(), bits(one.type_spec.as_ref()))
    };
    registers.map(array).collect()
}

pub(super) fn value_sets(p4info: &config::P4Info) -> Vec<ValueSet> {
    let sets = p4info.value_sets.iter().map(|set| {
        let preamble = set.preamble.clone().unwrap_or_default();
        let (keys, why) = keys(p4info, &set.r#match);
        let refers = |field: &config::MatchField| {
            field.annotations.iter().any(|text| text.starts_with("@refers_to"))
        };
        let is_plain = why.is_none()
            && special(&preamble.annotations).is_none()
            && keys.iter().all(|key| key.translated.is_none())
            && !set.r#match.iter().any(refers);
        ValueSet { id: preamble.id, name: preamble.name, keys, size: set.size.into(), is_plain }
    });
    sets.collect()
}

fn direct<T>(preamble: Option<&config::Preamble>, form: T) -> Direct<T> {
    Direct { id: preamble.map_or(0, |preamble| preamble.id), form }
}

fn counts(spec: Option<&config::CounterSpec>) -> Counts {
    use counter_spec::Unit;
    let unit = spec.map_or(Unit::Unspecified, config::CounterSpec::unit);
    Counts {
        packets: matches!(unit, Unit::Packets | Unit::Both),
        bytes: matches!(unit, Unit::Bytes | Unit::Both),
    }
}

fn marker(spec: Option<&config::MeterSpec>) -> Marker {
    match spec.map_or(meter_spec::Type::TwoRateThreeColor, config::MeterSpec::r#type) {
        meter_spec::Type::TwoRateThreeColor => Marker::TwoRateThree,
        meter_spec::Type::SingleRateThreeColor => Marker::SingleRateThree,
        meter_spec::Type::SingleRateTwoColor => Marker::SingleRateTwo,
    }
}

fn bits(spec: Option<&config::P4DataTypeSpec>) -> Width {
    let p4_data_type_spec::TypeSpec::Bitstring(spec) = spec?.type_spec.as_ref()? else {
        return None;
    };
    match spec.type_spec.as_ref()? {
        p4_bitstring_like_type_spec::TypeSpec::Bit(bit) => Some(width(bit.bitwidth)),
        p4_bitstring_like_type_spec::TypeSpec::Int(_)
        | p4_bitstring_like_type_spec::TypeSpec::Varbit(_) => None,
    }
}
