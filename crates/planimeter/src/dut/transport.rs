//! The part of the report about TCP between this program and the switch.

use std::time::Duration;

use ::dut::Evidence;
use report::page::{Cell, Table};
use report::value::Value;
use statistics::Unit;

/// The words that say how the evidence was gathered and what it tells.
pub(super) const TEXT: &str = "Whether the switch or the network was the limit is judged from the connection, at which the kernel is asked every 2 ms. \
     The limit is the switch if its address is one of this host, or if bytes wait for its receive window and round trips are short; it is the network if bytes wait that \
     this window accepts, if lost segments are sent again, if the shortest round trip is half of the answer or more, or if the smoothed one is \
     and more than two segments are in flight.";

/// The requests of one kind.
pub(super) struct Row {
    /// The name of the work.
    pub(super) work: String,
    pub(super) seen: Evidence,
    /// The mean time from a request to its answer; `None` if it is not known.
    pub(super) answer: Option<Duration>,
}

/// Returns a table of the evidence; `None` without any.
pub(super) fn table(rows: impl IntoIterator<Item = Row>) -> Option<Table> {
    let columns = [
        "requests",
        "ends",
        "looks",
        "window closed",
        "in the network",
        "in flight",
        "segments",
        "sent again",
        "out of order",
        "shortest round trip",
        "smoothed",
        "answer",
    ];
    let mut table = Table::of_values("Connection to the switch", columns);
    let count = |count: u64| Cell::from(Value::new(count as f64, Unit::Count));
    let share = |share: f64| Cell::from(Value::new(share, Unit::Fraction));
    let time = |time: Option<Duration>| {
        Cell::optional(time.map(|time| Value::new(time.as_secs_f64(), Unit::Seconds)))
    };
    for Row { work, seen, answer } in rows {
        table.row([
            Cell::text(work),
            Cell::text(if seen.is_local { "one host" } else { "two hosts" }),
            count(seen.looks),
            share(seen.window_closed_share()),
            share(seen.in_network_share()),
            share(seen.in_flight_share()),
            count(seen.segments_sent),
            count(seen.retransmitted),
            count(seen.out_of_order),
            time(seen.round_trip),
            time(Some(seen.smoothed_round_trip())),
            time(answer),
        ]);
    }
    (!table.is_empty()).then(|| table.only_in_page())
}
