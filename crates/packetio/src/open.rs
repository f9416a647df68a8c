//! Parses the description of a port that a user writes, such as `1@veth0`, and opens the port.

use crate::af_packet::RingMemory;
use crate::{Port, af_packet, pcap, xdp};
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

/// A port of a switch in the form `NUMBER@ADDRESS` or `NUMBER@KIND:ADDRESS`, such as `1@veth0` or
/// `2@pcap:in.pcap,out.pcap`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSpec {
    /// The number by which the data-plane program refers to the port.
    pub number: u32,
    /// The source of the port, such as a network interface or capture files.
    pub source: Source,
}

/// The device or the files from which a port receives packets, and to which it sends them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// The port is a packet socket: `INTERFACE` or `af_packet:INTERFACE`.
    AfPacket {
        /// The name of the network interface.
        interface: String,
    },
    /// The port consists of XDP sockets: `xdp:INTERFACE[,generic]`.
    Xdp {
        /// The name of the network interface.
        interface: String,
        /// Whether to use the kernel's generic path, for drivers without XDP support.
        generic: bool,
    },
    /// The port is a virtual device of DPDK, if this program was built with DPDK:
    /// `dpdk:DEVICE[,ARGUMENT]...`.
    Dpdk {
        /// The device and its arguments, in DPDK's syntax.
        device: String,
    },
    /// The port reads and writes capture files: `pcap:[INPUT][,[OUTPUT][,repeat]]`.
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

/// Parses the address of a port on capture files, `[INPUT][,[OUTPUT][,repeat]]`. Returns `None` if
/// the text is not of this form or names no file.
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

/// The reason why the text of a port is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// The text is not of the form `NUMBER@ADDRESS` or `NUMBER@KIND:ADDRESS`.
    #[error(
        "{text:?} is not a port: write NUMBER@INTERFACE, such as 1@veth0, or NUMBER@pcap:IN,OUT"
    )]
    Form {
        /// The invalid text.
        text: String,
    },
    /// The kind of port is unknown.
    #[error("{kind:?} is not a kind of port: write {KINDS}")]
    Kind {
        /// The unknown kind, as written.
        kind: String,
    },
}

/// The forms of an address with its kind, for error messages.
const KINDS: &str = "af_packet:INTERFACE, xdp:INTERFACE[,generic], dpdk:DEVICE[,ARGUMENT]... or pcap:IN,OUT[,repeat]";

/// Opens a port with one queue for each of `queues` workers. For a packet socket, each queue has a
/// receive ring of the size `memory`.
///
/// # Errors
/// Returns an [`OpenError`] if the port does not exist, or this process may not open it.
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

/// The reason why a port cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no interface with this name.
    #[error(
        "there is no interface {interface} in this network namespace; `ip link` lists them, and `ip link add {interface} \
         type veth peer name NAME` makes a virtual pair, as root"
    )]
    NoInterface {
        /// The name of the interface.
        interface: String,
    },
    /// The interface does not carry Ethernet frames.
    #[error("interface {interface} does not carry Ethernet frames; a switch needs one that does")]
    NotEthernet {
        /// The name of the interface.
        interface: String,
    },
    /// This process lacks the permission to open the interface.
    #[error(
        "opening interface {interface} needs CAP_NET_RAW and CAP_NET_ADMIN: run as root, or give them to the program \
         (setcap cap_net_raw,cap_net_admin+ep)"
    )]
    NotPermitted {
        /// The name of the interface.
        interface: String,
    },
    /// The network card has no clock, or cannot timestamp frames in this direction.
    #[error(
        "interface {interface} cannot stamp frames in hardware ({source}): stamp them in the kernel, \
         or receive copies of them through taps on a card with a clock (`ethtool -T` lists what it has)"
    )]
    NoHardwareClock {
        /// The name of the interface.
        interface: String,
        /// The cause, as reported by the system.
        source: io::Error,
    },
    /// The driver of the interface does not support XDP.
    #[error(
        "the driver of interface {interface} does not support XDP: write NUMBER@xdp:{interface},generic, \
         or NUMBER@{interface} for a packet socket, which is about as fast then"
    )]
    NoXdp {
        /// The name of the interface.
        interface: String,
    },
    /// The MTU of the interface or of its peer is too large for XDP.
    #[error(
        "interface {interface} or its peer has an MTU that is too great for XDP (the maximum is {longest}): \
         `ip link set {interface} mtu {longest}`, or NUMBER@{interface} for a packet socket"
    )]
    TooLong {
        /// The name of the interface.
        interface: String,
        /// The largest MTU in bytes that is possible with XDP.
        longest: usize,
    },
    /// Another XDP program is attached to the interface.
    #[error(
        "interface {interface} runs another XDP program, or another switch has it: \
         `ip link set {interface} xdp off`"
    )]
    Taken {
        /// The name of the interface.
        interface: String,
    },
    /// The interface has fewer receive queues than there are workers.
    #[error(
        "interface {interface} has {queues} receive queue(s) for {workers} workers: \
         `ethtool -L {interface} rx {workers} tx {workers}`, fewer workers, or \
         NUMBER@{interface} for a packet socket"
    )]
    TooFewQueues {
        /// The name of the interface.
        interface: String,
        /// The number of receive queues.
        queues: u32,
        /// The number of workers, each of which needs a queue.
        workers: usize,
    },
    /// This program was built without DPDK.
    #[error(
        "this program was built without DPDK; build it with --features dpdk, which needs \
         Debian's libdpdk-dev"
    )]
    NoDpdk,
    /// DPDK has no device of this name on which a port can be opened.
    #[error(
        "{device:?} is not a device for a port: write net_af_packet0,iface=INTERFACE, net_memif0,socket=PATH, \
             net_ring0 or net_null0"
    )]
    NoSuchDevice {
        /// The device that was named.
        device: String,
    },
    /// The device has fewer queues than there are workers.
    #[error(
        "device {device} has {queues} queue(s) for {workers} workers; \
             its arguments may give it more, as qpairs={workers} of net_af_packet"
    )]
    TooFewDeviceQueues {
        /// The name of the device.
        device: String,
        /// The number of queues of the device.
        queues: u16,
        /// The number of workers, each of which needs a queue.
        workers: usize,
    },
    /// DPDK cannot open the device.
    #[error("DPDK cannot open device {device}: {source}")]
    Dpdk {
        /// The name of the device.
        device: String,
        /// The error that the system reported.
        source: io::Error,
    },
    /// The system reports another error.
    #[error("cannot open interface {interface}: {source}")]
    System {
        /// The name of the interface.
        interface: String,
        /// The error that the system reported.
        source: io::Error,
    },
    /// The input capture cannot be read.
    #[error(transparent)]
    Capture(#[from] pcap::CaptureError),
    /// The output capture cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Output {
        /// The path of the file.
        path: PathBuf,
        /// The error that the system reported.
        source: io::Error,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_of_ports_are_parsed_and_printed_the_same() {
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
    fn errors_show_the_form_of_a_port() {
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
