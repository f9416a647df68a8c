//! A stand-in for ONOS 2.5 in tests and measurements. It is a P4Runtime controller that learns
//! which switches exist from requests at its REST interface, as ONOS does. The probe makes these
//! requests with its setting `controller.onos-rest`.
//!
//! It reproduces the observed behaviour of ONOS 2.5.6 as far as it affects measurements (netcfg is
//! ONOS's network configuration, and a pipeconf is its configuration for one pipeline):
//! * It accepts any netcfg. It creates a device if it has the driver and the pipeconf that the
//!   netcfg names, and otherwise ignores the netcfg silently.
//! * It connects to a new device immediately, and to a known one only after a while.
//! * It keeps devices and netcfg until they are deleted. It remembers the first pipeconf of a
//!   device forever: a device that returns, even after it was deleted, gets that pipeconf again.
//! * If a netcfg is deleted before its device, the stand-in is damaged, as ONOS is: it answers 404
//!   to `/devices` afterwards, and connects to no new device.
//! * A packet-in takes as long as ONOS 2.5.0 took in the P4RCProbe paper ([`ServiceTime::ONOS`]).
//!   Packet-ins are served in the order of arrival, and none is dropped.
//!
//! The stand-in controls a switch as [`crate::p4runtime`] does with reactive forwarding. Every
//! pipeconf is the pipeline of [`crate::pipeline`] under another name. The stand-in reports no
//! hosts and no links, and does not support OpenFlow.

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
/// The pause before the stand-in connects again to a known device. It is the shortest pause that
/// was observed with ONOS; the longest was 50 s.
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
    /// service time of the P4RCProbe paper, and a pause before it connects again to a known switch.
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

/// The result of starting to serve a device. It is an error if the device's pipeline could not be
/// created because of a defect of the build. The device is then not served.
type Served = Result<(), PipelineError>;
