//! A substitute for ONOS 2.5 in tests and measurements: a P4Runtime controller that learns of its
//! switches through ONOS's REST interface, from the requests that the probe makes with its setting
//! `controller.onos-rest`.
//!
//! It reproduces those parts of the observed behaviour of ONOS 2.5.6 that affect measurements:
//!
//! * It accepts any netcfg. It creates a device if it has the driver and the pipeconf, and ignores
//!   any other netcfg silently.
//! * It dials a new device immediately, and a known one only after a while.
//! * It keeps devices and netcfg until they are deleted, and the pipeconf of a device forever: a
//!   device that returns, deleted or not, gets the pipeconf of its first time.
//! * Netcfg that is deleted before its device damages the stand-in: it answers 404 to `/devices`
//!   afterwards, and dials no new device.
//! * A packet-in takes the time that it took ONOS 2.5.0 in the P4RCProbe paper
//!   ([`ServiceTime::ONOS`]). Packet-ins are served in the order of arrival, and none is dropped.
//!
//! A switch is served as in [`crate::p4runtime`] with reactive forwarding. Every pipeconf is the
//! pipeline of [`crate::pipeline`] under another name. The stand-in reports no hosts and no links,
//! and has no OpenFlow.

mod rest;
mod store;
#[cfg(test)]
mod tests;

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::Counters;
use crate::application::Application;
use crate::http::Server;
use crate::p4runtime::{Fleet, Options, ServiceTime};
use crate::pipeline::PipelineError;
use store::Store;

/// The size in bytes of the largest accepted request body. A netcfg takes some hundred bytes for
/// each port of each switch.
const LONGEST: usize = 64 << 20;
/// The interval at which the stand-in checks whether it must stop.
const LOOK: Duration = Duration::from_millis(50);
/// The pause before a known device is dialled again: the shortest one that was observed with ONOS.
/// The longest was 50 s.
const REDIAL: Duration = Duration::from_secs(12);

/// A stand-in for the controller ONOS, for tests and measurements.
#[derive(Debug)]
pub struct Onos {
    server: Server,
    store: Arc<Mutex<Store>>,
    counters: Arc<Counters>,
}

impl Onos {
    /// Returns the options with which a controller behaves like ONOS: reactive forwarding, the
    /// service time of the P4RCProbe paper, and a pause before a known switch is dialled again.
    pub fn options() -> Options {
        Options {
            application: Application::ReactiveForwarding,
            queue: ServiceTime::ONOS.queue(),
            redial: REDIAL,
            ..Options::default()
        }
    }

    /// Binds the listener of the REST interface to an address. With port 0, the system chooses a
    /// port.
    ///
    /// # Errors
    ///
    /// Returns an error if the system refuses to listen on the address.
    pub fn bind(address: SocketAddr, options: Options) -> io::Result<Self> {
        let fleet = Fleet::new(options);
        Ok(Self {
            server: Server::bind(address, LONGEST)?,
            counters: fleet.counters(),
            store: Arc::new(Mutex::new(Store::new(fleet))),
        })
    }

    /// Returns the address of the REST interface.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Returns the counters of the stand-in, which can be read while it runs.
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }

    /// Answers requests and serves switches until `stop` is true.
    ///
    /// # Errors
    ///
    /// Returns an error if the system refuses a runtime. Faults of clients and switches are not
    /// reported as errors.
    pub fn run(&self, stop: &AtomicBool) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let store = Arc::clone(&self.store);
            let accepting = self.server.accept(move |request| rest::answer(&request, &store));
            let waiting = async {
                while !stop.load(Ordering::Relaxed) {
                    tokio::time::sleep(LOOK).await;
                }
            };
            tokio::select! {
                failed = accepting => failed.map(|never| match never {}),
                () = waiting => Ok(()),
            }
        })
    }
}

/// The result of beginning to serve a device. An error means that the device's pipeline could not
/// be created because of a defect of the build. The device is then not served.
type Served = Result<(), PipelineError>;
