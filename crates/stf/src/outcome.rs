//! The options with which a script is run, and its results.

use std::collections::BTreeMap;
use std::time::Duration;

use queues::QueueCounts;
use traces::{Contents, Trace};

use super::Failure;

/// The options with which a script is run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whether the script fails if a packet is sent through a port that the script does not
    /// mention. p4c's runner ignores such packets.
    pub every_port: bool,
    /// Whether a statement that the switch refuses ends the script. Otherwise the refusal only
    /// causes a note, because p4c's runner passes such statements to BMv2's command line, which
    /// reports an error and continues.
    ///
    /// If this is set, packets must also leave in the order in which the causing packets arrived.
    /// Otherwise a packet that is recirculated may leave after later ones, as it may on BMv2.
    pub strict: bool,
    /// Whether a PSA program follows the specification where BMv2's psa_switch deviates from it
    /// ([`pipeline::Switch::follow_psa_switch`]).
    pub specification: bool,
    /// The number of priority queues of each port in v1model
    /// ([`pipeline::Core::set_priority_queues`]). Zero means one queue.
    pub priority_queues: u32,
    /// The contents of the packet traces in [`Report::trace`], or `None` if packets are not traced.
    pub trace: Option<Contents>,
    /// Whether the packets of consecutive `packet` statements arrive at the same time, as a burst.
    /// A run with bursts records neither traces nor coverage.
    pub together: bool,
    /// Whether the packets of sources are stored in [`Report::sent`], [`Report::entered`] and
    /// [`Report::left`]. Otherwise they are only counted, so that a long run takes no more memory
    /// than a short one.
    pub keeps_sources: bool,
    /// Whether [`Report::crossings`] is recorded.
    pub keeps_crossings: bool,
}

/// The results of running a script.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The differences from what the script expects. Those that were found while the script ran
    /// come first, and those of the packets follow, port by port. The script passed if there are
    /// none.
    pub failures: Vec<Failure>,
    /// Remarks that are not failures, such as operations that the switch refused. Each has the line
    /// of the statement that it concerns.
    pub notes: Vec<(usize, String)>,
    /// The values that statements such as `counter_read` have read, each with the line of its
    /// statement. For a network, they also include a description of each packet's path.
    pub values: Vec<(usize, String)>,
    /// The trace of each packet, with the line of the `packet` statement.
    pub trace: Vec<(usize, Trace)>,
    /// The packets of the script, each with its arrival time, port and bytes.
    pub received: Vec<(Duration, u32, Vec<u8>)>,
    /// The packets that the switch sent, each with its departure time, port and bytes.
    pub sent: Vec<(Duration, u32, Vec<u8>)>,
    /// For each packet in `sent`, the line of the `packet` statement that caused it.
    pub causes: Vec<usize>,
    /// For each element of `trace`, the name of the switch in the network that processed the
    /// packet. Empty if the script ran on a single switch.
    pub passed: Vec<String>,
    /// The names of ports by their numbers. In a network, these are the outside ports. In a script
    /// for one switch, these are the ports for which the script uses strings.
    pub port_names: BTreeMap<u32, String>,
    /// The packets that each switch of a network received, from outside or through a link. Each has
    /// its arrival time, port and bytes.
    pub entered: Vec<(Duration, End, Vec<u8>)>,
    /// The packets that each switch of a network sent, to the outside or through a link. Each has
    /// its departure time, port and bytes.
    pub left: Vec<(Duration, End, Vec<u8>)>,
    /// The number of packets that sources have sent into a network.
    pub from_sources: u64,
    /// A hash of the packets that switches sent because of the packets of sources, with their times
    /// and ports. If the hashes of two runs of a script differ, the runs sent different packets.
    pub source_hash: u64,
    /// The packets that have left a network, in the order of their departure. Empty unless
    /// [`Options::keeps_crossings`] is set.
    pub crossings: Vec<Crossing>,
    /// The counters of the queues of a network, ordered by switch, port and queue.
    pub queues: Vec<QueueRecord>,
}

impl Report {
    /// Returns the name of a port for messages: the name in `port_names`, or else a text such as
    /// `port 3`.
    #[must_use]
    pub fn port(&self, number: u32) -> String {
        self.port_names.get(&number).cloned().unwrap_or_else(|| format!("port {number}"))
    }

    /// Describes a failure as text, with names instead of numbers for ports. The text ends with a
    /// newline.
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
    /// The line of the `packet`, `source` or `sender` statement that sent the packet.
    pub line: usize,
    /// The port at which the packet entered the network.
    pub from: u32,
    /// The port at which the packet left the network.
    pub to: u32,
    /// The time at which the packet entered.
    pub entered: Duration,
    /// The time at which the packet's last bit had left.
    pub left: Duration,
    /// The length in bytes of the packet that left.
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

/// The counters of one queue at the end of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueRecord {
    /// The port to which the queue belongs.
    pub end: End,
    /// The name of the switch to which the port belongs.
    pub switch: String,
    /// The number of the queue at its port.
    pub queue: u8,
    /// The counters.
    pub counts: QueueCounts,
}
