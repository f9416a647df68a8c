//! A small OpenFlow controller with configurable misbehaviour.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use openflow::framing::Framer;
use openflow::handshake::{Event, Handshake};
use openflow::v1_0::{FragmentHandling, SwitchConfig};
use openflow::v1_3::{ControllerRole, Message, RoleMessage};
use openflow::wire::{MessageType, PacketIn, PacketOutFields};
use openflow::{BufferId, PortNumber, Version, Xid};
use rustix::net::{AddressFamily, SocketType};

/// The behaviour of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// Accepts connections and closes them.
    CloseAtOnce,
    /// Sends a HELLO and closes.
    CloseAfterHello,
    /// Accepts connections and sends nothing.
    Silent,
    /// Answers like a web server.
    GarbageAtOnce,
    /// Answers this number of packet-ins, and then closes the connection.
    CloseAfterPackets(u32),
    /// Answers this number of packet-ins, and then sends bytes that are no OpenFlow message.
    GarbageAfterPackets(u32),
    /// Answers this number of packet-ins, and then sends text.
    TextAfterPackets(u32),
    /// Sends, before every answer, a packet-out that claims more actions than it has.
    MalformedThenAnswer,
    /// Becomes slave at the first packet-in of each connection, and then answers.
    SlaveThenAnswer,
    /// Answers every packet-in several times.
    Answer {
        /// The number of answers to each packet-in.
        copies: u32,
    },
    /// Answers this number of packet-ins of each connection per second, one after the other.
    AnswerPerSecond(u32),
    /// Answers this number of packet-ins of each connection, and then only reads.
    AnswerUpTo(u32),
    /// Sends, before every answer, this number of echo requests with the same number of bytes each.
    AskThenAnswer(u16),
    /// Answers with a packet that no switch sent.
    AnswerWithOtherPacket,
    /// Serves the first connection and sends nothing on the others.
    ServeOne,
    /// Serves all connections, and answers nothing on one in `of` connections.
    AnswerAllBut {
        /// The number of the unanswered connection among `of`.
        dead: u32,
        /// The number of connections per unanswered one.
        of: u32,
    },
    /// Closes the second connection once its handshake is complete, and from then on serves only
    /// the first.
    WelcomeOne,
    /// Closes once the handshake is complete.
    CloseOnceReady,
    /// Sends nothing until another connection was closed, and serves only after that.
    AnswerOnceHungUp,
}

/// The running controller, which is stopped when dropped.
pub(crate) struct Peer {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// Sockets that are kept open and do nothing.
    _held: Vec<TcpStream>,
    _listener: Option<TcpListener>,
}

impl Peer {
    /// Starts a controller.
    pub(crate) fn start(behaviour: Behaviour) -> Self {
        Self::start_at(Ipv4Addr::LOCALHOST.into(), behaviour)
    }

    /// Starts a controller at an address.
    pub(crate) fn start_at(address: IpAddr, behaviour: Behaviour) -> Self {
        Self::listen(TcpListener::bind((address, 0)).expect("a port"), behaviour)
    }

    /// Starts a controller with small socket buffers, so that its receive windows close soon.
    pub(crate) fn with_small_buffers(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        rustix::net::sockopt::set_socket_recv_buffer_size(&listener, 16 * 1024).expect("a socket");
        Self::listen(listener, behaviour)
    }

    fn listen(listener: TcpListener, behaviour: Behaviour) -> Self {
        listener.set_nonblocking(true).expect("a listener that does not wait");
        let stop = Arc::new(AtomicBool::new(false));
        let address = listener.local_addr().expect("an address");
        let thread = std::thread::spawn({
            let stop = stop.clone();
            move || accept(&listener, behaviour, &stop)
        });
        Self { address, stop, thread: Some(thread), _held: Vec::new(), _listener: None }
    }

