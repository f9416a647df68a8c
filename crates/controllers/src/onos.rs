//! A stand-in for ONOS 2.5: a P4Runtime controller that learns of its switches over ONOS's REST
//! interface, as the probe's `controller.onos-rest` tells them.
//!
//! It answers as ONOS 2.5.6 was seen to answer, where that matters to whoever measures it:
//!
//! * It takes any netcfg. A device comes of one whose driver and pipeconf it has, and of another
//!   none, without a word.
//! * It dials a device that is new at once, and one that it knows again only after a while.
//! * It keeps devices and netcfg until they are deleted, and the pipeconf of a device for good: one
//!   that comes back, deleted or not, is given the pipeconf of its first time.
//! * Netcfg that is deleted before its device damages the stand-in: it answers 404 to `/devices`
//!   afterwards, and dials no new device.
//! * A packet-in takes the time that it took ONOS 2.5.0 in the P4RCProbe paper
//!   ([`ServiceTime::ONOS`]), in the order in which packet-ins came, and none is dropped.
//!
//! A switch is served as [`crate::p4runtime`] serves it with reactive forwarding. Every pipeconf is
//! the pipeline of [`crate::pipeline`] under another name. The stand-in reports no hosts and no
//! links, and has no OpenFlow.

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

/// Bytes of a request, at most: a netcfg has some hundred for each port of each switch.
const LONGEST: usize = 64 << 20;
/// The interval at which the stand-in checks whether it must stop.
const LOOK: Duration = Duration::from_millis(50);
/// The shortest pause after which ONOS was seen to dial a device again that it knew; the longest
/// was 50 s.
const REDIAL: Duration = Duration::from_secs(12);

/// A stand-in for ONOS.
#[derive(Debug)]
pub struct Onos {
    server: Server,
    store: Arc<Mutex<Store>>,
    counters: Arc<Counters>,
}

impl Onos {
    /// Returns options with which a controller behaves as ONOS does: reactive forwarding, the service
    /// time of the paper, and a pause before a known switch is dialled again.
    pub fn options() -> Options {
        Options {
            application: Application::ReactiveForwarding,
            service_time: ServiceTime::ONOS,
            redial: REDIAL,
            ..Options::default()
        }
    }

    /// Listens for the REST interface on an address; with port 0 the system chooses one.
    ///
    /// # Errors
    ///
    /// When the address cannot be listened on.
    pub fn bind(address: SocketAddr, options: Options) -> io::Result<Self> {
        let fleet = Fleet::new(options);
        Ok(Self {
            server: Server::bind(address, LONGEST)?,
            counters: fleet.counters(),
            store: Arc::new(Mutex::new(Store::new(fleet))),
        })
    }

    /// The address of the REST interface.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The figures, also while it runs.
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }

    /// Answers requests and serves switches until `stop` is true.
    ///
    /// # Errors
    ///
    /// When the system refuses a runtime. Nothing that a client or a switch does is an error here.
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

/// A pipeline that cannot be made is a defect of the build, which a device without one shows.
type Served = Result<(), PipelineError>;
