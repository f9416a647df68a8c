//! What users write for a port, and what opens it.

use crate::af_packet::RingMemory;
use crate::{Port, af_packet, pcap, xdp};
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

/// A port of a switch: `NUMBER@ADDRESS` or `NUMBER@KIND:ADDRESS`, as `1@veth0` and
/// `2@pcap:in.pcap,out.pcap`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSpec {
    /// What the program calls it.
    pub number: u32,
    /// Where its packets come from and go.
    pub source: Source,
}

/// Where the packets of a port come from and go.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// `INTERFACE` or `af_packet:INTERFACE`: a packet socket.
    AfPacket {
        /// A network interface.
        interface: String,
    },
    /// `xdp:INTERFACE[,generic]`: XDP sockets.
    Xdp {
        /// A network interface.
        interface: String,
        /// In the kernel's generic path, for drivers that know nothing of XDP.
        generic: bool,
    },
    /// `dpdk:DEVICE[,ARGUMENT]...`: a virtual device of DPDK, if this program was built with it.
    Dpdk {
        /// The device and its arguments, as DPDK has them.
        device: String,
    },
    /// `pcap:[INPUT][,[OUTPUT][,repeat]]`: capture files.
    Pcap(pcap::Files),
}

impl FromStr for PortSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let form = || SpecError::Form { text: text.to_owned() };
        let (number, place) = text.split_once('@').ok_or_else(form)?;
        let number = number.parse().map_err(|_| form())?;
        let (kind, address) = place.split_once(':').unwrap_or(("af_packet", place));
        if address.is_empty() {
            return Err(form());
        }
        let source = match kind {
            "af_packet" => Source::AfPacket { interface: address.to_owned() },
            "xdp" => {
                let (interface, generic) = match address.strip_suffix(",generic") {
                    Some(interface) => (interface, true),
                    None => (address, false),
                };
                Source::Xdp { interface: interface.to_owned(), generic }
            }
            "dpdk" => Source::Dpdk { device: address.to_owned() },
            "pcap" => Source::Pcap(files(address).ok_or_else(form)?),
            _ => return Err(SpecError::Kind { kind: kind.to_owned() }),
        };
        Ok(Self { number, source })
    }
}

fn files(address: &str) -> Option<pcap::Files> {
    let mut words = address.split(',');
    let mut path = || words.next().filter(|path| !path.is_empty()).map(PathBuf::from);
    let (input, output) = (path(), path());
    let repeat = match words.next() {
        None => false,
        Some("repeat") => true,
        Some(_) => return None,
    };
    let one = input.is_some() || output.is_some();
    (one && words.next().is_none()).then_some(pcap::Files { input, output, repeat })
}

/// Why a port cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// It has another form.
    #[error("{text:?} is no port: write NUMBER@INTERFACE, as 1@veth0, or NUMBER@pcap:IN,OUT")]
    Form {
        /// What was written.
        text: String,
    },
    /// It is of a kind that is not known.
    #[error("{kind:?} is no kind of port: write {KINDS}")]
    Kind {
        /// What was written.
        kind: String,
    },
}

const KINDS: &str = "af_packet:INTERFACE, xdp:INTERFACE[,generic], dpdk:DEVICE[,ARGUMENT]... or pcap:IN,OUT[,repeat]";

/// Opens a port for a number of workers. If the port is a packet socket, each worker has a receive
/// ring of `memory`.
///
/// # Errors
/// If it is not there, or this program may not open it.
pub fn open(spec: &PortSpec, queues: usize, memory: RingMemory) -> Result<Port, OpenError> {
    match &spec.source {
        Source::AfPacket { interface } => af_packet::open_with(interface, queues, memory),
        Source::Xdp { interface, generic } => xdp::open(interface, *generic, queues),
        #[cfg(feature = "dpdk")]
        Source::Dpdk { device } => crate::dpdk::open(device, queues),
        #[cfg(not(feature = "dpdk"))]
        Source::Dpdk { .. } => Err(OpenError::NoDpdk),
        Source::Pcap(files) => pcap::open(files, queues),
    }
}

