//! Emulated OpenFlow switches for tests of controllers. `planimeter.emulated` wraps them.
//!
//! A thread receives the messages of the controller. Packets of the test enter on the thread of
//! the caller. Both lock the switch, and times are those of one clock, so that the time between a
//! packet and its answer is that which the switch saw.
//!
//! Both also write to the controller, which may stop reading. They write what the connection takes
//! within [`WRITE_TIME`]. A third thread writes the rest later, without the lock, so that neither
//! the test nor the messages of the controller wait for it.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use openflow::framing::Framer;
use openflow::wire::{Header, MessageType};
use openflow::{DatapathId, Version};
use openflow_switch::{Arriving, Fate, FlowTables, SwitchOptions};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{Fault, Kind};
use crate::packets::bytes;

/// The time between two looks for signals, or for work that depends on time.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// The time for connecting to the controller.
const PATIENCE: Duration = Duration::from_secs(5);
/// The capacity of the flow tables, in entries.
const TABLE_SIZE: u32 = 65_536;
/// The number of packets that are kept until the test takes them.
const MOST_PACKETS: usize = 65_536;
/// The time for which a write waits for a controller that does not read.
const WRITE_TIME: Duration = Duration::from_millis(1);
/// The number of bytes that wait for a controller before the session ends.
const MOST_WAITING: usize = 16 << 20;
/// The number of bytes that one write of waiting bytes has at most.
const CHUNK: usize = 1 << 16;

/// A packet that left by a port because of a packet-out: the time since the connection in seconds,
/// the port, and its bytes.
type Sent<'py> = (f64, u16, Bound<'py, PyBytes>);

/// The outcome of a packet: the time since the connection in seconds, the packet's fate, and the
/// packets that left because of it, each with its port.
type Processed<'py> = (f64, &'static str, Vec<(u32, Bound<'py, PyBytes>)>);

/// An emulated OpenFlow switch, connected to a controller.
#[pyclass(frozen, module = "planimeter._native")]
pub(crate) struct OpenFlowSwitch {
    shared: Arc<Shared>,
}

/// The switch, and the signal that it changed.
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    began: Instant,
}

