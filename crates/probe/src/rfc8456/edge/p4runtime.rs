//! The edge of a trial over P4Runtime: a server for each switch, and the loop that runs the
//! network.
//!
//! Controllers connect to the switches. A switch that is ordered to connect begins to listen. When
//! a switch is switched off, it stops listening and its connections end. The servers and the loop
//! share a thread, so that a message that the loop creates is written immediately.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use grpc::timer::Timer;
use p4runtime::server::{Limits, Server, ServerOptions, ServerTls};
use tokio::task::JoinHandle;

use super::p4runtime_device::P4RuntimeDevice;
use super::p4runtime_events::{Event, EventKind, Events};
use super::{Announce, EdgeContext};
use crate::config::DeviceAddress;
use crate::engine::p4runtime::listen;
use crate::rfc8456::bench::{Bench, Measured};
use crate::rfc8456::seen::{Order, What};
use crate::traffic::RunKey;
use crate::trial::TrialError;

/// The edge of a trial over P4Runtime.
pub(crate) struct P4RuntimeEdge<'a> {
    bench: Bench<P4RuntimeDevice>,
    context: EdgeContext<'a>,
    key: RunKey,
    tls: Option<ServerTls>,
    events: Arc<Events>,
    /// The address of each switch.
    addresses: Vec<DeviceAddress>,
    /// The task that serves each switch, or `None` while the switch does not listen.
    serving: Vec<Option<JoinHandle<()>>>,
}

impl<'a> P4RuntimeEdge<'a> {
    /// Creates the edge. Each switch listens at the address in `addresses` with the same index.
    /// Everything that controllers do to the switches is added to the queue `events`.
    pub(crate) fn new(
        bench: Bench<P4RuntimeDevice>,
        context: EdgeContext<'a>,
        key: RunKey,
        tls: Option<ServerTls>,
        events: Arc<Events>,
        addresses: Vec<DeviceAddress>,
    ) -> Self {
        let serving = addresses.iter().map(|_| None).collect();
        Self { bench, context, key, tls, events, addresses, serving }
    }

    /// Runs the trial to its end. The switches are announced to the controller as soon as they
    /// listen.
    pub(crate) fn run(self, announce: Option<Announce<'_>>) -> Result<Measured, TrialError> {
        let failed = |error: io::Error| TrialError::Engine(error.to_string());
        // Dropping the runtime ends the servers and their connections.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(failed)?.block_on(self.drive(announce))
    }

    async fn drive(mut self, mut announce: Option<Announce<'_>>) -> Result<Measured, TrialError> {
        let failed = |error: io::Error| TrialError::Engine(error.to_string());
        let timer = Timer::new().map_err(failed)?;
        loop {
            for order in self.context.turn(&mut self.bench) {
                self.carry_out(order);
            }
            if let Some(announce) = announce.take() {
                announce()?;
            }
            if let Some(measured) = self.bench.measured() {
                return Ok(measured.clone());
            }
            if self.context.is_interrupted() {
                return Ok(Measured::failed("interrupted"));
            }
            match self.context.sleep(&self.bench) {
                0 => tokio::task::yield_now().await,
                sleep => tokio::select! {
                    () = self.events.happened() => {}
                    slept = timer.sleep(sleep) => slept.map_err(failed)?,
                },
            }
            for event in self.events.take() {
                self.happened(event);
            }
        }
    }

    fn carry_out(&mut self, order: Order) {
        match order {
            Order::Connect { switch } | Order::Power { switch, is_on: true } => self.serve(switch),
            Order::Power { switch, is_on: false } => {
                if let Some(serving) = self.serving.get_mut(switch as usize).and_then(Option::take)
                {
                    serving.abort();
                }
            }
            _ => {}
        }
    }

    /// Starts the server of a switch, which listens for controllers.
    fn serve(&mut self, switch: u32) {
        let index = switch as usize;
        let (Some(device), Some(address), Some(serving)) = (
            self.bench.emulator.devices.get(index),
            self.addresses.get(index),
            self.serving.get_mut(index),
        ) else {
            return;
        };
        let options = ServerOptions {
            tls: self.tls.clone(),
            grace: Duration::ZERO,
            // The server's limits must not restrict a controller under measurement.
            limits: Limits::WIDE,
            ..ServerOptions::default()
        };
        let begun =
            listen(address.listen).map_err(|error| error.to_string()).and_then(|listener| {
                let listener = tokio::net::TcpListener::from_std(listener);
                let listener = listener.map_err(|error| error.to_string())?;
                let server = Server::new([device.handle()], options);
                Ok((server.map_err(|error| error.to_string())?, listener))
            });
        match begun {
            Ok((server, listener)) => {
                *serving = Some(tokio::spawn(server.serve(listener, std::future::pending())));
            }
            Err(reason) => {
                let what = What::Lost { switch, controller: 0, was_ready: false, reason };
                self.bench.emulator.note(self.context.clock.now(), what);
            }
        }
    }

    fn happened(&mut self, Event { at, switch, kind }: Event) {
        let emulator = &mut self.bench.emulator;
        let Some(device) = emulator.devices.get_mut(switch as usize) else { return };
        let changed = match kind {
            EventKind::Primary(has_primary) => device.set_primary(has_primary),
            EventKind::Pipeline(pipeline) => device.set_pipeline(pipeline),
            EventKind::Refused(reason) => {
                let what = What::Lost { switch, controller: 0, was_ready: false, reason };
                return emulator.note(at, what);
            }
            EventKind::Rules { installed, removed, refused } => {
                return emulator.note(at, What::Rules { installed, removed, refused });
            }
            EventKind::PacketOuts(packets) => {
                for packet in packets {
                    let what = What::of_packet_out(switch, &packet.payload, self.key);
                    let mut left = Vec::new();
                    if let Some(device) = emulator.devices.get_mut(switch as usize) {
                        device.packet_out(packet, &mut left);
                    }
                    if let Some(what) = what {
                        emulator.note(at, what);
                    }
                    emulator.left(switch, left, at);
                }
                return;
            }
        };
        match changed {
            Some(true) => emulator.note(at, What::Ready { switch, controller: 0 }),
            Some(false) => {
                let reason = "no controller is primary any more".to_owned();
                emulator.note(at, What::Lost { switch, controller: 0, was_ready: true, reason });
            }
            None => {}
        }
    }
}
