//! Tests of reading, writing and resuming campaigns, and of the checks on descriptions.
use std::collections::BTreeMap;
use std::fs;

use super::*;
use crate::campaign::{
    Cell, Clock, ClockSource, Device, Dimension, Function, FunctionName, Machine, Origin,
    Picoseconds,
};
use crate::campaign::{SCHEMA, Setting};

fn description() -> Description {
    let function = |name: &str, dimension| Function {
        name: FunctionName::new(name),
        dimension,
        description: None,
        consists_of: Vec::new(),
    };
    let setting = Setting { packet_bytes: 64, rules: 1, conditions: BTreeMap::new() };
    let cell = |functions: &[&str]| Cell {
        functions: functions.iter().map(|name| FunctionName::new(*name)).collect(),
        setting: setting.clone(),
    };
    Description {
        schema: SCHEMA.to_owned(),
        created: "2026-11-22T09:00:00Z".to_owned(),
        origin: Origin::Measured,
        device: Device {
            name: "one".to_owned(),
            driver: "manual".to_owned(),
            details: BTreeMap::new(),
        },
        baseline: vec![function("port", Dimension::Match), function("output", Dimension::Action)],
        functions: vec![
            function("tp-dst", Dimension::Match),
            function("set-tp-src", Dimension::Action),
        ],
        cells: vec![
            cell(&[]),
            cell(&["tp-dst"]),
            cell(&["set-tp-src"]),
            cell(&["tp-dst", "set-tp-src"]),
        ],
        line_rate: Some(100_000_000),
        clock: Clock { source: ClockSource::Hardware, tick: Picoseconds(12_500), reference: None },
        seed: 7,
        host: BTreeMap::new(),
    }
}

fn plan(cell: u32) -> BlockPlan {
    BlockPlan {
        cell: CellId(cell),
        repetition: 0,
        started_ns: 5,
        duration_ns: 1000,
        packets_per_second: Some(1e3),
        counts: Counts { sent: 3, received: 2, lost: 1, ..Counts::default() },
        machine: Some(Machine { slower: 0.25, again: 2, ..Machine::default() }),
    }
}

fn samples(delays: &[i64]) -> Vec<Sample> {
    (0..).zip(delays).map(|(packet, delay)| Sample { packet, delay: Picoseconds(*delay) }).collect()
}

#[test]
fn a_written_campaign_reads_back() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(directory.path(), &description()).unwrap();
    writer.block(&plan(0), &samples(&[1, -2, i64::MAX]), &[]).unwrap();
    writer.rate(&RateTrial { cell: CellId(1), bits_per_second: 50, sent: 10, lost: 0 }).unwrap();
    writer.rate(&RateTrial { cell: CellId(1), bits_per_second: 60, sent: 10, lost: 1 }).unwrap();
    // A loss-free rate above the first loss does not count.
    writer.rate(&RateTrial { cell: CellId(1), bits_per_second: 70, sent: 10, lost: 0 }).unwrap();
    writer.block(&plan(3), &samples(&[4]), &[]).unwrap();
    writer.block(&plan(0), &samples(&[5]), &[]).unwrap();
    writer.note(&Note { at_ns: 9, text: "a step".to_owned() }).unwrap();
    let campaign = Campaign::read(directory.path()).unwrap();
    assert_eq!(campaign.description, description());
    assert_eq!(campaign.delays(CellId(0)), [1, -2, i64::MAX, 5].map(Picoseconds));
    assert_eq!(campaign.delays(CellId(3)), [Picoseconds(4)]);
    assert_eq!(campaign.counts(CellId(0)).lost, 2);
    assert_eq!(campaign.loss_free_rate(CellId(1)), Some(50));
    assert_eq!(campaign.loss_free_rate(CellId(2)), None);
    assert_eq!(campaign.notes.len(), 1);
}

#[test]
fn control_windows_are_kept_beside_the_delays() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(directory.path(), &description()).unwrap();
    let control = |took, interrupted, packet_interrupted| Control {
        took: Picoseconds(took),
        interrupted,
        packet_interrupted,
    };
    let controls =
        [control(180, false, false), control(-1, true, false), control(i64::MAX, false, true)];
    writer.block(&plan(0), &samples(&[1, 2]), &controls).unwrap();
    writer.block(&plan(1), &samples(&[3]), &[]).unwrap();
    drop(writer);
    let (mut writer, campaign) = Writer::resume(directory.path()).unwrap().unwrap();
    assert_eq!(campaign.blocks[0].controls, controls);
    assert_eq!(campaign.blocks[0].samples, samples(&[1, 2]));
    writer.block(&plan(2), &samples(&[4]), &controls[..2]).unwrap();
    let campaign = Campaign::read(directory.path()).unwrap();
    assert_eq!(campaign.delays(CellId(1)), [Picoseconds(3)]);
    assert_eq!(campaign.blocks[2].controls, controls[..2]);
}

