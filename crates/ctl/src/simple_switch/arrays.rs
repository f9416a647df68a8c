//! The commands of simple_switch_CLI about counters, meters and registers. In a direct counter or
//! meter, the index is the number of a table entry.

use super::tables::numbered;
use crate::arrays::{Place, counter, meter};
use crate::error::CommandError;
use crate::operands::{Operands, small};
use crate::session::{Session, Sink};
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::{
    CounterData, DirectCounterEntry, DirectMeterEntry, MeterConfig, update::Type,
};

/// Returns the counter whose name is the first operand.
fn named_counter<'s>(schema: &'s Schema, words: &Operands) -> Result<Place<'s>, CommandError> {
    let name = words.peek().ok_or_else(|| words.problem("the name of a counter is missing"))?;
    counter(schema, name)
}

fn named_meter<'s>(schema: &'s Schema, words: &Operands) -> Result<Place<'s>, CommandError> {
    let name = words.peek().ok_or_else(|| words.problem("the name of a meter is missing"))?;
    meter(schema, name)
}

/// Returns an error if there is no index, which BMv2 requires.
fn check_index(words: &Operands) -> Result<(), CommandError> {
    match words.len() {
        0 | 1 => Err(words.problem("an index is missing")),
        _ => Ok(()),
    }
}

/// Runs the command `counter_read`, which shows a cell of a counter.
pub(crate) fn read_counter(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    check_index(&words)?;
    match named_counter(&schema, &words)? {
        Place::Array { .. } => crate::arrays::read_counter(session, words, sink),
        Place::Table(table) => {
            words.next("the name of a counter")?;
            let table_entry = Some(numbered(session, table, &mut words)?);
            words.end()?;
            let request = DirectCounterEntry { table_entry, data: None };
            session.list(vec![request.into()], sink)
        }
    }
}

/// Runs the command `counter_write`, which sets a cell of a counter.
pub(crate) fn write_counter(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    if words.len() != 4 {
        return Err(words.problem("four words are needed"));
    }
    let (bytes, packets) = (words.last("a number of bytes")?, words.last("a number of packets")?);
    let number =
        |text: &str| small(text).ok_or_else(|| words.problem(format!("'{text}' is not a number")));
    let data = CounterData { packet_count: number(&packets)?, byte_count: number(&bytes)? };
    match named_counter(&schema, &words)? {
        Place::Array { .. } => crate::arrays::put_counter(session, &mut words, data),
        Place::Table(table) => {
            words.next("the name of a counter")?;
            let table_entry = Some(numbered(session, table, &mut words)?);
            session.write(Type::Modify, DirectCounterEntry { table_entry, data: Some(data) })
        }
    }
}

/// Parses the rates of a meter from words `RATE:BURST`. As in BMv2, the rates are per microsecond.
fn rates(words: &Operands, texts: &[String]) -> Result<MeterConfig, CommandError> {
    let pair = |text: &String| {
        let (rate, burst) = text.split_once(':')?;
        Some((per_second(rate)?, small::<i64>(burst)?))
    };
    let wrong = |text: &String| {
        words.problem(format!(
            "'{text}' is not RATE:BURST with a rate per microsecond that is a whole number per second"
        ))
    };
    let pairs = texts.iter().map(|text| pair(text).ok_or_else(|| wrong(text)));
    match pairs.collect::<Result<Vec<_>, _>>()?.as_slice() {
        [(cir, cburst)] => {
            Ok(MeterConfig { cir: *cir, cburst: *cburst, pir: *cir, pburst: *cburst, eburst: 0 })
        }
        [(cir, cburst), (pir, pburst)] => {
            Ok(MeterConfig { cir: *cir, cburst: *cburst, pir: *pir, pburst: *pburst, eburst: 0 })
        }
        _ => Err(words.problem("one or two pairs RATE:BURST are needed")),
    }
}

/// Converts a decimal rate per microsecond to a whole rate per second. Returns `None` if the result
/// is not a whole number.
pub(super) fn per_second(text: &str) -> Option<i64> {
    /// A second has a million microseconds.
    const DIGITS: usize = 6;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction = fraction.trim_end_matches('0');
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() && fraction.is_empty() || !are_digits(whole) || !are_digits(fraction) {
        return None;
    }
    (fraction.len() <= DIGITS).then(|| format!("{whole}{fraction:0<DIGITS$}").parse().ok())?
}

/// Runs the command `meter_set_rates`, which sets the rates of one cell of a meter.
pub(crate) fn set_rates(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    check_index(&words)?;
    let place = named_meter(&schema, &words)?;
    let name = words.next("the name of a meter")?;
    let index = words.next("an index")?;
    let texts = words.rest();
    let config = rates(&words, &texts)?;
    let mut words = words.fresh([name, index]);
    match place {
        Place::Array { .. } => crate::arrays::put_meter(session, &mut words, Some(config)),
        Place::Table(table) => {
            words.next("the name of a meter")?;
            let table_entry = Some(numbered(session, table, &mut words)?);
            let config = Some(config);
            let meter = DirectMeterEntry { table_entry, config, ..DirectMeterEntry::default() };
            session.write(Type::Modify, meter)
        }
    }
}

/// Runs the command `meter_array_set_rates`, which sets the same rates for all cells of a meter.
pub(crate) fn set_array_rates(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let name = words.next("the name of a meter")?;
    let texts = words.rest();
    let config = rates(&words, &texts)?;
    crate::arrays::put_meter(session, &mut words.fresh([name]), Some(config))
}

/// Runs the command `meter_get_rates`, which shows the rates of one cell of a meter.
pub(crate) fn get_rates(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    check_index(&words)?;
    match named_meter(&schema, &words)? {
        Place::Array { .. } => crate::arrays::read_meter(session, words, sink),
        Place::Table(table) => {
            words.next("the name of a meter")?;
            let table_entry = Some(numbered(session, table, &mut words)?);
            words.end()?;
            let request = DirectMeterEntry { table_entry, ..DirectMeterEntry::default() };
            session.list(vec![request.into()], sink)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::per_second;

    #[test]
    fn rates_per_microsecond_are_exact() {
        for (text, rate) in [
            ("0.000001", Some(1)),
            ("0.05", Some(50_000)),
            ("1", Some(1_000_000)),
            ("12.5", Some(12_500_000)),
            (".5", Some(500_000)),
            ("0", Some(0)),
            ("0.0000001", None),
            ("-1", None),
            ("1e3", None),
            ("", None),
            (".", None),
            ("99999999999999", None),
        ] {
            assert_eq!(per_second(text), rate, "{text}");
        }
    }
}
