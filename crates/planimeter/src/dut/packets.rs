//! The parts of the report about packets that pass through the switch while its control channel is
//! busy.

use std::time::Duration;

use ::dut::background::{Cost, Forwarded};
use report::page::{Cell, Table};
use report::value::Value;
use statistics::Unit;

/// The text that explains how the packets were sent and what the figures mean.
pub(super) const TEXT: &str = "Packets of flows whose entries do not change pass through the switch, at a rate that it forwards while its \
     control channel is idle. A packet is lost if it does not leave by the port of its flow within 0.1 s. The delay is at most that from before a \
     packet was sent until it was seen.";

/// Returns a table of the packets that the switch forwarded while its control channel was idle, and
/// while it was busy with each kind of work. Returns `None` if no packets were sent.
pub(super) fn table<'a>(
    caption: &str,
    costs: impl Iterator<Item = (&'a str, Cost)>,
) -> Option<Table> {
    let columns = ["during", "packets", "sent", "lost", "delay, p50", "p99"];
    let mut table = Table::of_values(caption, columns);
    let mut idle: Option<Forwarded> = None;
    for (work, cost) in costs {
        // Loads that were measured together share the packets that passed while the control channel
        // was idle.
        if idle.as_ref() != Some(&cost.idle) {
            table.row(row(&format!("nothing, before {work}"), cost.rate, &cost.idle));
        }
        table.row(row(work, cost.rate, &cost.busy));
        idle = Some(cost.idle);
    }
    (!table.is_empty()).then_some(table)
}

fn row(name: &str, rate: f64, packets: &Forwarded) -> [Cell; 6] {
    let count = |count: u64| Cell::from(Value::new(count as f64, Unit::Count));
    let time = |time: Option<Duration>| {
        Cell::optional(time.map(|time| Value::new(time.as_secs_f64(), Unit::Seconds)))
    };
    [
        Cell::text(name),
        Value::new(rate, Unit::PerSecond).into(),
        count(packets.sent),
        count(packets.lost),
        time(packets.delay(0.5)),
        time(packets.delay(0.99)),
    ]
}

/// Returns a finding if more packets were lost during some work of the control channel than chance
/// explains.
pub(super) fn finding(work: &str, cost: &Cost) -> Option<String> {
    cost.has_excess().then(|| {
        let Cost { idle, busy, .. } = cost;
        format!(
            "{work}: {} of {} packets were lost meanwhile, and {} of {} while the control channel was idle.",
            busy.lost, busy.sent, idle.lost, idle.sent
        )
    })
}
