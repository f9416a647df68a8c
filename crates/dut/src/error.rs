//! The errors that end a measurement.

use std::net::SocketAddr;
use std::time::Duration;

use controllers::openflow::SwitchConnectionError;
use p4runtime::arbitration::ElectionId;
use p4runtime::client::ArbitrationFailure;

use crate::entries::MakerError;

/// The error that prevents a switch from being measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DutError {
    /// No P4Runtime server answers at the address.
    #[error("{address}: {cause}; is it the address of a P4Runtime server?")]
    Connect {
        /// The address, as `host:port`.
        address: String,
        /// The error of the connection.
        cause: String,
    },
    /// The system refuses to listen for an OpenFlow switch.
    #[error("cannot listen on {address}: {cause}")]
    Listen {
        /// The address on which this program cannot listen.
        address: SocketAddr,
        /// The error of the system.
        cause: std::io::Error,
    },
    /// No OpenFlow switch opened a session, or the connection to the switch ended.
    #[error("the OpenFlow switch cannot be measured: {0}")]
    Switch(#[from] SwitchConnectionError),
    /// The switch sent a malformed answer to a request.
    #[error("the answer of the switch to a request for {what} is malformed: {cause}")]
    Malformed {
        /// The kind of the request.
        what: &'static str,
        /// A description of the fault in the answer.
        cause: String,
    },
    /// The server has no device with the given identifier.
    #[error("the server has no device {device_id} ({cause}); name another with --device-id")]
    NoDevice {
        /// The identifier of the missing device.
        device_id: u64,
        /// The error message of the server.
        cause: String,
    },
    /// Another controller is the primary of the device. A measurement would disturb that
    /// controller.
    #[error(
        "another controller is primary of device {device_id}{}; stop it before the switch is measured",
        shown(*.highest)
    )]
    Controlled {
        /// The identifier of the device at the server.
        device_id: u64,
        /// The election id of the other controller, if the server reported one.
        highest: Option<ElectionId>,
    },
    /// The switch did not make this client its primary controller.
    #[error("the switch does not make this controller its primary: {0}")]
    Arbitration(#[from] ArbitrationFailure),
    /// The switch runs no pipeline, so there are no tables to measure.
    #[error(
        "device {device_id} runs no pipeline ({cause}); push one, for example with the controller that it is used with"
    )]
    NoPipeline {
        /// The identifier of the device at the server.
        device_id: u64,
        /// The answer of the switch.
        cause: String,
    },
    /// The P4Info that the switch reported is invalid.
    #[error("the P4Info of the switch cannot be used: {0}")]
    Schema(String),
    /// No entries can be made for the table.
    #[error(transparent)]
    Maker(#[from] MakerError),
    /// A request failed as a whole, or the switch refused an update on which the measurement
    /// depends.
    #[error("the switch refused a {what} request: {cause}")]
    Request {
        /// The kind of the request.
        what: &'static str,
        /// The answer of the switch.
        cause: String,
    },
    /// The switch did not answer a request.
    #[error("the switch did not answer a {what} request within {} s", .patience.as_secs())]
    NoAnswer {
        /// The kind of the request.
        what: &'static str,
        /// The time for which the answer was awaited.
        patience: Duration,
    },
    /// The packets were made for another program than the one that the switch runs.
    #[error("the switch runs another program than that of --program: its P4Info has other tables")]
    OtherProgram,
    /// No rule is left to measure with. The switch already has entries with the keys of all rules,
    /// or the table has room for too few entries, or the test needs more ports.
    #[error(
        "nothing is left to measure with: the table has entries with the keys of all packets, or takes too few; empty it, or name another --table"
    )]
    NoRules,
    /// Packets cannot show the effect of any entry of the user's file.
    #[error(
        "packets show none of the entries of {file}, so their effects cannot be measured ({why}); leave effects out of --plan"
    )]
    NotShown {
        /// The name of the file.
        file: String,
        /// The reason why packets do not show the first entry.
        why: String,
    },
    /// The user's file has fewer entries than a test needs.
    #[error("{file} has {count} entries of the table, but {test} needs {least} or more")]
    TooFew {
        /// The name of the file.
        file: String,
        /// The number of entries in the file that can be used.
        count: usize,
        /// The name of the test.
        test: &'static str,
        /// The smallest number of entries that the test needs.
        least: usize,
    },
    /// The packets enter the switch by a port that is not connected to this machine, or whose
    /// interface does not accept them.
    #[error("no packet can be sent into port {port} of the switch; name its interface with --port")]
    NoWire {
        /// The number of the port.
        port: u32,
    },
    /// The commit of a pipeline would delete entries that the switch already has.
    #[error(
        "the switch has {count} entries, members or groups that the commit of a pipeline deletes; delete them before, or leave pipeline out of --plan"
    )]
    WouldLose {
        /// The number of entries, members and groups that would be deleted.
        count: usize,
    },
    /// After the measurement, the switch does not have the entries that it had before.
    #[error("the switch has {count} entries more or fewer than before packets were measured")]
    NotRestored {
        /// The number of entries that were added or removed.
        count: usize,
    },
    /// After the measurement, a meter does not have the configuration that it had before.
    #[error("the configuration of meter {name} could not be put back")]
    MeterNotRestored {
        /// The name or number of the meter.
        name: String,
    },
    /// After the measurement, the switch does not have the groups or members that it had before.
    #[error("the switch has other groups or members of groups than before they were measured")]
    GroupsNotRestored,
    /// An interface could not be opened.
    #[error(transparent)]
    Interface(#[from] packetio::OpenError),
    /// An interface went down.
    #[error(transparent)]
    Down(#[from] packetio::PortDown),
    /// The asynchronous runtime of the measurement could not be set up.
    #[error("the measurement cannot start: {0}")]
    System(#[from] std::io::Error),
}

fn shown(highest: Option<ElectionId>) -> String {
    highest.map(|id| format!(" (election id {id})")).unwrap_or_default()
}
