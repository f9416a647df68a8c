//! Tests of counters, meters and registers.

use super::*;
use crate::proto::v1::p4_data::Data;

const INVALID: Result<(), Code> = Err(Code::InvalidArgument);
const HITS: u32 = 0x1200_0001;
const BY_NAME: u32 = 0x1200_0002;
const HUGE: u32 = 0x1200_0003;
const TWO_RATE: u32 = 0x1400_0001;
const ONE_RATE: u32 = 0x1400_0002;
const TWO_COLOR: u32 = 0x1400_0003;
const WORDS: u32 = 0x1600_0001;
const FLOWS: u32 = 0x1600_0002;

fn at(index: i64) -> Option<v1::Index> {
    Some(v1::Index { index })
}

fn counter(counter_id: u32, index: Option<v1::Index>, packets: i64) -> v1::CounterEntry {
    let data = Some(v1::CounterData { byte_count: 0, packet_count: packets });
    v1::CounterEntry { counter_id, index, data }
}

fn packets(
    switch: &Switch,
    counter_id: u32,
    index: Option<v1::Index>,
) -> Result<Vec<(i64, i64)>, Code> {
    let read = switch.read(v1::CounterEntry { counter_id, index, data: None })?;
    Ok(read
        .into_iter()
        .map(|entity| match entity {
            Entity::CounterEntry(entry) => {
                (entry.index.unwrap().index, entry.data.unwrap().packet_count)
            }
            other => panic!("{other:?}"),
        })
        .collect())
}

#[test]
fn counters_are_written_and_read_by_cell_and_as_a_whole() {
    let mut switch = Switch::new();
    assert_eq!(packets(&switch, HITS, None), Ok(vec![(0, 0), (1, 0), (2, 0)]));
    assert_eq!(switch.modify(counter(HITS, at(1), 5)), Ok(()));
    assert_eq!(packets(&switch, HITS, at(1)), Ok(vec![(1, 5)]));
    assert_eq!(switch.modify(counter(HITS, None, 9)), Ok(()), "all cells");
    assert_eq!(switch.modify(counter(HITS, at(2), 1)), Ok(()));
    assert_eq!(packets(&switch, HITS, None), Ok(vec![(0, 9), (1, 9), (2, 1)]));
    let unset = v1::CounterEntry { data: None, ..counter(HITS, at(2), 0) };
    assert_eq!(switch.modify(unset), Ok(()), "unset changes nothing");
    assert_eq!(packets(&switch, HITS, at(2)), Ok(vec![(2, 1)]));
    assert_eq!(switch.insert(counter(HITS, at(1), 5)), INVALID);
    assert_eq!(switch.delete(counter(HITS, at(1), 5)), INVALID);
    assert_eq!(switch.modify(counter(77, at(1), 5)), INVALID);
    assert_eq!(switch.modify(counter(HITS, at(-1), 5)), INVALID);
    assert_eq!(switch.modify(counter(HITS, at(1), -5)), INVALID);
    assert_eq!(switch.modify(counter(HITS, at(3), 5)), Err(Code::OutOfRange));
    assert_eq!(packets(&switch, HITS, at(3)), Err(Code::OutOfRange));
    assert_eq!(packets(&switch, HITS, at(-1)), Err(Code::InvalidArgument));
    assert_eq!(packets(&switch, 77, None), Err(Code::InvalidArgument));
}

#[test]
fn counters_without_a_size_and_too_large_ones() {
    let mut switch = Switch::new();
    assert_eq!(packets(&switch, BY_NAME, None), Ok(vec![]));
    assert_eq!(switch.modify(counter(BY_NAME, at(0xffff_fffd), 5)), Ok(()));
    assert_eq!(packets(&switch, BY_NAME, None), Ok(vec![(0xffff_fffd, 5)]));
    assert_eq!(packets(&switch, BY_NAME, at(3)), Ok(vec![(3, 0)]));

    assert_eq!(switch.modify(counter(HUGE, at(1 << 61), 5)), Ok(()));
    assert_eq!(packets(&switch, HUGE, at(1 << 61)), Ok(vec![(1 << 61, 5)]));
    assert_eq!(packets(&switch, HUGE, None), Err(Code::ResourceExhausted));
    assert_eq!(packets(&switch, 0, None), Err(Code::ResourceExhausted));
}

fn meter(
    meter_id: u32,
    index: Option<v1::Index>,
    config: Option<v1::MeterConfig>,
) -> v1::MeterEntry {
    v1::MeterEntry { meter_id, index, config, counter_data: None }
}