struct State {
    switch: openflow_switch::OpenFlowSwitch,
    /// The connection to the controller, whose writes end after [`WRITE_TIME`].
    socket: TcpStream,
    /// The bytes that the connection has not taken yet, in the order in which they were sent.
    waiting: VecDeque<u8>,
    /// The packets that packet-outs sent, with their times, until the test takes them.
    sent: VecDeque<(Duration, openflow_switch::Left)>,
    /// The reason why the session ended, if it has.
    ended: Option<String>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Receives messages until the connection ends.
    fn serve(&self, mut socket: TcpStream) {
        let (mut framer, mut chunk) = (Framer::new(), vec![0; CHUNK]);
        let reason = loop {
            let count = match socket.read(&mut chunk) {
                Ok(0) => break "the controller closed the connection".to_owned(),
                Ok(count) => count,
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    0
                }
                Err(error) => break error.to_string(),
            };
            let mut state = self.state();
            let received = chunk.get(..count).unwrap_or_default();
            let outcome = state.receive(&mut framer, received, self);
            drop(state);
            self.changed.notify_all();
            if let Err(reason) = outcome {
                break reason;
            }
        };
        self.state().end(reason);
        self.changed.notify_all();
    }

    /// Writes the bytes that wait for the controller, until the session ends.
    fn write_waiting(&self, mut socket: TcpStream) {
        let mut chunk = Vec::with_capacity(CHUNK);
        let mut state = self.state();
        while state.ended.is_none() {
            if state.waiting.is_empty() {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            chunk.clear();
            let (front, _) = state.waiting.as_slices();
            chunk.extend_from_slice(front.get(..CHUNK).unwrap_or(front));
            drop(state);
            // Other threads write nothing meanwhile, because bytes still wait.
            let outcome = taken(socket.write(&chunk));
            state = self.state();
            match outcome {
                Ok(count) if state.ended.is_none() => drop(state.waiting.drain(..count)),
                Ok(_) => {}
                Err(error) => state.end(error.to_string()),
            }
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Waits without the GIL until `found` returns something, at most until `time` has passed.
    fn wait<T: Send>(
        &self,
        py: Python<'_>,
        time: Duration,
        found: impl Fn(&mut State) -> Option<T> + Sync,
    ) -> PyResult<Option<T>> {
        let end = Instant::now() + time;
        loop {
            let next = py.detach(|| {
                let mut state = self.state();
                if let Some(found) = found(&mut state) {
                    return Some(Ok(found));
                }
                if let Some(reason) = &state.ended {
                    return Some(Err(reason.clone()));
                }
                let left = end.saturating_duration_since(Instant::now());
                let (mut state, _) = self
                    .changed
                    .wait_timeout(state, left.min(BETWEEN_LOOKS))
                    .unwrap_or_else(PoisonError::into_inner);
                found(&mut state).map(Ok)
            });
            match next {
                Some(Ok(found)) => return Ok(Some(found)),
                Some(Err(reason)) => {
                    let what = format!("the session with the controller ended: {reason}");
                    return Err(Fault::new(Kind::Unreachable, what).into());
                }
                None if Instant::now() >= end => return Ok(None),
                None => py.check_signals()?,
            }
        }
    }
}

impl State {
    /// Receives bytes from the controller, and answers its messages.
    fn receive(
        &mut self,
        framer: &mut Framer,
        received: &[u8],
        shared: &Shared,
    ) -> Result<(), String> {
        let mut out = Vec::new();
        for frame in framer.frames(received) {
            let frame = frame.map_err(|error| error.to_string())?;
            let now = shared.now();
            self.switch.receive(frame, now, &mut out).map_err(|error| error.to_string())?;
            let is_packet_out = Header::new_checked(frame)
                .is_ok_and(|header| header.message_type() == MessageType::PACKET_OUT);
            if is_packet_out {
                self.switch.packet_out(frame, now, &mut out);
                self.keep_sent(now);
            }
        }
        self.switch.tick(shared.now(), &mut out).map_err(|error| error.to_string())?;
        self.send(&out)
    }

    /// Sends bytes to the controller, unless the session has ended. Those that the connection does
    /// not take now wait. Too many of them are an error, after which the session must end.
    fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        if self.ended.is_some() {
            return Ok(());
        }
        let mut rest = bytes;
        while self.waiting.is_empty() && !rest.is_empty() {
            match taken(self.socket.write(rest)).map_err(|error| error.to_string())? {
                0 => break,
                count => rest = rest.get(count..).unwrap_or_default(),
            }
        }
        if self.waiting.len() + rest.len() > MOST_WAITING {
            let most = MOST_WAITING >> 20;
            return Err(format!("the controller does not read: more than {most} MiB wait for it"));
        }
        self.waiting.extend(rest);
        Ok(())
    }

    /// Ends the session for a reason, unless it has ended already.
    fn end(&mut self, reason: String) {
        if self.ended.is_none() {
            self.ended = Some(reason);
            self.waiting = VecDeque::new();
            // The thread that receives then ends as well. The controller may have disconnected.
            let _ = self.socket.shutdown(Shutdown::Both);
        }
    }

    /// Keeps the packets that a packet-out sent, the newest if there are too many.
    fn keep_sent(&mut self, now: u64) {
        let at = Duration::from_nanos(now);
        self.sent.extend(self.switch.take_left().into_iter().map(|left| (at, left)));
        let excess = self.sent.len().saturating_sub(MOST_PACKETS);
        drop(self.sent.drain(..excess));
    }
}

#[pymethods]
impl OpenFlowSwitch {
    /// Connects a switch to a controller.
    #[new]
    fn new(
        py: Python<'_>,
        controller: &str,
        version: &str,
        datapath_id: u64,
        ports: u16,
    ) -> PyResult<Self> {
        let version = match version {
            "1.0" => Version::V1_0,
            "1.3" => Version::V1_3,
            _ => {
                let what = format!("'{version}' is no version of OpenFlow that switches speak");
                let fault = Fault::new(Kind::Input, what).at("version");
                return Err(fault.mended_by("write '1.0' or '1.3'").into());
            }
        };
        let mut switch = openflow_switch::OpenFlowSwitch::new(SwitchOptions {
            version,
            datapath_id: DatapathId(datapath_id),
            ports,
            buffers: 0,
            table_size: TABLE_SIZE,
            flow_tables: FlowTables::Run,
            awaiting: 0,
        });
        switch.hand_out();
        let unreachable = |error: std::io::Error| {
            Fault::new(Kind::Unreachable, format!("the controller cannot be reached: {error}"))
                .at(controller)
        };
        let (socket, reader) = py.detach(|| connect(controller)).map_err(&unreachable)?;
        let writer = socket.try_clone().map_err(&unreachable)?;
        let mut out = Vec::new();
        switch.opened(0, &mut out);
        let (waiting, sent) = (VecDeque::new(), VecDeque::new());
        let mut state = State { switch, socket, waiting, sent, ended: None };
        state.send(&out).map_err(|reason| unreachable(std::io::Error::other(reason)))?;
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
            began: Instant::now(),
        });
        // The threads end with the session, which ends when this value is dropped.
        let this = Self { shared };
        let (serving, writing) = (Arc::clone(&this.shared), Arc::clone(&this.shared));
        start("planimeter-switch", move || serving.serve(reader))?;
        start("planimeter-write", move || writing.write_waiting(writer))?;
        Ok(this)
    }

    /// Waits until the handshake is complete. Returns whether it is within the time.
    fn wait_ready(&self, py: Python<'_>, timeout_s: f64) -> PyResult<bool> {
        let time = seconds(timeout_s)?;
        let ready = self.shared.wait(py, time, |state| state.switch.is_ready().then_some(()))?;
        Ok(ready.is_some())
    }

    /// Waits until the flow tables have at least this number of entries. Returns their number.
    fn wait_entries(&self, py: Python<'_>, least: usize, timeout_s: f64) -> PyResult<usize> {
        let time = seconds(timeout_s)?;
        let enough = |state: &mut State| (state.switch.entries() >= least).then_some(());
        self.shared.wait(py, time, enough)?;
        Ok(self.shared.state().switch.entries())
    }

    /// Passes a packet through the flow tables. Returns the time since the connection in seconds,
    /// what became of the packet, and the packets that left by ports.
    fn process<'py>(
        &self,
        py: Python<'py>,
        packet: &Bound<'py, PyAny>,
        port: u32,
    ) -> PyResult<Processed<'py>> {
        let packet = bytes(packet)?;
        let packet = packet.as_bytes();
        let (now, fate, left) = py.detach(|| {
            let mut state = self.shared.state();
            let (now, mut out) = (self.shared.now(), Vec::new());
            let fate = state.switch.packet(Arriving::aside(port, packet), now, &mut out);
            let left = state.switch.take_left();
            if let Err(reason) = state.send(&out) {
                state.end(reason);
            }
            drop(state);
            self.shared.changed.notify_all();
            (now, fate, left)
        });
        let fate = match fate {
            Fate::ToController => "controller",
            Fate::Forwarded => "forwarded",
            Fate::Dropped => "dropped",
        };
        let left = left.iter().map(|one| (one.port.into(), PyBytes::new(py, &one.frame)));
        Ok((Duration::from_nanos(now).as_secs_f64(), fate, left.collect()))
    }

    /// Waits for a packet that a packet-out sends by a port. Returns `None` if there is none within
    /// the time.
    fn wait_sent<'py>(&self, py: Python<'py>, timeout_s: f64) -> PyResult<Option<Sent<'py>>> {
        let time = seconds(timeout_s)?;
        let sent = self.shared.wait(py, time, |state| state.sent.pop_front())?;
        Ok(sent.map(|(at, left)| (at.as_secs_f64(), left.port, PyBytes::new(py, &left.frame))))
    }

    /// Ends the connection.
    fn close(&self) {
        // The connection may have ended already.
        let _ = self.shared.state().socket.shutdown(Shutdown::Both);
    }
}