    /// Returns an address at which no server listens.
    pub(crate) fn refusing() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        Self::idle(address, Vec::new(), None)
    }

    /// Returns an address from which no answer comes, like that of a host that is switched off: a
    /// listener whose queue is full ignores connection attempts.
    pub(crate) fn absent() -> Self {
        let socket =
            rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        rustix::net::bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).expect("a port");
        rustix::net::listen(&socket, 0).expect("a listener");
        let listener = TcpListener::from(socket);
        let address = listener.local_addr().expect("an address");
        let patience = Duration::from_millis(200);
        let mut held = Vec::new();
        while let Ok(stream) = TcpStream::connect_timeout(&address, patience) {
            held.push(stream);
            assert!(held.len() < 100, "the queue of a listener has an end");
        }
        Self::idle(address, held, Some(listener))
    }

    fn idle(address: SocketAddr, held: Vec<TcpStream>, listener: Option<TcpListener>) -> Self {
        let stop = Arc::new(AtomicBool::new(true));
        Self { address, stop, thread: None, _held: held, _listener: listener }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn accept(listener: &TcpListener, behaviour: Behaviour, stop: &Arc<AtomicBool>) {
    let accepted = AtomicU32::new(0);
    let hung_up = Arc::new(AtomicBool::new(false));
    let mut connections = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((stream, _)) => {
                let number = accepted.fetch_add(1, Ordering::Relaxed);
                let first = number == 0;
                let behaviour = match behaviour {
                    Behaviour::ServeOne if first => Behaviour::Answer { copies: 1 },
                    Behaviour::ServeOne => Behaviour::Silent,
                    Behaviour::AnswerAllBut { dead, of } => {
                        Behaviour::Answer { copies: u32::from(number % of != dead) }
                    }
                    Behaviour::WelcomeOne if first => Behaviour::AnswerOnceHungUp,
                    Behaviour::WelcomeOne if number == 1 => Behaviour::CloseOnceReady,
                    Behaviour::WelcomeOne => Behaviour::CloseAtOnce,
                    other => other,
                };
                let (stop, hung_up) = (stop.clone(), hung_up.clone());
                connections.push(std::thread::spawn(move || {
                    let behaviour = match behaviour {
                        Behaviour::AnswerOnceHungUp => {
                            while !hung_up.load(Ordering::Acquire) && !stop.load(Ordering::Relaxed)
                            {
                                std::thread::sleep(Duration::from_millis(1));
                            }
                            Behaviour::Answer { copies: 1 }
                        }
                        other => other,
                    };
                    // The switches close when the trial is over.
                    let _ = serve(stream, behaviour, &stop);
                    hung_up.store(true, Ordering::Release);
                }));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    for connection in connections {
        let _ = connection.join();
    }
}

fn serve(mut stream: TcpStream, behaviour: Behaviour, stop: &AtomicBool) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_millis(20)))?;
    let mut out = Vec::new();
    let flags = FragmentHandling::NORMAL;
    let config = SwitchConfig { flags, miss_send_len: 65535 };
    let mut handshake = Handshake::controller(&[Version::V1_3], config);
    match behaviour {
        Behaviour::CloseAtOnce => return Ok(()),
        Behaviour::Silent => {}
        Behaviour::GarbageAtOnce => out.extend_from_slice(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        _ => handshake.start(&mut out),
    }
    stream.write_all(&out)?;
    let mut framer = Framer::new();
    let mut buffer = [0; 4096];
    let mut packets = 0;
    let mut next = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        let count = match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                continue;
            }
            Err(error) => return Err(error),
        };
        if matches!(behaviour, Behaviour::Silent | Behaviour::GarbageAtOnce) {
            continue;
        }
        if behaviour == Behaviour::CloseAfterHello {
            return Ok(());
        }
        out.clear();
        for frame in framer.frames(&buffer[..count]) {
            let frame = frame.map_err(std::io::Error::other)?;
            if handshake.is_ready() && frame[1] == MessageType::PACKET_IN.0 {
                let packet_in = PacketIn::new_checked(frame).map_err(std::io::Error::other)?;
                packets += 1;
                if let Behaviour::AnswerPerSecond(rate) = behaviour {
                    stream.write_all(&out)?;
                    out.clear();
                    next = next.max(Instant::now()) + Duration::from_secs(1) / rate;
                    std::thread::sleep(next.saturating_duration_since(Instant::now()));
                    if stop.load(Ordering::Relaxed) {
                        return Ok(());
                    }
                }
                if !answer(behaviour, packets, &packet_in, &mut out) {
                    stream.write_all(&out)?;
                    return Ok(());
                }
            } else {
                let event = handshake.receive(frame, &mut out).map_err(std::io::Error::other)?;
                assert!(!matches!(event, Event::Rejected(_)), "switches speak correctly");
            }
        }
        stream.write_all(&out)?;
        if behaviour == Behaviour::CloseOnceReady && handshake.is_ready() {
            return Ok(());
        }
    }
    Ok(())
}

/// Appends the answer to a packet-in; returns `false` if the connection ends with it.
fn answer(
    behaviour: Behaviour,
    packets: u32,
    packet_in: &PacketIn<&[u8]>,
    out: &mut Vec<u8>,
) -> bool {
    let copies = match behaviour {
        Behaviour::Answer { copies } => copies,
        Behaviour::AnswerUpTo(limit) => u32::from(packets <= limit),
        _ => 1,
    };
    let fields = PacketOutFields {
        buffer_id: BufferId::NO_BUFFER,
        in_port: PortNumber::CONTROLLER,
        outputs: &[PortNumber(1)],
    };
    if behaviour == Behaviour::MalformedThenAnswer {
        // A packet-out of 32 bytes that claims 64 bytes of actions.
        out.extend_from_slice(&[4, MessageType::PACKET_OUT.0, 0, 32, 0, 0, 0, 9]);
        out.extend_from_slice(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfd]);
        out.extend_from_slice(&[0, 64, 0, 0, 0, 0, 0, 0]);
        out.extend_from_slice(&[0, 0, 0, 8, 0, 0, 0, 1]);
    }
    if behaviour == Behaviour::SlaveThenAnswer && packets == 1 {
        let role = RoleMessage { role: ControllerRole::SLAVE, generation_id: 1 };
        Message::RoleRequest(role).encode(Xid(1), out).expect("a request that fits");
    }
    if let Behaviour::AskThenAnswer(echoes) = behaviour {
        let length = 8 + echoes;
        for _ in 0..echoes {
            let [high, low] = length.to_be_bytes();
            out.extend_from_slice(&[4, MessageType::ECHO_REQUEST.0, high, low, 0, 0, 0, 7]);
            out.resize(out.len() + usize::from(echoes), 0);
        }
    }
    let own = [0; 60];
    let payload = match behaviour {
        Behaviour::AnswerWithOtherPacket => own.as_slice(),
        _ => packet_in.payload(),
    };
    for _ in 0..copies {
        fields.emit(Version::V1_3, Xid(packets), payload, out).expect("a packet-out that fits");
    }
    match behaviour {
        Behaviour::CloseAfterPackets(limit) => packets < limit,
        Behaviour::TextAfterPackets(limit) if packets == limit => {
            out.extend_from_slice(b"Out of memory\n");
            true
        }
        Behaviour::GarbageAfterPackets(limit) if packets == limit => {
            out.extend_from_slice(b"\x04\x00\x00\x02this is no OpenFlow message");
            true
        }
        _ => true,
    }
}
