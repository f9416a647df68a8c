//! A P4Runtime switch of the emulated network. It runs the P4 program that the controller pushes.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use entities::{EntityError, Nanos};
use ir::Program;
use openflow_switch::Left;
use p4lang::device_config::from_device_config;
use p4runtime::gnmi::{Port, PortSource, Watchers};
use p4runtime::proto::v1;
use p4runtime::server::{DeviceHandle, PacketIn, PacketInMetadata, now as wall_clock};
use p4runtime::session::{Device as Session, Pipeline, PipelineRegistry, Rehearsal};
use pipeline::{InterpreterTarget, Output};

use crate::config::{Config, DeviceAddress};
use crate::engine::p4runtime::{device_options, ports};
use crate::rfc8456::edge::p4runtime_events::{EventKind, Events};
use crate::rfc8456::emulator::Device;
use crate::rfc8456::invalid;

/// `PSA_PORT_CPU`, the port through which every PSA program exchanges packets with the controller.
const PSA_PORT_CPU: u32 = 0xffff_fffd;

/// A cache of the last compiled device configuration. Most switches of a network receive the same
/// one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Programs(Arc<Mutex<Option<Compiled>>>);

/// A device configuration and the result of its compilation.
type Compiled = (Vec<u8>, Result<Program, EntityError>);

impl Programs {
    fn compile(&self, device_config: &[u8]) -> Result<Program, EntityError> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((known, program)) if known == device_config => program.clone(),
            _ => {
                let program = from_device_config(device_config);
                *last = Some((device_config.to_vec(), program.clone()));
                program
            }
        }
    }
}

/// The parameters that the P4Runtime switches of a trial share.
pub(crate) struct Kind<'a> {
    pub(crate) config: &'a Config,
    pub(crate) registry: Arc<PipelineRegistry>,
    pub(crate) programs: Programs,
    /// The environment in which each pipeline that a controller pushes is tried before the switch
    /// loads it, if there is one.
    pub(crate) rehearsal: Option<Arc<dyn Rehearsal>>,
    /// The pipeline that switches have before a controller pushes one, if one is configured.
    pub(crate) preloaded: Option<v1::ForwardingPipelineConfig>,
    /// Whether every packet is sent to the controller without running a program.
    pub(crate) bypass: bool,
}

/// Tries a new pipeline before a switch loads it. If the pipeline is refused, also adds an event to
/// the queue.
struct Reported {
    inner: Arc<dyn Rehearsal>,
    index: u32,
    events: Arc<Events>,
}

impl fmt::Debug for Reported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reported").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl Rehearsal for Reported {
    fn rehearse(&self, config: &v1::ForwardingPipelineConfig) -> Result<(), EntityError> {
        let outcome = self.inner.rehearse(config);
        if let Err(error) = &outcome {
            self.events.tell(self.index, EventKind::Refused(error.message().to_owned()));
        }
        outcome
    }
}

/// An emulated P4Runtime switch.
pub(crate) struct P4RuntimeDevice {
    handle: DeviceHandle,
    ports: Arc<LinkedPorts>,
    /// The data plane, or `None` if every packet is sent to the controller without running a
    /// program.
    plane: Option<Plane>,
    cpu_port: u32,
    /// The pipeline that the switch runs. It defines the metadata of packet-ins and packet-outs.
    running: Option<Arc<Pipeline>>,
    has_primary: bool,
    is_ready: bool,
}

/// The data plane of a switch: the program that it runs and its tables.
struct Plane {
    ports: pipeline::Ports,
    worker: pipeline::Worker,
    started: Nanos,
    outputs: Vec<Output>,
}

impl P4RuntimeDevice {
    /// Creates the switch with a given index. Everything that controllers do to the switch is added
    /// to `events`.
    ///
    /// # Errors
    ///
    /// Returns an error if the switch cannot run the pipeline that is configured for the start.
    pub(crate) fn new(
        kind: &Kind<'_>,
        index: u32,
        address: &DeviceAddress,
        events: &Arc<Events>,
    ) -> Result<Self, EntityError> {
        let (options, registry) = (device_options(kind.config), kind.registry.clone());
        let started = wall_clock();
        let (mut session, plane) = match kind.bypass {
            true => (Session::new(address.device_id, options, registry), None),
            false => {
                let (programs, reporter) = (kind.programs.clone(), events.clone());
                let compile = move |device_config: &[u8]| {
                    let program = programs.compile(device_config);
                    if let Err(error) = &program {
                        reporter.tell(index, EventKind::Refused(error.message().to_owned()));
                    }
                    program
                };
                let target = InterpreterTarget::new(Box::new(compile)).starting_at(started);
                let ports = target.ports();
                let worker = ports.worker();
                let plane = Plane { ports, worker, started, outputs: Vec::new() };
                let session = Session::over(Box::new(target), address.device_id, options, registry);
                (session, Some(plane))
            }
        };
        if let (Some(inner), Some(_)) = (kind.rehearsal.clone(), &plane) {
            session.set_rehearsal(Arc::new(Reported { inner, index, events: events.clone() }));
        }
        if let Some(config) = &kind.preloaded {
            session.preload(config.clone())?;
        }
        let running = session.pipeline().cloned();
        let handle = DeviceHandle::new(session, events.observer(index));
        let known = ports(address.number, kind.config.switches.ports);
        let ports =
            Arc::new(LinkedPorts { ports: Mutex::new(known), watchers: Watchers::default() });
        handle.set_port_source(ports.clone());
        Ok(Self {
            handle,
            ports,
            plane,
            cpu_port: kind.config.p4runtime.cpu_port,
            running,
            has_primary: false,
            is_ready: false,
        })
    }

