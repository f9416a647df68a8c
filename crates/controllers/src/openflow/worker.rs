//! A worker thread of an OpenFlow controller. It serves some of the switches in a loop that reads,
//! answers and writes.
//!
//! All answers to one read are sent with one write. While a switch does not read the answers, the
//! worker reads nothing from this switch. A slow switch therefore costs a bounded amount of memory
//! and delays no other switch.

use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use ::openflow::DatapathId;
use ::openflow::framing::Framer;
use rustix::event::{EventfdFlags, epoll, eventfd};

use super::connection::Connection;
use super::listener::timespec;
use super::network::NetworkEvent;
use super::session::{Session, SessionError};
use super::{LOOK, Shared};
use crate::application::paths::{Command, SwitchId};
use crate::counters::Tally;

/// The size of the read buffer in bytes.
const READ: usize = 256 * 1024;
/// The number of unsent bytes to a switch above which the worker reads nothing from the switch.
const HIGH_WATER: usize = 1024 * 1024;
/// The maximum number of events that are taken from the poller at a time.
const EVENTS: usize = 256;
/// The interval at which a standby controller checks whether it must take over.
const TAKEOVER_LOOK: Duration = Duration::from_millis(2);
/// The interval at which the worker checks whether switches have been silent for too long.
const TICK: Duration = Duration::from_secs(1);
/// The token by which the poller reports that another thread has sent something. The token of a
/// switch is its index in `peers`.
const INBOX: u64 = u64::MAX;

/// The reason why the connection of a switch ended.
#[derive(Debug, thiserror::Error)]
enum Gone {
    #[error("the switch closed the connection")]
    Closed,
    #[error("{0}")]
    Io(io::Error),
    #[error("{0}")]
    Session(#[from] SessionError),
}

impl From<io::Error> for Gone {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // The switch closed the connection while data were in transit to it.
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Io(error),
        }
    }
}

/// A message from another thread to a worker.
#[derive(Debug)]
pub(super) enum Delivery {
    /// The socket of a switch that has just connected.
    Switch(TcpStream),
    /// Commands of path provisioning that switches of this worker must execute.
    Commands(Vec<Command>),
}

/// The sending end of a worker's inbox, for other threads.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    deliveries: Sender<Delivery>,
    wake: Arc<OwnedFd>,
}

impl Slot {
    /// Sends a message to the worker and wakes it. Does nothing if the worker has ended.
    pub(super) fn send(&self, delivery: Delivery) {
        if self.deliveries.send(delivery).is_ok() {
            // An error means that the counter is full, so that a wake-up is already pending.
            let _ = rustix::io::write(&*self.wake, &1_u64.to_ne_bytes());
        }
    }
}

/// A worker thread, which serves some of the controller's switches.
#[derive(Debug)]
pub(super) struct Worker<'a> {
    shared: &'a Shared,
    epoll: OwnedFd,
    inbox: Receiver<Delivery>,
    wake: Arc<OwnedFd>,
    peers: Vec<Option<Peer>>,
    free: Vec<usize>,
    next_tick: Duration,
    /// The index in `peers` of each switch in the network.
    places: HashMap<SwitchId, usize>,
    has_taken_over: bool,
}

/// A switch and the connection to it.
#[derive(Debug)]
struct Peer {
    connection: Connection,
    framer: Framer,
    session: Session,
    address: SocketAddr,
    datapath_id: Option<DatapathId>,
    /// The events for which the poller watches the connection.
    watched: epoll::EventFlags,
    has_refused: bool,
}

