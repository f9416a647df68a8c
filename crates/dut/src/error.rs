//! The error of a measurement.

use std::net::SocketAddr;
use std::time::Duration;

use controllers::openflow::SwitchConnectionError;
use p4runtime::arbitration::ElectionId;
use p4runtime::client::ArbitrationFailure;

use crate::entries::MakerError;

/// The reason why a switch could not be measured.
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
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        cause: std::io::Error,
    },
    /// No OpenFlow switch opened a session, or its connection ended.
    #[error("the OpenFlow switch cannot be measured: {0}")]
    Switch(#[from] SwitchConnectionError),
    /// The switch answered a request with bytes that are not the answer.
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
        /// The device that was asked for.
        device_id: u64,
        /// The answer of the server.
        cause: String,
    },
    /// Another controller is the primary of the device. A measurement would disturb it.
    #[error(
        "another controller is primary of device {device_id}{}; stop it before the switch is measured",
        shown(*.highest)
    )]
    Controlled {
        /// The device at the server.
        device_id: u64,
        /// The election id of the other controller.
        highest: Option<ElectionId>,
    },
    /// The switch did not make this client its primary controller.
    #[error("the switch does not make this controller its primary: {0}")]
    Arbitration(#[from] ArbitrationFailure),
    /// The switch runs no pipeline whose tables could be measured.
    #[error(
        "device {device_id} runs no pipeline ({cause}); push one, for example with the controller that it is used with"
    )]
    NoPipeline {
        /// The device at the server.
        device_id: u64,
        /// The answer of the switch.
        cause: String,
    },
    /// The P4Info of the switch is invalid.
    #[error("the P4Info of the switch cannot be used: {0}")]
    Schema(String),
    /// No entries can be made for the table that is to be measured.
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
        /// The time that was waited for the answer.
        patience: Duration,
    },
    /// The switch runs another program than the one from which packets were made.
    #[error("the switch runs another program than that of --program: its P4Info has other tables")]
    OtherProgram,
    /// There is no rule to measure with: the switch already has entries with the keys of all rules,
    /// or too few entries or ports are left for the test.
    #[error(
        "nothing is left to measure with: the table has entries with the keys of all packets, or takes too few; empty it, or name another --table"
    )]
    NoRules,
    /// Packets show no entry of the file of the user.
    #[error(
        "packets show none of the entries of {file}, so their effects cannot be measured ({why}); leave effects out of --plan"
    )]
    NotShown {
        /// The name of the file.
        file: String,
        /// The reason for the first entry.
        why: String,
    },
    /// The file of the user has fewer entries than a test needs.
    #[error("{file} has {count} entries of the table, but {test} needs {least} or more")]
    TooFew {
        /// The name of the file.
        file: String,
        /// The number of its entries that can be used.
        count: usize,
        /// The test.
        test: &'static str,
        /// The least number that it needs.
        least: usize,
    },
    /// Packets enter by a port that is not connected to this machine, or whose interface does not
    /// take them.
    #[error("no packet can be sent into port {port} of the switch; name its interface with --port")]
    NoWire {
        /// The number of the port.
        port: u32,
    },
    /// The switch has entries that the commit of a pipeline would delete.
    #[error(
        "the switch has {count} entries, members or groups that the commit of a pipeline deletes; delete them before, or leave pipeline out of --plan"
    )]
    WouldLose {
        /// The number of entities.
        count: usize,
    },
    /// The switch has other entries than before the measurement.
    #[error("the switch has {count} entries more or fewer than before packets were measured")]
    NotRestored {
        /// The number of entries that were added or removed.
        count: usize,
    },
    /// A meter has another configuration than before the measurement.
    #[error("the configuration of meter {name} could not be put back")]
    MeterNotRestored {
        /// The name or number of the meter.
        name: String,
    },
    /// The switch has other groups or members than before the measurement.
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