    /// Returns the handle through which a P4Runtime server serves the switch.
    pub(crate) fn handle(&self) -> DeviceHandle {
        self.handle.clone()
    }

    /// Records whether the switch has a primary controller. Returns whether the switch is ready
    /// now, or `None` if this did not change.
    pub(crate) fn set_primary(&mut self, has_primary: bool) -> Option<bool> {
        self.has_primary = has_primary;
        self.settle()
    }

    /// Records that the switch runs a new pipeline. Returns whether the switch is ready now, or
    /// `None` if this did not change.
    pub(crate) fn set_pipeline(&mut self, pipeline: Arc<Pipeline>) -> Option<bool> {
        self.running = Some(pipeline);
        self.settle()
    }

    fn settle(&mut self) -> Option<bool> {
        let is_ready = self.has_primary && self.running.is_some();
        (std::mem::replace(&mut self.is_ready, is_ready) != is_ready).then_some(is_ready)
    }

    /// Processes a packet-out of the controller. Appends the packets that leave the switch to
    /// `left`.
    pub(crate) fn packet_out(&mut self, packet: v1::PacketOut, left: &mut Vec<Left>) {
        let Some(layout) = self.running.as_ref().and_then(|pipeline| pipeline.packet_out()) else {
            return;
        };
        let Some(plane) = &self.plane else {
            let port = layout.read_egress_port(&packet.metadata);
            let port = port.and_then(|port| u16::try_from(port).ok());
            left.extend(port.map(|port| Left { port, frame: packet.payload.to_vec() }));
            return;
        };
        let translations = plane.ports.translations();
        let framed = layout.header(&packet.metadata, translations.as_deref());
        // A packet-out with a string that has lost its number since it was checked is ignored.
        let Some(mut framed) = framed else { return };
        framed.extend_from_slice(&packet.payload);
        self.process(self.cpu_port, &framed, left);
    }

    /// Runs the program on a packet, and appends the packets that leave the switch to `left`.
    /// Returns whether a packet was sent to a controller.
    fn process(&mut self, port: u32, packet: &[u8], left: &mut Vec<Left>) -> bool {
        let Some(plane) = &mut self.plane else { return false };
        let since = wall_clock().0.saturating_sub(plane.started.0);
        plane.outputs.clear();
        // A packet that the program cannot process to completion is dropped, as a real switch would
        // do.
        let _ = plane.worker.process(port, packet, Duration::from_nanos(since), &mut plane.outputs);
        let outputs = std::mem::take(&mut plane.outputs);
        let mut went_to_controller = false;
        for Output { port, packet, .. } in outputs {
            if port == self.cpu_port || port == PSA_PORT_CPU {
                went_to_controller |= self.packet_in(packet.into());
            } else if let Ok(port) = u16::try_from(port) {
                left.push(Left { port, frame: packet });
            }
        }
        went_to_controller
    }

    /// Sends a packet to the controllers that the program has sent to the CPU port. Returns whether
    /// any controller received it.
    fn packet_in(&self, packet: Bytes) -> bool {
        let Some(pipeline) = &self.running else { return false };
        let (metadata, payload) = match pipeline.packet_in() {
            Some(layout) => {
                let plane = self.plane.as_ref();
                let translations = plane.and_then(|plane| plane.ports.translations());
                match layout.split(packet, translations.as_deref()) {
                    Ok(parts) => parts,
                    Err(_) => return false,
                }
            }
            None => (Vec::new(), packet),
        };
        self.tell(payload, PacketInMetadata::Fields(metadata))
    }

    fn tell(&self, payload: Bytes, metadata: PacketInMetadata) -> bool {
        let sent = self.handle.send_now([PacketIn { payload, metadata, tag: 0 }]);
        sent.is_ok_and(|count| count > 0)
    }
}

impl Device for P4RuntimeDevice {
    fn arrive(&mut self, port: u16, frame: &[u8], _: u64, left: &mut Vec<Left>) -> bool {
        match self.plane {
            Some(_) => self.process(port.into(), frame, left),
            None => {
                let metadata = PacketInMetadata::IngressPort(port.into());
                self.tell(Bytes::copy_from_slice(frame), metadata)
            }
        }
    }

    fn set_link(&mut self, port: u16, is_up: bool, _: u64) -> bool {
        if let Some(plane) = &self.plane {
            plane.ports.set_port_up(port.into(), is_up);
        }
        self.ports.set_link(port.into(), is_up)
    }

    fn entries(&self) -> usize {
        let Some(plane) = &self.plane else { return 0 };
        let entries = plane.ports.table_usage().iter().map(|table| table.entries).sum::<u64>();
        usize::try_from(entries).unwrap_or(usize::MAX)
    }

    fn send_invalid(&mut self, number: u64, _: u64) -> bool {
        self.handle.send_unchecked(invalid::p4runtime(number))
    }
}

/// The ports of a switch as gNMI reports them to controllers. A port is up as long as its link is
/// up.
#[derive(Debug)]
struct LinkedPorts {
    ports: Mutex<Vec<Port>>,
    watchers: Watchers,
}

impl LinkedPorts {
    /// Sets whether the link of a port is up. Returns whether any subscriber was notified of a
    /// change.
    fn set_link(&self, number: u32, is_up: bool) -> bool {
        let mut ports = self.lock();
        let Some(port) = ports.iter_mut().find(|port| port.number == number) else { return false };
        let before = port.clone();
        port.up = is_up;
        before != *port && self.watchers.notify(Some(&before), Some(port), wall_clock()) > 0
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Port>> {
        self.ports.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PortSource for LinkedPorts {
    fn ports(&self) -> Vec<Port> {
        self.lock().clone()
    }

    fn watchers(&self) -> &Watchers {
        &self.watchers
    }
}
