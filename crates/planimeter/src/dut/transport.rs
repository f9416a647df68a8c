//! The part of the report about the TCP connection between this program and the switch.

use std::time::Duration;

use ::dut::Evidence;
use report::page::{Cell, Table};
use report::value::Value;
use statistics::Unit;

/// The text that explains how the evidence was gathered and what follows from it.
pub(super) const TEXT: &str = "Whether the switch or the network was the limit is judged from the connection, whose state the kernel reports every 2 ms. \
     The limit is the switch if its address is one of this host, or if bytes wait for its receive window and round trips are short; it is the network if bytes wait that \
     this window accepts, if lost segments are sent again, if the shortest round trip is half of the answer or more, if the smoothed one is \
     and more than two segments are in flight, or if these are nearly always in flight and the smoothed round trip is ten times the shortest and a tenth of the answer.";

/// The words for reads, whose answers are larger than their requests.
pub(super) const TEXT_OF_READS: &str = "The answers to reads are larger than the requests, and only the kernel of the switch sees what keeps them back on their way: \
     the receive window and the segments in flight that this host sees are those of requests, so they are left out here, and where answers waited was not measured. \
     The limit is Planimeter if it did not read answers in half of the looks at the connection, the switch if its address is one of this host, and the network if 1 % \
     of the segments arrived before an earlier one; otherwise it is one of the two.";

/// The TCP evidence about one kind of request.
pub(super) struct Row {
    /// A name for what the requests do, such as inserts.
    pub(super) work: String,
    pub(super) seen: Evidence,
    /// The mean time from a request to its answer, or `None` if it is not known.
    pub(super) answer: Option<Duration>,
    pub(super) sees: Sees,
}

/// The direction of the larger transfers, which determines what this host can observe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sees {
    /// Requests are larger than answers, so this host sees what delays their transfer.
    Bulk,
    /// Answers are larger than requests. This host sees only their arrival.
    Arrivals,
}

/// Returns a table of the evidence, or `None` if there is none.
pub(super) fn table(rows: impl IntoIterator<Item = Row>) -> Option<Table> {
    let columns = [
        "requests",
        "switch at",
        "looks",
        "not read here",
        "window closed",
        "in the network",
        "in flight",
        "segments sent",
        "sent again",
        "arrived",
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
    for Row { work, seen, answer, sees } in rows {
        let of_requests = |cell: Cell| match sees {
            Sees::Bulk => cell,
            Sees::Arrivals => Cell::optional(None),
        };
        // An address that is not one of this host's may still belong to it: that of a container.
        let address = if seen.is_local { "an address of this host" } else { "another address" };
        table.row([
            Cell::text(work),
            Cell::text(address),
            count(seen.looks),
            share(seen.unread_share()),
            of_requests(share(seen.window_closed_share())),
            of_requests(share(seen.in_network_share())),
            of_requests(share(seen.in_flight_share())),
            of_requests(count(seen.segments_sent)),
            of_requests(count(seen.retransmitted)),
            count(seen.segments_arrived),
            count(seen.out_of_order),
            time(seen.round_trip),
            time(Some(seen.smoothed_round_trip())),
            time(answer),
        ]);
    }
    (!table.is_empty()).then(|| table.only_in_page())
}
