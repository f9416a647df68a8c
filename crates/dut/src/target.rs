//! The switch that is measured, with the packets for the tests that need some.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::entries::EntryFile;
use crate::error::DutError;
use crate::session::{Device, Listening, Session};
use crate::watch::Watch;
use crate::{digests, live, slow_path};

/// The switch that is measured.
#[derive(Clone, Debug)]
pub enum Target {
    /// A P4Runtime switch.
    P4Runtime {
        /// The P4Runtime device, with the address of its server.
        device: Device,
        /// The table that is measured, by its name or alias; `None` for the largest suitable one.
        table: Option<String>,
        /// The user's file of entries, which are used instead of generated ones.
        entries: Option<Arc<dyn EntryFile>>,
        /// The packets for the test of effects; `None` if the plan does not include it.
        traffic: Option<Box<live::Traffic>>,
        /// The packets for the test of the slow path; `None` if the plan does not include it.
        slow_path: Option<Box<slow_path::Traffic>>,
        /// The packets for the test of digests; `None` if the plan does not include it.
        digests: Option<Box<digests::Traffic>>,
    },
    /// An OpenFlow switch, which connects to this program.
    OpenFlow {
        /// The address at which the switch connects, and the flows that are used with it.
        listening: Listening,
        /// The ports for the packets of the tests of effects and of the slow path; `None` if the
        /// plan includes neither.
        ports: Option<live::Ports>,
    },
}

impl Target {
    /// Connects to the switch, or waits until it connects, and prepares at most `entries` entries
    /// of the table that is measured.
    ///
    /// # Errors
    /// See [`DutError`].
    pub(crate) async fn open(
        &self,
        entries: u64,
        stop: &AtomicBool,
        watch: &mut dyn Watch,
    ) -> Result<Session, DutError> {
        match self {
            Self::P4Runtime { device, table, entries: own, .. } => {
                Session::over_p4runtime(device, table.as_deref(), own.as_deref(), entries).await
            }
            Self::OpenFlow { listening, .. } => {
                Session::over_openflow(listening, entries, stop, watch)
            }
        }
    }
}
