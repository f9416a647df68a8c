//! Tests that a well-behaved client is served while a thousand hostile connections try to exhaust
//! the server.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use p4runtime::{
    client::{Client, ClientOptions},
    proto::v1::{self, write_request::Atomicity},
    server::{ServerOptions, ServerTls, Urgency},
};
use prost::Message;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    task::JoinSet,
};

use crate::support::{Served, host, soon};

const HOSTILE: usize = 1_000;
/// The number of calls per hostile connection. More would exhaust the processor of an unoptimised
/// build, which no limit on memory can prevent.
const CALLS: u32 = 8;
/// The pause between the bytes of a slow client.
const DRIP: Duration = Duration::from_millis(20);
/// The time that a hostile client waits after its connection was closed.
const AGAIN: Duration = Duration::from_secs(1);
/// The time within which the well-behaved client must be answered, on a machine that is busy with
/// the attack.
const ANSWER: Duration = Duration::from_secs(5);

/// The time within which the connections of a flood are established.
const FLOOD_BEGINS: Duration = Duration::from_secs(10);
/// The number of turns of connections within which a client is served during a flood. The tests'
/// runtime looks for ready sockets every 61 turns, so a call can take twice that.
const FEW_TURNS: usize = 150;

/// A lock that lets only one attack run at a time, so that the attacks of several tests do not add
/// up.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// The behaviour of a hostile connection.
#[derive(Clone, Copy, Debug)]
enum Attack {
    /// The attacker sends nothing.
    HalfOpen,
    /// The attacker starts a TLS handshake one byte at a time and never completes it.
    SlowTls,
    /// The attacker sends headers that never end.
    EndlessHeaders,
    /// The attacker requests responses and never reads them.
    ClosedWindows,
    /// The attacker announces long messages and never sends them.
    AnnouncedLengths,
    /// The attacker begins calls and cancels them immediately.
    GivenUp,
    /// The attacker makes valid calls, [`CALLS`] at a time, as fast as they are answered.
    Flood,
}

const PLAIN: [Attack; 6] = [
    Attack::HalfOpen,
    Attack::SlowTls,
    Attack::EndlessHeaders,
    Attack::ClosedWindows,
    Attack::AnnouncedLengths,
    Attack::GivenUp,
];

/// HTTP/2 frames (RFC 9113, section 4.1), written by hand.
struct Frames(Vec<u8>);

impl Frames {
    const DATA: u8 = 0;
    const HEADERS: u8 = 1;
    const RST_STREAM: u8 = 3;
    const SETTINGS: u8 = 4;
    const WINDOW_UPDATE: u8 = 8;
    const CONTINUATION: u8 = 9;
    const END_STREAM: u8 = 1;
    const END_HEADERS: u8 = 4;

    fn new() -> Self {
        Self(Vec::new())
    }

    /// Returns the connection preface, with settings that include this initial window size.
    fn preface(window: u32) -> Self {
        let mut frames = Self(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec());
        let setting = [&[0, 4][..], &window.to_be_bytes()].concat();
        frames.frame(Self::SETTINGS, 0, 0, &setting);
        frames
    }

    fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        self.0.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
        self.0.extend_from_slice(&[kind, flags]);
        self.0.extend_from_slice(&stream.to_be_bytes());
        self.0.extend_from_slice(payload);
    }

    /// Returns the header block of a call to `method`, as literals (RFC 7541, section 6.2.2).
    fn headers(method: &str) -> Vec<u8> {
        let mut block = vec![0x83, 0x86];
        for (name, value) in [
            (":path", format!("/p4.v1.P4Runtime/{method}")),
            (":authority", "localhost".to_owned()),
            ("te", "trailers".to_owned()),
            ("content-type", "application/grpc".to_owned()),
        ] {
            block.extend([0, name.len() as u8]);
            block.extend(name.bytes());
            block.push(value.len() as u8);
            block.extend(value.bytes());
        }
        block
    }

    fn call(&mut self, stream: u32, method: &str) {
        self.frame(Self::HEADERS, Self::END_HEADERS, stream, &Self::headers(method));
    }

    fn message(&mut self, stream: u32, message: &impl Message) {
        let mut body = vec![0];
        body.extend_from_slice(&(message.encoded_len() as u32).to_be_bytes());
        body.extend(message.encode_to_vec());
        self.frame(Self::DATA, Self::END_STREAM, stream, &body);
    }
}

