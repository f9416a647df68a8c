//! The rate at which Planimeter itself can write entries over P4Runtime, without the limits of a
//! switch.
//!
//!     cargo bench -p dut --bench ceiling
//!
//! The server acknowledges each Write request without reading it, on a thread of its own. What the
//! measurement of updates reports against it is therefore the rate of Planimeter, or of the
//! connection between the two threads. The benchmark only reports; no figure makes it fail.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dut::updates::{Load, OtherTables, Settings};
use dut::{Device, Plan, Target, Watch, measure};
use made_server::{DEVICE_ID, Proxy, serve};
use statistics::Estimate;

const PROGRAM: &str = include_str!("../../../programs/router.p4");
/// The table with routes.
const TABLE: &str = "routes";
const ENTRIES: u64 = 1 << 20;
const ROUNDS: u32 = 5;

struct Silent;

impl Watch for Silent {
    fn step(&mut self, _: &'static str, _: u64, _: u64) {}
}

fn main() {
    let address = Proxy::acknowledging(&serve(PROGRAM));
    let target = Target::P4Runtime {
        device: Device { address, device_id: DEVICE_ID, tls: None },
        table: Some(TABLE.to_owned()),
        traffic: None,
        slow_path: None,
        digests: None,
        entries: None,
    };
    let loads = vec![Load::new(1, 1), Load::new(1, 64), Load::new(100, 4), Load::new(1000, 4)];
    let plan = Plan {
        entries: ENTRIES,
        updates: Some(Settings {
            base: loads[2],
            loads,
            tables: OtherTables::None,
            rounds: ROUNDS,
            time: Duration::from_secs(1),
            seed: 1,
        }),
        ..Plan::default()
    };
    let found = match measure(&target, &plan, &AtomicBool::new(false), &mut Silent) {
        Ok(found) => found,
        Err(error) => {
            eprintln!("not measured: {error}");
            return;
        }
    };
    println!("{ROUNDS} rounds; means with their 95 % confidence intervals\n");
    println!("| operation | updates per request | requests waiting | updates/s | limit |");
    println!("| --- | --- | --- | --- | --- |");
    for one in &found.updates {
        let rates = one.rates();
        let Some(rate) = Estimate::of(&rates) else { continue };
        println!(
            "| {:?} | {} | {} | {:.0} | {:?} |",
            one.operation,
            one.load.batch,
            one.load.window,
            rate,
            one.limit()
        );
    }
    for failure in &found.failures {
        println!("{failure}");
    }
}