#[test]
fn meters_are_written_and_read_by_cell_and_as_a_whole() {
    let rates = v1::MeterConfig { cir: 1, cburst: 2, pir: 3, pburst: 4, eburst: 0 };
    let config = Some(rates);
    let mut switch = Switch::new();
    let read = |switch: &Switch| switch.read(meter(TWO_RATE, None, None)).unwrap();
    let cells = |configs: [Option<v1::MeterConfig>; 2]| {
        [0, 1].map(|index| Entity::from(meter(TWO_RATE, at(index), configs[index as usize])))
    };
    assert_eq!(read(&switch), cells([None, None]));
    assert_eq!(switch.modify(meter(TWO_RATE, None, config)), Ok(()));
    assert_eq!(switch.modify(meter(TWO_RATE, at(1), None)), Ok(()), "unset resets");
    assert_eq!(read(&switch), cells([config, None]));
    assert_eq!(switch.modify(meter(TWO_RATE, at(2), config)), Err(Code::OutOfRange));
    assert_eq!(switch.insert(meter(TWO_RATE, at(1), config)), INVALID);
    assert_eq!(switch.modify(meter(77, at(1), config)), INVALID);
    let negative = Some(v1::MeterConfig { cir: -1, ..rates });
    assert_eq!(switch.modify(meter(TWO_RATE, at(1), negative)), INVALID);

    let asking =
        v1::MeterEntry { counter_data: Some(Default::default()), ..meter(TWO_RATE, at(0), None) };
    let zero = Some(v1::CounterData::default());
    let counted = v1::MeterEntry {
        counter_data: Some(v1::MeterCounterData { green: zero, yellow: zero, red: zero }),
        ..meter(TWO_RATE, at(0), config)
    };
    assert_eq!(switch.read(asking), Ok(vec![counted.into()]));
}

#[test]
fn meters_accept_only_parameters_of_their_algorithm() {
    let config =
        |pir, pburst, eburst| Some(v1::MeterConfig { cir: 1, cburst: 2, pir, pburst, eburst });
    let mut switch = Switch::new();
    for (id, two_rates, excess, plain) in [
        (TWO_RATE, Ok(()), INVALID, Ok(())),
        (ONE_RATE, INVALID, Ok(()), Ok(())),
        (TWO_COLOR, INVALID, INVALID, Ok(())),
    ] {
        assert_eq!(switch.modify(meter(id, at(0), config(3, 4, 0))), two_rates);
        assert_eq!(switch.modify(meter(id, at(0), config(1, 2, 5))), excess);
        assert_eq!(switch.modify(meter(id, at(0), config(1, 2, 0))), plain);
    }
}

fn register(register_id: u32, index: Option<v1::Index>, data: Option<Data>) -> v1::RegisterEntry {
    v1::RegisterEntry { register_id, index, data: data.map(|data| v1::P4Data { data: Some(data) }) }
}

#[test]
fn registers_accept_data_of_their_type() {
    let word = |value: &[u8]| Some(Data::Bitstring(bytes(value)));
    let mut switch = Switch::new();
    assert_eq!(switch.modify(register(WORDS, at(1), word(b"\0\x05"))), Ok(()));
    assert_eq!(switch.modify(register(WORDS, at(3), word(b"\x05"))), Err(Code::OutOfRange));
    assert_eq!(switch.modify(register(WORDS, at(1), word(b"\x01\0\0\0\0"))), Err(Code::OutOfRange));
    assert_eq!(switch.modify(register(WORDS, at(1), Some(Data::Bool(true)))), INVALID);
    assert_eq!(switch.modify(register(WORDS, at(1), None)), INVALID);
    assert_eq!(switch.insert(register(WORDS, at(1), word(b"\x05"))), INVALID);
    assert_eq!(switch.modify(register(77, at(1), word(b"\x05"))), INVALID);
    let cells = [b"\0", b"\x05", b"\0"];
    let expected =
        (0..).zip(cells).map(|(index, value)| register(WORDS, at(index), word(value)).into());
    assert_eq!(switch.read(register(WORDS, None, None)), Ok(expected.collect()));

    assert_eq!(switch.modify(register(WORDS, None, word(b"\x07"))), Ok(()));
    assert_eq!(
        switch.read(register(WORDS, at(0), None)),
        Ok(vec![register(WORDS, at(0), word(b"\x07")).into()])
    );

    let flow = |address: &[u8], port: &[u8]| {
        let member = |value: &[u8]| v1::P4Data { data: Some(Data::Bitstring(bytes(value))) };
        Some(Data::Struct(v1::P4StructLike { members: vec![member(address), member(port)] }))
    };
    let zero = register(FLOWS, at(0), flow(b"\0", b"\0"));
    assert_eq!(switch.read(register(FLOWS, at(0), None)), Ok(vec![zero.into()]));
    assert_eq!(switch.modify(register(FLOWS, at(0), flow(b"\0\x01", b"\xff\xff\xff\xfd"))), Ok(()));
    let written = register(FLOWS, at(0), flow(b"\x01", b"\xff\xff\xff\xfd"));
    assert_eq!(switch.read(register(FLOWS, at(0), None)), Ok(vec![written.into()]));
    assert_eq!(switch.read(register(0, None, None)).unwrap().len(), 5);
}
