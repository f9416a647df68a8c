//! Reads of direct counters from servers that return too few of them, or none.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dut::reads::{self, CounterReads};
use dut::{Device, Plan, Target, Watch, measure};
use made_server::{Faults, Proxy};
use p4runtime::proto::v1::{self, entity::Entity as Kind};
use tonic::Status;

const PROGRAM: &str = include_str!("kinds.p4");

struct Silent;

impl Watch for Silent {
    fn step(&mut self, _: &'static str, _: u64, _: u64) {}
}

fn is_counter(entity: &v1::Entity) -> bool {
    matches!(entity.entity, Some(Kind::DirectCounterEntry(_)))
}

/// A switch that leaves out the last counter of an answer.
struct Forgetful;

impl Faults for Forgetful {
    fn entities(&self, answer: Result<Vec<v1::Entity>, Status>) -> Result<Vec<v1::Entity>, Status> {
        let mut entities = answer?;
        if entities.last().is_some_and(is_counter) {
            entities.pop();
        }
        Ok(entities)
    }
}

/// A switch that returns no counters.
struct Refusing;

impl Faults for Refusing {
    fn entities(&self, answer: Result<Vec<v1::Entity>, Status>) -> Result<Vec<v1::Entity>, Status> {
        match answer? {
            counters if counters.iter().any(is_counter) => {
                Err(Status::unimplemented("no counters"))
            }
            others => Ok(others),
        }
    }
}

/// Measures reads of 50 entries with counters.
fn measured(faults: Arc<dyn Faults>) -> reads::Measured {
    let address = Proxy::start(&made_server::serve(PROGRAM), faults);
    let target = Target::P4Runtime {
        device: Device { address, device_id: made_server::DEVICE_ID, tls: None },
        table: Some("prefixes".to_owned()),
        entries: None,
        traffic: None,
        slow_path: None,
        digests: None,
    };
    let time = Duration::from_millis(20);
    let reads = Some(reads::Settings { entries: 50, rounds: 2, time });
    let plan = Plan { entries: 100, reads, ..Plan::default() };
    let found = measure(&target, &plan, &AtomicBool::new(false), &mut Silent);
    let found = found.expect("it can be measured");
    assert_eq!(found.failures, [""; 0]);
    let reads = found.reads.expect("it was measured");
    assert_eq!((reads.expected, reads.wrong), (50, 0));
    reads
}

#[test]
fn missing_counters_are_counted_in_every_read() {
    let CounterReads { rates, wrong, reads, refusal } =
        measured(Arc::new(Forgetful)).counters.expect("the table has counters");
    assert_eq!((wrong, refusal), (reads, None));
    assert!(reads >= 2 && rates.len() == 2, "{reads}, {rates:?}");
}

#[test]
fn a_switch_that_returns_no_counters_is_quoted() {
    let counters = measured(Arc::new(Refusing)).counters.expect("the table has counters");
    let refusal = counters.refusal.expect("it was refused");
    assert!(refusal.contains("no counters"), "{refusal}");
    assert!(counters.rates.is_empty());
}