impl<'a> Worker<'a> {
    pub(super) fn new(shared: &'a Shared) -> io::Result<(Self, Slot)> {
        let wake = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &*wake, epoll::EventData::new_u64(INBOX), epoll::EventFlags::IN)?;
        let (deliveries, inbox) = channel();
        let slot = Slot { deliveries, wake: wake.clone() };
        let (peers, free) = (Vec::new(), Vec::new());
        let worker = Self {
            shared,
            epoll,
            inbox,
            wake,
            peers,
            free,
            next_tick: TICK,
            places: HashMap::new(),
            has_taken_over: false,
        };
        Ok((worker, slot))
    }

    /// Serves switches until `ended` returns true.
    pub(super) fn run(mut self, ended: impl Fn() -> bool) -> io::Result<()> {
        let mut buffer = vec![0; READ];
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); EVENTS];
        while !ended() {
            let timeout = timespec(self.pause());
            let ready = match epoll::wait(&self.epoll, &mut events, Some(&timeout)) {
                Ok((ready, _)) => ready,
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            for event in ready {
                match event.data.u64() {
                    INBOX => self.welcome(),
                    place => self.serve(place as usize, event.flags, &mut buffer),
                }
            }
            self.release();
            if self.shared.takeover.load(Ordering::Relaxed) && !self.has_taken_over {
                self.has_taken_over = true;
                self.take_over();
            }
            let now = self.now();
            if now >= self.next_tick {
                self.next_tick = now + TICK;
                self.tick(now);
            }
        }
        let open = self.peers.iter().flatten().filter(|peer| peer.session.is_open());
        open.for_each(|_| self.shared.counters.session_closed());
        Ok(())
    }

    /// Returns the maximum time for which the worker waits for events: until the next answer is
    /// due, or until it must check for other tasks.
    fn pause(&self) -> Duration {
        let dues = self.peers.iter().flatten().filter_map(|peer| peer.session.next_due());
        match dues.min() {
            Some(due) => due.saturating_sub(self.now()).min(self.check_interval()),
            None => self.check_interval(),
        }
    }

    /// Sends the answers of a modelled controller whose time has come.
    fn release(&mut self) {
        if !self.shared.policy.delays_answers() {
            return;
        }
        let now = self.now();
        for place in 0..self.peers.len() {
            let Some(Some(peer)) = self.peers.get_mut(place) else { continue };
            if peer.session.next_due().is_some_and(|due| due <= now) {
                peer.session.release(now, &mut peer.connection.out);
                self.settle(place, Ok(()));
            }
        }
    }

    /// Returns the interval at which the worker checks for other tasks. It is shorter while the
    /// controller is a standby, which may have to take over.
    fn check_interval(&self) -> Duration {
        match self.shared.policy.stands_by() {
            true => TAKEOVER_LOOK,
            false => LOOK,
        }
    }

    fn now(&self) -> Duration {
        self.shared.started.elapsed()
    }

    /// Processes the messages that other threads have sent to this worker.
    fn welcome(&mut self) {
        let _ = rustix::io::read(&*self.wake, &mut [0; 8]);
        while let Ok(delivery) = self.inbox.try_recv() {
            let socket = match delivery {
                Delivery::Switch(socket) => socket,
                Delivery::Commands(commands) => {
                    self.carry_out(&commands);
                    continue;
                }
            };
            if let Err(error) = self.add(socket) {
                self.shared.counters.failed();
                self.shared.journal.note(format_args!("cannot serve a switch: {error}"));
            }
        }
    }

    fn add(&mut self, socket: TcpStream) -> io::Result<()> {
        let address = socket.peer_addr()?;
        let mut connection = Connection::new(socket, self.shared.tls.as_ref())?;
        let session = Session::new(&self.shared.policy, self.now(), &mut connection.out);
        let place = self.free.last().copied().unwrap_or(self.peers.len());
        let watched = epoll::EventFlags::IN;
        epoll::add(&self.epoll, &connection, epoll::EventData::new_u64(place as u64), watched)?;
        let peer = Peer {
            connection,
            framer: Framer::new(),
            session,
            address,
            datapath_id: None,
            watched,
            has_refused: false,
        };
        match self.peers.get_mut(place) {
            Some(free) => {
                *free = Some(peer);
                self.free.pop();
            }
            None => self.peers.push(Some(peer)),
        }
        self.settle(place, Ok(()));
        Ok(())
    }

    fn serve(&mut self, place: usize, flags: epoll::EventFlags, buffer: &mut [u8]) {
        let now = self.now();
        // The event may belong to a connection that has ended in the meantime.
        let Some(Some(peer)) = self.peers.get_mut(place) else { return };
        let broken = epoll::EventFlags::ERR | epoll::EventFlags::HUP;
        let outcome = if flags.intersects(epoll::EventFlags::IN | broken) {
            peer.read(self.shared, buffer, now)
        } else {
            Ok(Vec::new())
        };
        match outcome {
            Ok(events) => {
                self.settle(place, Ok(()));
                self.decide(place, events);
            }
            Err(gone) => self.settle(place, Err(gone)),
        }
    }

    /// Passes the events of a switch to path provisioning, and makes switches execute the commands
    /// that result.
    fn decide(&mut self, place: usize, events: Vec<NetworkEvent>) {
        let Some(network) = self.shared.network.clone().filter(|_| !events.is_empty()) else {
            return;
        };
        let peer = self.peers.get(place).and_then(Option::as_ref);
        let Some(id) = peer.and_then(|peer| peer.datapath_id) else { return };
        let switch = SwitchId(id.0);
        self.places.insert(switch, place);
        let mut commands = Vec::new();
        {
            let mut network = network.lock().unwrap_or_else(PoisonError::into_inner);
            for event in events {
                commands.extend(match event {
                    NetworkEvent::Up(ports) => network.switch_up(switch, ports),
                    NetworkEvent::PortChanged { port, is_up } => {
                        network.port_changed(switch, port, is_up)
                    }
                    NetworkEvent::PacketIn { port, frame } => {
                        network.packet_in(switch, port, &frame)
                    }
                });
            }
        }
        self.carry_out(&commands);
    }

    /// Sends commands to the switches that must execute them. The order is kept, because the rule
    /// at the end of a path must be installed first.
    fn carry_out(&mut self, commands: &[Command]) {
        let mut tally = Tally::default();
        let mut places: Vec<usize> = Vec::new();
        for command in commands {
            let Some(place) = self.places.get(&command.switch()).copied() else { continue };
            let Some(Some(peer)) = self.peers.get_mut(place) else { continue };
            let (policy, out) = (&self.shared.policy, &mut peer.connection.out);
            if peer.session.command(policy, command, out, &mut tally).is_ok()
                && !places.contains(&place)
            {
                places.push(place);
            }
        }
        self.shared.counters.add(&tally);
        for place in places {
            self.settle(place, Ok(()));
        }
    }

    /// Makes the controller the master of all switches, in place of the active controller, which is
    /// gone.
    fn take_over(&mut self) {
        self.shared.journal.note(format_args!("the active controller is gone; taking over"));
        for place in 0..self.peers.len() {
            let Some(Some(peer)) = self.peers.get_mut(place) else { continue };
            let outcome = peer.session.take_over(&self.shared.policy, &mut peer.connection.out);
            self.settle(place, outcome.map_err(|error| Gone::Session(error.into())));
        }
    }

    /// Sends the waiting bytes to a switch and updates the events for which the poller watches.
    /// Closes the connection if `outcome` is an error or sending fails.
    fn settle(&mut self, place: usize, outcome: Result<(), Gone>) {
        let Some(Some(peer)) = self.peers.get_mut(place) else { return };
        let sent = peer.connection.flush();
        let outcome = outcome.and_then(|()| {
            let watched = peer.wanted(sent?);
            if watched != peer.watched {
                let data = epoll::EventData::new_u64(place as u64);
                epoll::modify(&self.epoll, &peer.connection, data, watched)
                    .map_err(io::Error::from)?;
                peer.watched = watched;
            }
            Ok(())
        });
        if let Err(gone) = outcome {
            self.dismiss(place, &gone);
        }
    }

    fn dismiss(&mut self, place: usize, gone: &Gone) {
        let Some(peer) = self.peers.get_mut(place).and_then(Option::take) else { return };
        self.free.push(place);
        if peer.session.is_open() {
            self.shared.counters.session_closed();
        }
        if !matches!(gone, Gone::Closed) || !peer.session.is_open() {
            self.shared.counters.failed();
        }
        let name = peer.name();
        self.shared.journal.note(format_args!("{name} is gone: {gone}"));
        self.leave(place, peer.datapath_id);
        // Dropping the connection closes it, which also removes it from the poller.
    }

    /// Removes a switch that has disconnected from the network of path provisioning.
    fn leave(&mut self, place: usize, id: Option<DatapathId>) {
        let (Some(network), Some(id)) = (self.shared.network.clone(), id) else { return };
        let switch = SwitchId(id.0);
        // The switch may have connected again over another connection.
        if self.places.get(&switch) == Some(&place) {
            self.places.remove(&switch);
            let commands =
                network.lock().unwrap_or_else(PoisonError::into_inner).switch_down(switch);
            self.carry_out(&commands);
        }
    }

    fn tick(&mut self, now: Duration) {
        for place in 0..self.peers.len() {
            let Some(Some(peer)) = self.peers.get_mut(place) else { continue };
            let outcome = peer.session.tick(now, &mut peer.connection.out);
            self.settle(place, outcome.map_err(Gone::from));
        }
    }
}