impl Drop for OpenFlowSwitch {
    fn drop(&mut self) {
        self.close();
    }
}

/// Returns the number of bytes that a write has taken, which is zero if the controller does not
/// read.
fn taken(written: std::io::Result<usize>) -> std::io::Result<usize> {
    match written {
        Ok(0) => Err(ErrorKind::WriteZero.into()),
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
            ) =>
        {
            Ok(0)
        }
        other => other,
    }
}

/// Starts a thread.
fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Fault> {
    let spawned = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    spawned
        .map(drop)
        .map_err(|error| Fault::new(Kind::System, format!("no thread can be started: {error}")))
}

/// Connects to a controller. Returns the socket for messages to it, whose writes end after
/// [`WRITE_TIME`], and that for messages from it, whose reads end after a while.
fn connect(controller: &str) -> std::io::Result<(TcpStream, TcpStream)> {
    let addresses: Vec<SocketAddr> = controller.to_socket_addrs()?.collect();
    let none = std::io::Error::new(ErrorKind::NotFound, "the name has no address");
    let mut outcome = Err(none);
    for address in addresses {
        outcome = TcpStream::connect_timeout(&address, PATIENCE);
        if outcome.is_ok() {
            break;
        }
    }
    let socket = outcome?;
    socket.set_nodelay(true)?;
    // If the system refuses this option, TCP paces messages like those of other programs.
    let _ = grpc::tcp::send_unpaced(&socket);
    socket.set_write_timeout(Some(WRITE_TIME))?;
    let reader = socket.try_clone()?;
    reader.set_read_timeout(Some(BETWEEN_LOOKS))?;
    Ok((socket, reader))
}

fn seconds(value: f64) -> Result<Duration, Fault> {
    Duration::try_from_secs_f64(value).map_err(|error| {
        Fault::new(Kind::Input, format!("{value} is not a time: {error}")).at("timeout_s")
    })
}