/// Attacks until the server closes the connection, and then starts again on a new connection.
async fn attack(attack: Attack, from: Ipv4Addr, server: SocketAddr) {
    loop {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind((from, 0).into()).expect("loopback");
        if let Ok(mut stream) = socket.connect(server).await {
            let _ = once(attack, &mut stream).await;
        }
        tokio::time::sleep(AGAIN).await;
    }
}

async fn once(attack: Attack, stream: &mut TcpStream) -> std::io::Result<()> {
    let ids = (0..CALLS).map(|number| 2 * number + 1);
    match attack {
        Attack::HalfOpen => {}
        Attack::SlowTls => {
            // The bytes start a handshake record with a ClientHello of 16 KiB.
            for byte in [0x16, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xfc].into_iter().chain([0; 1000]) {
                stream.write_all(&[byte]).await?;
                tokio::time::sleep(DRIP).await;
            }
        }
        Attack::EndlessHeaders => {
            let mut frames = Frames::preface(65_535);
            frames.frame(Frames::HEADERS, 0, 1, &Frames::headers("Write"));
            stream.write_all(&frames.0).await?;
            loop {
                let mut more = Frames::new();
                let header = [&[0, 1, b'x', 100][..], &[b'a'; 100]].concat();
                more.frame(Frames::CONTINUATION, 0, 1, &header);
                stream.write_all(&more.0).await?;
                tokio::time::sleep(DRIP).await;
            }
        }
        Attack::ClosedWindows => {
            let mut frames = Frames::preface(0);
            for id in ids {
                frames.call(id, "Read");
                let table = v1::TableEntry::default();
                let entity = Some(v1::entity::Entity::TableEntry(table));
                let entities = vec![v1::Entity { entity }];
                let request = v1::ReadRequest { device_id: 1, entities, ..Default::default() };
                frames.message(id, &request);
            }
            stream.write_all(&frames.0).await?;
        }
        Attack::AnnouncedLengths => {
            let mut frames = Frames::preface(65_535);
            for id in ids {
                frames.call(id, if id % 4 == 1 { "Write" } else { "StreamChannel" });
                frames.frame(Frames::DATA, 0, id, &[0, 3, 0xff, 0xff, 0xff, 7]);
            }
            stream.write_all(&frames.0).await?;
        }
        Attack::GivenUp => {
            stream.write_all(&Frames::preface(65_535).0).await?;
            for id in 0.. {
                let mut frames = Frames::new();
                frames.call(2 * id + 1, "Write");
                frames.frame(Frames::RST_STREAM, 0, 2 * id + 1, &8_u32.to_be_bytes());
                stream.write_all(&frames.0).await?;
                tokio::time::sleep(DRIP).await;
            }
        }
        Attack::Flood => flood(stream).await?,
    }
    // The server's data is not interpreted, but the end of the connection is detected.
    let mut end = [0; 1 << 10];
    while stream.read(&mut end).await? > 0 {
        tokio::time::sleep(DRIP).await;
    }
    Ok(())
}

/// Makes valid calls, of which [`CALLS`] are open at any time.
async fn flood(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(&Frames::preface(1 << 20).0).await?;
    let mut answers = Answers::default();
    let mut begun = 0;
    loop {
        let mut frames = Frames::new();
        while begun < answers.ended + CALLS {
            let id = 2 * begun + 1;
            frames.call(id, "Capabilities");
            frames.message(id, &v1::CapabilitiesRequest::default());
            begun += 1;
        }
        // The window of the connection is kept open.
        frames.frame(Frames::WINDOW_UPDATE, 0, 0, &4_096_u32.to_be_bytes());
        stream.write_all(&frames.0).await?;
        let mut bytes = [0; 4 << 10];
        let read = stream.read(&mut bytes).await?;
        if read == 0 {
            return Ok(());
        }
        answers.take(&bytes[..read]);
    }
}

