//! Conversion of indirect counters, indirect meters and registers (specification of P4Runtime 1.5,
//! "CounterEntry", "MeterEntry", "RegisterEntry").

use entities::schema::*;
use entities::{
    CounterCell, CounterData, EntityError, MeterCell, MeterConfig, MeterCounters, RegisterCell,
    UpdateKind,
};

use super::{data, modify_only};
use crate::proto::v1;

/// Converts an update of a counter from a message. Returns `None` if the update sets no data.
pub(super) fn counter(
    schema: &Schema,
    kind: UpdateKind,
    entry: &v1::CounterEntry,
) -> Result<Option<CounterCell>, EntityError> {
    let counter = find_counter(schema, entry.counter_id)?;
    modify_only(kind, "a counter")?;
    let checked = || {
        let index = index(entry.index, counter.size)?;
        let data = entry.data.as_ref().map(counter_data).transpose()?;
        Ok(data.map(|data| CounterCell { id: counter.id, index, data }))
    };
    checked().map_err(|error: EntityError| error.within(format_args!("counter '{}'", counter.name)))
}

pub(super) fn meter(
    schema: &Schema,
    kind: UpdateKind,
    entry: &v1::MeterEntry,
) -> Result<MeterCell, EntityError> {
    let meter = find_meter(schema, entry.meter_id)?;
    modify_only(kind, "a meter")?;
    let checked = || {
        let index = index(entry.index, meter.size)?;
        let config = meter_config(meter.algorithm, entry.config.as_ref())?;
        check_meter_counters(entry.counter_data.as_ref())?;
        Ok(MeterCell { id: meter.id, index, config, counters: None })
    };
    checked().map_err(|error: EntityError| error.within(format_args!("meter '{}'", meter.name)))
}

pub(super) fn register(
    schema: &Schema,
    kind: UpdateKind,
    entry: &v1::RegisterEntry,
) -> Result<RegisterCell, EntityError> {
    let register = find_register(schema, entry.register_id)?;
    modify_only(kind, "a register")?;
    let checked = || {
        let index = index(entry.index, register.size)?;
        let data = entry.data.as_ref().ok_or_else(|| EntityError::invalid("the data is unset"))?;
        Ok(RegisterCell { id: register.id, index, data: data::data(&register.data, data)? })
    };
    checked()
        .map_err(|error: EntityError| error.within(format_args!("register '{}'", register.name)))
}

/// Converts the counts of a counter from a message. Refuses negative ones.
pub(super) fn counter_data(data: &v1::CounterData) -> Result<CounterData, EntityError> {
    match (u64::try_from(data.packet_count), u64::try_from(data.byte_count)) {
        (Ok(packets), Ok(bytes)) => Ok(CounterData { packets, bytes }),
        _ => Err(EntityError::invalid("a count is negative")),
    }
}

pub(super) fn counter_data_message(data: CounterData) -> v1::CounterData {
    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    v1::CounterData { byte_count: count(data.bytes), packet_count: count(data.packets) }
}

/// Converts a meter configuration. Refuses one that is invalid for the meter's type.
pub(super) fn meter_config(
    algorithm: MeterAlgorithm,
    config: Option<&v1::MeterConfig>,
) -> Result<Option<MeterConfig>, EntityError> {
    let Some(config) = config else {
        return Ok(None);
    };
    let v1::MeterConfig { cir, cburst, pir, pburst, eburst } = *config;
    let [Ok(committed_rate), Ok(committed_burst), Ok(peak_rate), Ok(peak_burst), Ok(excess_burst)] =
        [cir, cburst, pir, pburst, eburst].map(u64::try_from)
    else {
        return Err(EntityError::invalid(
            "a rate or burst size of the meter configuration is negative",
        ));
    };
    let one_rate = pir == cir && pburst == cburst;
    match algorithm {
        MeterAlgorithm::TwoRateThreeColor if eburst != 0 => Err(EntityError::invalid(
            "eburst is set, but the meter is a two-rate three-color marker",
        )),
        MeterAlgorithm::SingleRateThreeColor | MeterAlgorithm::SingleRateTwoColor if !one_rate => {
            Err(EntityError::invalid(
                "pir and pburst differ from cir and cburst, but the meter has one rate",
            ))
        }
        MeterAlgorithm::SingleRateTwoColor if eburst != 0 => {
            Err(EntityError::invalid("eburst is set, but the meter has two colors"))
        }
        _ => Ok(Some(MeterConfig {
            committed_rate,
            committed_burst,
            peak_rate,
            peak_burst,
            excess_burst,
        })),
    }
}

pub(super) fn meter_config_message(config: MeterConfig) -> v1::MeterConfig {
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    v1::MeterConfig {
        cir: number(config.committed_rate),
        cburst: number(config.committed_burst),
        pir: number(config.peak_rate),
        pburst: number(config.peak_burst),
        eburst: number(config.excess_burst),
    }
}

/// Refuses meter counters that are not zero: a controller can reset them but not set them.
pub(super) fn check_meter_counters(
    counters: Option<&v1::MeterCounterData>,
) -> Result<(), EntityError> {
    let Some(counters) = counters else {
        return Ok(());
    };
    let zero = v1::CounterData::default();
    let colors = [counters.green, counters.yellow, counters.red];
    if colors.into_iter().flatten().any(|color| color != zero) {
        return Err(EntityError::invalid("the counters of a meter can only be set to 0"));
    }
    Ok(())
}

pub(super) fn meter_counters_message(counters: MeterCounters) -> v1::MeterCounterData {
    let color = |color| Some(counter_data_message(color));
    v1::MeterCounterData {
        green: color(counters.green),
        yellow: color(counters.yellow),
        red: color(counters.red),
    }
}

pub(super) fn index(
    index: Option<v1::Index>,
    size: Option<u64>,
) -> Result<Option<u64>, EntityError> {
    let Some(v1::Index { index }) = index else {
        return Ok(None);
    };
    let checked = u64::try_from(index)
        .map_err(|_| EntityError::invalid(format!("the index {index} is negative")))?;
    if let Some(size) = size
        && checked >= size
    {
        return Err(EntityError::out_of_range(format!(
            "the index {index} is not below the size {size}"
        )));
    }
    Ok(Some(checked))
}

pub(super) fn index_message(index: Option<u64>) -> Option<v1::Index> {
    index.map(|index| v1::Index { index: i64::try_from(index).unwrap_or(i64::MAX) })
}

pub(super) fn find_counter(schema: &Schema, id: u32) -> Result<&Counter, EntityError> {
    let id = CounterId(id);
    schema
        .counters()
        .get(id)
        .ok_or_else(|| EntityError::invalid(format!("P4Info has no counter {id}")))
}

pub(super) fn find_meter(schema: &Schema, id: u32) -> Result<&Meter, EntityError> {
    let id = MeterId(id);
    schema.meters().get(id).ok_or_else(|| EntityError::invalid(format!("P4Info has no meter {id}")))
}

pub(super) fn find_register(schema: &Schema, id: u32) -> Result<&Register, EntityError> {
    let id = RegisterId(id);
    schema
        .registers()
        .get(id)
        .ok_or_else(|| EntityError::invalid(format!("P4Info has no register {id}")))
}