/// Why a port cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no interface of that name.
    #[error(
        "there is no interface {interface} in this network namespace; `ip link` lists them, and `ip link add {interface} \
         type veth peer name NAME` makes a virtual pair, as root"
    )]
    NoInterface {
        /// Its name.
        interface: String,
    },
    /// Its packets are no Ethernet frames.
    #[error("interface {interface} does not carry Ethernet frames; a switch needs one that does")]
    NotEthernet {
        /// Its name.
        interface: String,
    },
    /// This program may not.
    #[error(
        "opening interface {interface} needs CAP_NET_RAW and CAP_NET_ADMIN: run as root, or give them to the program \
         (setcap cap_net_raw,cap_net_admin+ep)"
    )]
    NotPermitted {
        /// Its name.
        interface: String,
    },
    /// Its card, or the direction, has no clock of its own.
    #[error(
        "interface {interface} cannot stamp frames in hardware ({source}): stamp them in the kernel, \
         or receive copies of them through taps on a card with a clock (`ethtool -T` lists what it has)"
    )]
    NoHardwareClock {
        /// Its name.
        interface: String,
        /// What the system says.
        source: io::Error,
    },
    /// Its driver does not run XDP programs.
    #[error(
        "the driver of interface {interface} knows no XDP: write NUMBER@xdp:{interface},generic, \
         or NUMBER@{interface} for a packet socket, which is about as fast then"
    )]
    NoXdp {
        /// Its name.
        interface: String,
    },
    /// Its packets, or those of its peer, may be longer than XDP can take.
    #[error(
        "interface {interface} or its peer has an MTU that is too great for XDP ({longest} is not): \
         `ip link set {interface} mtu {longest}`, or NUMBER@{interface} for a packet socket"
    )]
    TooLong {
        /// Its name.
        interface: String,
        /// The greatest MTU that is not.
        longest: usize,
    },
    /// It runs an XDP program of somebody else's.
    #[error(
        "interface {interface} runs another XDP program, or another switch has it: \
         `ip link set {interface} xdp off`"
    )]
    Taken {
        /// Its name.
        interface: String,
    },
    /// Workers would be without packets.
    #[error(
        "interface {interface} has {queues} receive queue(s) for {workers} workers: \
         `ethtool -L {interface} rx {workers} tx {workers}`, fewer workers, or \
         NUMBER@{interface} for a packet socket"
    )]
    TooFewQueues {
        /// Its name.
        interface: String,
        /// How many it has.
        queues: u32,
        /// How many are wanted.
        workers: usize,
    },
    /// This program was built without DPDK.
    #[error(
        "this program was built without DPDK; build it with --features dpdk, which needs \
         Debian's libdpdk-dev"
    )]
    NoDpdk,
    /// It is no device of DPDK's that is known here.
    #[error(
        "{device:?} is no device for a port: write net_af_packet0,iface=INTERFACE, \
             net_memif0,socket=PATH, net_ring0 or net_null0"
    )]
    NoSuchDevice {
        /// What was written.
        device: String,
    },
    /// Workers would be without packets.
    #[error(
        "device {device} has {queues} queue(s) for {workers} workers; \
             its arguments may give it more, as qpairs={workers} of net_af_packet"
    )]
    TooFewDeviceQueues {
        /// Its name.
        device: String,
        /// How many it has.
        queues: u16,
        /// How many are wanted.
        workers: usize,
    },
    /// What DPDK says.
    #[error("DPDK cannot open device {device}: {source}")]
    Dpdk {
        /// Its name.
        device: String,
        /// Why.
        source: io::Error,
    },
    /// What the system says.
    #[error("cannot open interface {interface}: {source}")]
    System {
        /// Its name.
        interface: String,
        /// Why.
        source: io::Error,
    },
    /// A capture cannot be read.
    #[error(transparent)]
    Capture(#[from] pcap::CaptureError),
    /// A capture cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Output {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_read_as_they_are_written() {
        let source = |text: &str| text.parse().map(|spec: PortSpec| (spec.number, spec.source));
        let socket = |interface: &str| Source::AfPacket { interface: interface.to_owned() };
        assert_eq!(source("1@veth0"), Ok((1, socket("veth0"))));
        assert_eq!(source("0@af_packet:s1-eth1"), Ok((0, socket("s1-eth1"))));
        let xdp = |generic| Source::Xdp { interface: "eth1".to_owned(), generic };
        assert_eq!(source("3@xdp:eth1"), Ok((3, xdp(false))));
        assert_eq!(source("3@xdp:eth1,generic"), Ok((3, xdp(true))));
        let capture = |input: Option<&str>, output: Option<&str>, repeat| {
            let [input, output] = [input, output].map(|path| path.map(PathBuf::from));
            Source::Pcap(pcap::Files { input, output, repeat })
        };
        for (text, expected) in [
            ("2@pcap:in,out", capture(Some("in"), Some("out"), false)),
            ("2@pcap:in", capture(Some("in"), None, false)),
            ("2@pcap:,out", capture(None, Some("out"), false)),
            ("2@pcap:in,,repeat", capture(Some("in"), None, true)),
        ] {
            assert_eq!(source(text), Ok((2, expected)), "{text}");
        }
    }

    #[test]
    fn what_is_no_port_says_what_to_write() {
        let forms =
            ["", "veth0", "@veth0", "x@veth0", "-1@veth0", "4294967296@veth0", "1@", "1@pcap:"];
        for text in forms.into_iter().chain(["1@pcap:,", "1@pcap:a,b,c", "1@pcap:a,b,repeat,"]) {
            let error = text.parse::<PortSpec>().expect_err(text);
            assert_eq!(error, SpecError::Form { text: text.to_owned() });
        }
        let error = "1@token:ring".parse::<PortSpec>().expect_err("there are none");
        assert!(error.to_string().contains("af_packet:INTERFACE"), "{error}");
    }
}