impl Peer {
    fn read(
        &mut self,
        shared: &Shared,
        buffer: &mut [u8],
        now: Duration,
    ) -> Result<Vec<NetworkEvent>, Gone> {
        let count = match self.connection.read(buffer) {
            Ok(0) => return Err(Gone::Closed),
            Ok(count) => count,
            Err(error) if is_transient(&error) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let chunk = buffer.get(..count).unwrap_or(&[]);
        let (out, mut tally) = (&mut self.connection.out, Tally::default());
        let received =
            self.session.receive(&shared.policy, &mut self.framer, chunk, now, out, &mut tally);
        shared.counters.add(&tally);
        let received = received?;
        if let Some((datapath_id, version)) = received.opened {
            self.datapath_id = Some(datapath_id);
            shared.counters.session_opened();
            shared.journal.note(format_args!("{} is connected, OpenFlow {version}", self.name()));
        }
        if let (Some(refusal), false) = (received.refusal, self.has_refused) {
            self.has_refused = true;
            shared.journal.note(format_args!(
                "{} refused a message with error type {}, code {}; later refusals are only counted",
                self.name(),
                refusal.error_type,
                refusal.code
            ));
        }
        Ok(received.events)
    }

    /// Returns the events for which the poller must watch the connection. `blocked` says whether
    /// bytes wait until the socket is writable.
    fn wanted(&self, blocked: bool) -> epoll::EventFlags {
        let mut wanted = epoll::EventFlags::empty();
        if self.connection.backlog() < HIGH_WATER {
            wanted |= epoll::EventFlags::IN;
        }
        if blocked {
            wanted |= epoll::EventFlags::OUT;
        }
        wanted
    }

    fn name(&self) -> String {
        match self.datapath_id {
            Some(datapath_id) => format!("switch {datapath_id} at {}", self.address),
            None => format!("the switch at {}", self.address),
        }
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