/// The number of answers in a server's frames.
#[derive(Default)]
struct Answers {
    ended: u32,
    unread: Vec<u8>,
}

impl Answers {
    fn take(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
        while let Some(&[_, a, b, kind, flags]) = self.unread.first_chunk() {
            let end = 9 + usize::from(u16::from_be_bytes([a, b]));
            if self.unread.len() < end {
                return;
            }
            self.unread.drain(..end);
            let ends =
                matches!(kind, Frames::DATA | Frames::HEADERS) && flags & Frames::END_STREAM != 0;
            self.ended += u32::from(ends);
        }
    }
}

/// Starts the attack from these addresses in a separate runtime.
fn begin(attacks: &'static [Attack], from: &'static [u8], server: SocketAddr) -> Attackers {
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async move {
            let mut all = JoinSet::new();
            for number in 0..HOSTILE {
                let host = from[number % from.len()];
                let kind = attacks[number / from.len() % attacks.len()];
                all.spawn(attack(kind, Ipv4Addr::new(127, 0, 0, host), server));
            }
            let _ = ended.await;
        });
    });
    Attackers { end: Some(end), thread: Some(thread) }
}

struct Attackers {
    end: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Drop for Attackers {
    fn drop(&mut self) {
        self.end.take();
        self.thread.take().map(std::thread::JoinHandle::join);
    }
}

/// Makes calls for some seconds, each of which must be answered in time.
async fn answered(client: &mut Client, numbers: std::ops::Range<u32>, for_seconds: u64) {
    let until = Instant::now() + Duration::from_secs(for_seconds);
    for number in numbers {
        let written = client.write(vec![host(number)], Atomicity::ContinueOnError);
        tokio::time::timeout(ANSWER, written).await.expect("in time").expect("written");
        let read = client.capabilities();
        tokio::time::timeout(ANSWER, read).await.expect("in time").expect("read");
        if Instant::now() > until {
            return;
        }
        tokio::time::sleep(DRIP).await;
    }
}

async fn newcomer(served: &Served) {
    let options = ClientOptions::default();
    let connected = Client::connect(&served.address, 1, &options);
    let mut client = tokio::time::timeout(ANSWER, connected).await.expect("in time").expect("in");
    let answered = tokio::time::timeout(ANSWER, client.capabilities()).await;
    answered.expect("in time").expect("answered");
}

async fn withstood(from: &'static [u8]) {
    let _alone = ALONE.lock().await;
    let served = Served::new(1, ServerOptions::default()).await;
    let (mut client, _sender, _receiver) = served.primary().await;
    let attackers = begin(&PLAIN, from, served.address.parse().expect("an address"));
    answered(&mut client, 0..1000, 4).await;
    for _ in 0..5 {
        newcomer(&served).await;
    }
    answered(&mut client, 1000..2000, 3).await;
    drop(attackers);
    soon(client.capabilities()).await.expect("it was never closed");
}

#[tokio::test]
async fn a_thousand_hostile_connections_leave_a_primary_unharmed() {
    withstood(&[2, 3, 4, 5]).await;
}

#[tokio::test]
async fn hostile_connections_from_its_own_address_leave_a_primary_unharmed() {
    withstood(&[1]).await;
}

#[tokio::test]
async fn a_thousand_slow_handshakes_leave_a_client_of_tls_unharmed() {
    let _alone = ALONE.lock().await;
    let authority = crate::tls::Authority::new();
    let (certificate, key) = authority.issue("switch.test");
    let tls = ServerTls { certificate, key, client_authorities: None };
    let served = Served::new(1, ServerOptions { tls: Some(tls), ..ServerOptions::default() }).await;
    let tls = Some(crate::tls::trusting(&authority, None));
    let options = ClientOptions { tls, ..ClientOptions::default() };
    let mut client = Client::connect(&served.address, 1, &options).await.expect("connected");
    let server = served.address.parse().expect("an address");
    let attackers = begin(&[Attack::SlowTls, Attack::HalfOpen], &[2, 3, 4, 5], server);
    let until = Instant::now() + Duration::from_secs(7);
    while Instant::now() < until {
        let again = Client::connect(&served.address, 1, &options);
        let mut again = tokio::time::timeout(ANSWER, again).await.expect("in time").expect("in");
        for client in [&mut client, &mut again] {
            let answered = tokio::time::timeout(ANSWER, client.capabilities()).await;
            answered.expect("in time").expect("answered");
        }
        tokio::time::sleep(DRIP).await;
    }
    drop(attackers);
}

/// A connection that never completes its handshake is closed after the time limit.
#[tokio::test]
async fn a_slow_handshake_is_ended() {
    let limits =
        p4runtime::server::Limits { handshake: Duration::from_millis(300), ..Default::default() };
    let served = Served::new(1, ServerOptions { limits, ..ServerOptions::default() }).await;
    for preface in [&b""[..], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"PRI * HT"] {
        let mut stream = TcpStream::connect(&served.address).await.expect("connected");
        stream.write_all(preface).await.expect("sent");
        let mut all = Vec::new();
        // The server's SETTINGS may arrive, followed by the end of the connection.
        let _ = soon(stream.read_to_end(&mut all)).await;
    }
    newcomer(&served).await;
}

/// The number of turns that connections have had.
#[derive(Debug, Default)]
struct Turns(AtomicUsize);

impl Urgency for Turns {
    fn before_turn(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn is_urgent(&self) -> bool {
        false
    }
}

/// Makes calls during a flood of valid calls, and returns the turns of connections during each, in
/// ascending order.
async fn turns_beside_a_flood(from: &'static [u8], is_primary: bool) -> Vec<usize> {
    let _alone = ALONE.lock().await;
    let turns = Arc::new(Turns::default());
    let options = ServerOptions { urgency: Some(Arc::clone(&turns) as _), ..Default::default() };
    let served = Served::new(1, options).await;
    let stream = if is_primary { Some(served.primary().await) } else { None };
    let mut client = match &stream {
        Some((client, ..)) => client.clone(),
        None => Client::connect(&served.address, 1, &ClientOptions::default()).await.expect("in"),
    };
    let attackers = begin(&[Attack::Flood], from, served.address.parse().expect("an address"));
    // The flood has begun once most connections are there.
    let begun = Instant::now();
    while turns.0.load(Ordering::Relaxed) < 20 * HOSTILE && begun.elapsed() < FLOOD_BEGINS {
        tokio::time::sleep(DRIP).await;
    }
    let mut each = Vec::new();
    for _ in 0..20 {
        let before = turns.0.load(Ordering::Relaxed);
        soon(client.capabilities()).await.expect("answered");
        each.push(turns.0.load(Ordering::Relaxed) - before);
        tokio::time::sleep(DRIP).await;
    }
    drop(attackers);
    each.sort_unstable();
    each
}

/// Checks that a client is served after few turns of others, although a thousand connections
/// always have calls to be served. Without a policy, each of its calls waits for a turn of nearly
/// every connection.
#[tokio::test]
async fn a_flood_of_valid_calls_does_not_delay_a_client_at_another_address() {
    let turns = turns_beside_a_flood(&[2, 3, 4, 5], false).await;
    assert!(turns[turns.len() / 2] < FEW_TURNS, "{turns:?}");
}

#[tokio::test]
async fn a_flood_of_valid_calls_from_its_own_address_does_not_delay_a_primary() {
    let turns = turns_beside_a_flood(&[1], true).await;
    assert!(turns[turns.len() / 2] < FEW_TURNS, "{turns:?}");
}