#[test]
fn an_interruption_costs_the_block_that_it_hit() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(directory.path(), &description()).unwrap();
    writer.block(&plan(0), &samples(&[1, 2]), &[]).unwrap();
    writer.block(&plan(1), &samples(&[3]), &[]).unwrap();
    drop(writer);
    // Simulates a process that was killed while it wrote the second line, with more delays in the
    // other file.
    let journal = directory.path().join(JOURNAL);
    let text = fs::read(&journal).unwrap();
    fs::write(&journal, &text[..text.len() - 10]).unwrap();
    let (mut writer, campaign) = Writer::resume(directory.path()).unwrap().unwrap();
    assert_eq!(campaign.blocks.len(), 1);
    writer.block(&plan(2), &samples(&[7, 8]), &[]).unwrap();
    drop(writer);
    let campaign = Campaign::read(directory.path()).unwrap();
    assert_eq!(campaign.delays(CellId(0)), [1, 2].map(Picoseconds));
    assert_eq!(campaign.delays(CellId(1)), []);
    assert_eq!(campaign.delays(CellId(2)), [7, 8].map(Picoseconds));
}

#[test]
fn changed_delays_are_found() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(directory.path(), &description()).unwrap();
    writer.block(&plan(0), &samples(&[1, 2]), &[]).unwrap();
    let delays = directory.path().join(DELAYS);
    let mut bytes = fs::read(&delays).unwrap();
    bytes[5] ^= 1;
    fs::write(&delays, &bytes).unwrap();
    assert!(Campaign::read(directory.path()).unwrap_err().to_string().contains("another checksum"));
    fs::write(&delays, &bytes[..13]).unwrap();
    assert!(Campaign::read(directory.path()).unwrap_err().to_string().contains("is incomplete"));
}

#[test]
fn files_without_an_end_are_refused() {
    for name in [JOURNAL, DESCRIPTION] {
        let directory = tempfile::tempdir().unwrap();
        drop(Writer::create(directory.path(), &description()).unwrap());
        let path = directory.path().join(name);
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        let error = Campaign::read(directory.path()).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("longer than"), "{error}");
    }
}

#[test]
fn descriptions_that_contradict_themselves_are_refused() {
    let with = |change: fn(&mut Description)| {
        let mut description = description();
        change(&mut description);
        description.check().unwrap_err()
    };
    let again = with(|d| d.functions.push(d.baseline[0].clone()));
    assert!(matches!(again, DescriptionError::TwoFunctions { .. }));
    let unknown = with(|d| d.cells[1].functions = vec![FunctionName::new("tp-src")]);
    assert_eq!(
        unknown.to_string(),
        "cell 1 names function 'tp-src', which is not among the functions"
    );
    assert!(matches!(
        with(|d| d.cells[1].setting.rules = 2),
        DescriptionError::NoBaseline { cell: 1 }
    ));
    // The order of execution does not distinguish cells.
    let copy = with(|d| {
        let mut cell = d.cells[3].clone();
        cell.functions.reverse();
        d.cells.push(cell);
    });
    assert_eq!(copy, DescriptionError::TwoCells { cell: 4 });
}

#[test]
fn an_existing_campaign_is_not_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    Writer::create(directory.path(), &description()).unwrap();
    assert!(matches!(
        Writer::create(directory.path(), &description()),
        Err(WriteError::Exists { .. })
    ));
    let mut writer = Writer::resume(directory.path()).unwrap().unwrap().0;
    assert!(writer.block(&plan(4), &[], &[]).is_err());
}

#[test]
fn an_error_names_what_is_there_instead_of_a_campaign() {
    let folder = tempfile::tempdir().unwrap();
    let read = |path: &Path| Campaign::read(path).unwrap_err().to_string();
    let message = read(folder.path());
    assert!(message.contains("has no campaign (campaign.json)"), "{message}");
    assert!(message.ends_with("`device import` left"), "{message}");
    let file = folder.path().join("result.json");
    fs::write(&file, "{}").unwrap();
    assert!(read(folder.path()).contains("has a result, and no campaign"));
    assert!(read(&file).contains("is a file"));
    assert!(read(&folder.path().join("nowhere")).contains("does not exist"));
}
