//! The options with which a script is run, and its results.

use std::collections::BTreeMap;
use std::time::Duration;

use queues::QueueCounts;
use traces::{Contents, Trace};

use super::Failure;

/// The options with which a script is run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whether a packet that is sent through a port that the script does not mention is a failure.
    /// p4c's runner ignores such packets.
    pub every_port: bool,
    /// Whether a statement that the switch refuses ends the script. Otherwise the refusal is a
    /// note, because p4c's runner leaves such statements to BMv2's command line, which reports an
    /// error and continues.
    ///
    /// If this is set, packets must also leave in the order in which they were sent. Otherwise a
    /// packet that is recirculated may leave after later ones, as it may on BMv2.
    pub strict: bool,
    /// Whether a PSA program runs by the specification where psa_switch deviates from it
    /// ([`pipeline::Switch::follow_psa_switch`]).
    pub specification: bool,
    /// The number of queues of each port in v1model ([`pipeline::Core::set_priority_queues`]). Zero
    /// means one queue.
    pub priority_queues: u32,
    /// The contents of the traces of packets in [`Report::trace`]. `None` if packets are not
    /// traced.
    pub trace: Option<Contents>,
    /// Whether packets of consecutive statements arrive at the same time, as a burst. Such a run
    /// records neither events nor coverage.
    pub together: bool,
    /// Whether the packets of sources are stored in [`Report::sent`], [`Report::entered`] and
    /// [`Report::left`]. Otherwise they are only counted, so that a long run takes no more memory
    /// than a short one.
    pub keeps_sources: bool,
    /// Whether [`Report::crossings`] is recorded.
    pub keeps_crossings: bool,
}

/// The results of a script that was run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The differences from what the script expects: first those found while it ran, and then those
    /// of the packets, port by port. The script passed if there are none.
    pub failures: Vec<Failure>,
    /// Remarks that are not failures, such as operations that the switch refused. Each has the line
    /// that it concerns.
    pub notes: Vec<(usize, String)>,
    /// The values that statements such as `counter_read` have read, each with the line of its
    /// statement. In a network they also include the path of each packet.
    pub values: Vec<(usize, String)>,
    /// The trace of each packet, with the line of the packet.
    pub trace: Vec<(usize, Trace)>,
    /// The packets of the script that the switch received, each with its time, port and bytes.
    pub received: Vec<(Duration, u32, Vec<u8>)>,
    /// The packets that the switch sent, each with its time, port and bytes.
    pub sent: Vec<(Duration, u32, Vec<u8>)>,
    /// The line of the script's packet that caused each packet in `sent`.
    pub causes: Vec<usize>,
    /// The name of the network's switch to which each element of `trace` belongs. Empty if the
    /// script ran on a single switch.
    pub passed: Vec<String>,
    /// The names of a network's ports to the outside, by the number that scripts use, or those of
    /// the ports that a script for one switch names by strings.
    pub port_names: BTreeMap<u32, String>,
    /// The packets that each switch of a network received, from outside or through a link. Each has
    /// its time, port and bytes.
    pub entered: Vec<(Duration, End, Vec<u8>)>,
    /// The packets that each switch of a network sent, to the outside or into a link. Each has its
    /// time, port and bytes.
    pub left: Vec<(Duration, End, Vec<u8>)>,
    /// The number of packets that sources have sent into a network.
    pub from_sources: u64,
    /// A hash of what switches sent for the packets of sources, with times and ports. Two runs of
    /// one script have the same hash if they sent the same.
    pub source_hash: u64,
    /// The packets that have left a network, in the order in which they left, if
    /// [`Options::keeps_crossings`] is set.
    pub crossings: Vec<Crossing>,
    /// The counters of the queues of a network, in the order of switches, ports and queues.
    pub queues: Vec<QueueRecord>,
}

impl Report {
    /// Returns the name of a port for messages: `port 3`, or the name that a network has for it.
    #[must_use]
    pub fn port(&self, number: u32) -> String {
        self.port_names.get(&number).cloned().unwrap_or_else(|| format!("port {number}"))
    }

    /// Describes a failure with the names of its ports. The text ends with a newline.
    #[must_use]
    pub fn describe(&self, failure: &Failure) -> String {
        struct Named<'r>(&'r Report, &'r Failure);
        impl std::fmt::Display for Named<'_> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.1.write(f, &|port| self.0.port(port))
            }
        }
        Named(self, failure).to_string()
    }
}

/// A packet that has crossed a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The line of its `packet` or `source`.
    pub line: usize,
    /// The port at which it entered.
    pub from: u32,
    /// The port by which it left.
    pub to: u32,
    /// The time at which it entered.
    pub entered: Duration,
    /// The time at which its last bit had left.
    pub left: Duration,
    /// The number of bytes that left.
    pub length: usize,
}

/// A port of a switch in a network, to which a link can be connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    /// The index of the switch in the network.
    pub switch: usize,
    /// The port of that switch.
    pub port: u32,
}

/// The counters of a queue after a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueRecord {
    /// The port of the queue.
    pub end: End,
    /// The name of the switch.
    pub switch: String,
    /// The number of the queue.
    pub queue: u8,
    /// The counters.
    pub counts: QueueCounts,
}
