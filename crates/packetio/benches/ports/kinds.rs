//! The kinds of ports. Each kind provides four ports: to send to, to receive from, to transmit to,
//! and to count at.

use crate::namespace::Namespace;
use packetio::{OpenError, Port, af_packet, memory, xdp};

/// A kind of port.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// Whether the ports are on interfaces. If so, a new namespace has the links from `send` to
    /// `receive` and from `transmit` to `count`. Other kinds run outside of a namespace, because
    /// the sockets of `net_memif` outlive a trial and would not be visible from another namespace.
    pub(crate) on_interfaces: bool,
    pub(crate) open: fn() -> Result<[Port; 4], OpenError>,
}

impl Kind {
    /// Opens four ports and passes them to `body`, on a separate thread that may be pinned to a
    /// core. If there are no such ports, prints the reason and returns `None`.
    pub(crate) fn with_ports<T: Send>(
        &self,
        body: impl FnOnce([Port; 4]) -> T + Send,
    ) -> Option<T> {
        let run = || match (self.open)() {
            Ok(ports) => Some(body(ports)),
            Err(error) => {
                println!("SKIPPED: {}: {error}", self.name);
                None
            }
        };
        if !self.on_interfaces {
            return std::thread::scope(|scope| scope.spawn(run).join()).expect("it does not panic");
        }
        let namespace = Namespace::new()?;
        namespace.link("send", &namespace, "receive", 1500);
        namespace.link("transmit", &namespace, "count", 1500);
        namespace.run(run)
    }
}

pub(crate) const KINDS: &[Kind] = &[
    Kind { name: "memory", on_interfaces: false, open: lines },
    Kind { name: "af_packet", on_interfaces: true, open: packet_sockets },
    Kind { name: "xdp", on_interfaces: true, open: xdp_sockets },
    Kind { name: "xdp,generic", on_interfaces: true, open: generic_xdp_sockets },
    #[cfg(feature = "dpdk")]
    Kind { name: "dpdk af_packet", on_interfaces: true, open: dpdk_packet_sockets },
    #[cfg(feature = "dpdk")]
    Kind { name: "dpdk memif", on_interfaces: false, open: dpdk_memory },
];

/// Returns the kinds that the command line names, or all kinds.
pub(crate) fn wanted() -> impl Iterator<Item = &'static Kind> {
    let names: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    KINDS.iter().filter(move |kind| names.is_empty() || names.iter().any(|name| name == kind.name))
}

fn lines() -> Result<[Port; 4], OpenError> {
    let [send, receive] = memory::line("there", 4096);
    let [transmit, count] = memory::line("back", 4096);
    Ok([send, receive, transmit, count])
}

fn packet_sockets() -> Result<[Port; 4], OpenError> {
    let port = |name| af_packet::open(name, 1);
    Ok([port("send")?, port("receive")?, port("transmit")?, port("count")?])
}

fn xdp_sockets() -> Result<[Port; 4], OpenError> {
    let port = |name| xdp::open(name, false, 1);
    Ok([port("send")?, port("receive")?, port("transmit")?, port("count")?])
}

fn generic_xdp_sockets() -> Result<[Port; 4], OpenError> {
    let port = |name| xdp::open(name, true, 1);
    Ok([port("send")?, port("receive")?, port("transmit")?, port("count")?])
}

/// Opens two connected pairs of DPDK's memory interfaces (`net_memif`), each of which shares
/// memory.
#[cfg(feature = "dpdk")]
fn dpdk_memory() -> Result<[Port; 4], OpenError> {
    let end = |number: u8, role: &str, line: u8| {
        let socket = format!("planimeter-{}-{line}", std::process::id());
        packetio::dpdk::open(&format!("net_memif{number},role={role},id={line},socket={socket}"), 1)
    };
    let mut ports =
        [end(0, "server", 0)?, end(1, "client", 0)?, end(2, "server", 1)?, end(3, "client", 1)?];
    // The two ends connect asynchronously.
    let start = std::time::Instant::now();
    while !ports.iter_mut().all(|port| port.queues.iter_mut().all(|queue| queue.reopen())) {
        if start.elapsed().as_secs() > 5 {
            let source = std::io::ErrorKind::TimedOut.into();
            return Err(OpenError::Dpdk { device: "net_memif".to_owned(), source });
        }
    }
    Ok(ports)
}

/// Opens DPDK devices whose peers are packet sockets of this crate.
#[cfg(feature = "dpdk")]
fn dpdk_packet_sockets() -> Result<[Port; 4], OpenError> {
    let device = |number: u8, name: &str| {
        packetio::dpdk::open(&format!("net_af_packet{number},iface={name}"), 1)
    };
    let port = |name| af_packet::open(name, 1);
    Ok([port("send")?, device(0, "receive")?, device(1, "transmit")?, port("count")?])
}
