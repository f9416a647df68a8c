//! Reserves the TCP ports on which P4Runtime servers listen, from before any controller connects
//! until the run ends.
//!
//! The kernel assigns any free port of its ephemeral range to an outgoing connection. A controller
//! that connects to thousands of switches before they listen, or between two trials, may be
//! assigned the very port of a switch, which then cannot listen. The kernel does not assign a port
//! to which a socket is bound. Therefore each port is reserved for the whole run by a socket that
//! is bound to it and does not listen. The listening sockets of each trial are bound to the same
//! port (both with `SO_REUSEADDR`). While there is no listening socket, connections are refused, as
//! they would be without the reservation.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketType, bind, ipproto, socket, sockopt};

use super::addresses;
use crate::config::{Config, Protocol};

/// The reason why ports cannot be reserved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PortsError {
    /// The system refuses to bind a socket to an address, or to listen on it.
    #[error("cannot listen on {address}: {cause}; {}", advice(cause))]
    Listen {
        /// The address at which the probe cannot listen.
        address: SocketAddr,
        /// The error of the operating system.
        cause: io::Error,
    },
    /// Fewer ports are free than the servers need.
    #[error(
        "{wanted} servers need a port each, and from {first} on only {free} are free; begin lower \
         with --first-port, or put several devices behind each port with --devices-per-port"
    )]
    TooFew {
        /// The first port of the configured range.
        first: u16,
        /// The number of ports that are needed.
        wanted: u32,
        /// The number of ports that are free.
        free: u32,
    },
}

/// Returns advice for the user if the system refuses to listen.
fn advice(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::AddrInUse => {
            "choose another --first-port, or let the controller learn the addresses from \
             --list-file, --netcfg-file or --onos-rest, and ports in use are passed over"
        }
        io::ErrorKind::AddrNotAvailable => "--listen must be an address of this host",
        io::ErrorKind::PermissionDenied => {
            "ports below 1024 need privileges: choose a --first-port from there on"
        }
        _ if is_out_of_files(cause) => {
            "each server and each connection is a file: raise the limit (ulimit -n), or put several \
             devices behind each port (--devices-per-port)"
        }
        _ => "choose another --listen or --first-port",
    }
}

fn is_out_of_files(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE]
        .iter()
        .any(|errno| code == Some(errno.raw_os_error()))
}

/// The reserved ports of a run. Dropping this value releases them.
#[derive(Debug, Default)]
pub struct HeldPorts {
    /// The sockets that are bound to the reserved ports, one for each port.
    sockets: Vec<OwnedFd>,
    passed_over: Vec<u16>,
}

impl HeldPorts {
    /// Reserves ports for the largest number of switches in any trial, or none if the protocol is
    /// not P4Runtime.
    ///
    /// Ports that are in use are skipped if the controller is informed of the addresses of the
    /// switches. Either the run informs it by a file or by a request to ONOS, or the caller does
    /// (`caller_announces`), which must call [`HeldPorts::apply`] first. Otherwise the controller
    /// expects consecutive ports, and a port in use is an error.
    ///
    /// # Errors
    ///
    /// Returns an error if the system refuses a port, or if too few ports are free.
    pub fn take(config: &Config, caller_announces: bool) -> Result<Self, PortsError> {
        if config.protocol != Protocol::P4Runtime {
            return Ok(Self::default());
        }
        let (own, controller) = (&config.p4runtime, &config.controller);
        let announces = caller_announces
            || controller.onos_rest.is_some()
            || controller.netcfg_file.is_some()
            || controller.list_file.is_some();
        let wanted = config.most_switches().div_ceil(own.devices_per_port.max(1));
        let mut held = Self::default();
        for port in own.first_port..=u16::MAX {
            if held.sockets.len() as u64 >= u64::from(wanted) {
                break;
            }
            let address = SocketAddr::new(own.listen, port);
            match hold(address, announces) {
                Ok(socket) => held.sockets.push(socket),
                Err(cause) if announces && cause.kind() == io::ErrorKind::AddrInUse => {
                    held.passed_over.push(port);
                }
                Err(cause) => return Err(PortsError::Listen { address, cause }),
            }
        }
        let free = held.sockets.len() as u32;
        if free < wanted {
            return Err(PortsError::TooFew { first: own.first_port, wanted, free });
        }
        Ok(held)
    }

    /// Returns whether ports within the range were skipped because they are in use.
    pub(crate) fn has_gaps(&self) -> bool {
        !self.passed_over.is_empty()
    }

    /// Records in a configuration which ports were skipped.
    pub fn apply(&self, config: &mut Config) {
        config.p4runtime.passed_over.clone_from(&self.passed_over);
    }

    /// Returns a remark on the skipped ports for the reader of the result, or `None` if none were
    /// skipped.
    pub(crate) fn note(&self, config: &Config) -> Option<String> {
        let first = self.passed_over.first()?;
        let last = addresses(config).last().map_or(*first, |device| device.listen.port());
        Some(match self.passed_over.len() {
            1 => {
                format!("Port {first} is in use and was passed over: switches listen up to {last}.")
            }
            n => format!(
                "{n} ports from {first} on are in use and were passed over: switches listen up to \
                 {last}."
            ),
        })
    }
}

/// Binds a socket to an address. If the port is used by an outgoing connection and `has_choice` is
/// false, waits until the port is free again.
fn hold(address: SocketAddr, has_choice: bool) -> io::Result<OwnedFd> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let error = match bound(address) {
            Ok(socket) => return Ok(socket),
            Err(error) => error,
        };
        if error.kind() != io::ErrorKind::AddrInUse
            || has_choice
            || Instant::now() >= deadline
            || somebody_listens(address)
        {
            return Err(error);
        }
        std::thread::sleep(STEP);
    }
}

fn bound(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket(family, SocketType::STREAM, Some(ipproto::TCP))?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &address)?;
    Ok(socket)
}

/// Returns whether another process accepts connections at an address. A connection attempt to a
/// free ephemeral port may be assigned that very port as its source, and is then connected to
/// itself (RFC 9293, section 3.5, simultaneous open). This case does not count.
fn somebody_listens(address: SocketAddr) -> bool {
    TcpStream::connect_timeout(&address, STEP)
        .and_then(|stream| Ok(stream.local_addr()? != stream.peer_addr()?))
        .unwrap_or(false)
}

/// The longest time for which a port in use by an outgoing connection is awaited. A closed
/// connection remains in TIME_WAIT for 60 s.
const TIMEOUT: Duration = Duration::from_secs(65);
/// The time between two attempts to bind a port in use by an outgoing connection.
const STEP: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::config::{Origin, Settings};

    fn config(first: u16, more: &[(&str, &str)]) -> Config {
        let mut settings = Settings::new();
        let first = first.to_string();
        let own = [("protocol", "p4runtime"), ("p4runtime.first-port", &first)];
        for (key, value) in own.iter().chain(more) {
            settings.set(key, value, Origin::Flag);
        }
        settings.resolve().expect("settings").config
    }

    /// Returns the first of `count` consecutive free ports below the ephemeral range. Tests in
    /// other processes look at different ports.
    fn free_ports(count: u16) -> u16 {
        let from = 2_000 + (std::process::id() % 20_000) as u16;
        (from..32_000)
            .step_by(usize::from(count))
            .find(|first| {
                (*first..*first + count).all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok())
            })
            .expect("free ports")
    }

    #[test]
    fn a_thousand_switches_listen_below_the_ports_that_the_kernel_lends() {
        let mut settings = Settings::new();
        settings.set("protocol", "p4runtime", Origin::Flag);
        settings.set("switches.count", "1000", Origin::Flag);
        let config = settings.resolve().expect("settings").config;
        let ports = super::super::addresses(&config).into_iter().map(|one| one.listen.port());
        // The default range of Linux, net.ipv4.ip_local_port_range, begins at 32768.
        assert!(ports.clone().all(|port| port > 1_023 && port < 32_768));
        assert_eq!(ports.collect::<std::collections::BTreeSet<_>>().len(), 1_000);
    }

    #[test]
    fn switches_may_have_one_device_id_behind_ports_of_their_own() {
        let same = config(2_000, &[("switches.count", "3"), ("p4runtime.same-device-id", "true")]);
        let each: Vec<_> = super::super::addresses(&same)
            .into_iter()
            .map(|one| (one.device_id, one.number, one.listen.port()))
            .collect();
        assert_eq!(each, [(1, 1, 2_000), (1, 2, 2_001), (1, 3, 2_002)]);
    }

    #[test]
    fn a_held_port_is_lent_to_no_connection_and_can_be_listened_on() {
        // Another process may take a port between its choice and its use.
        let taken = (0..10).find_map(|_| {
            let first = free_ports(4);
            let config = config(first, &[("switches.count", "2")]);
            Some((first, HeldPorts::take(&config, false).ok()?))
        });
        let (first, held) = taken.expect("free ports");
        for port in [first, first + 1] {
            let address = SocketAddr::from(([127, 0, 0, 1], port));
            // Binds without SO_REUSEADDR, as the kernel does for an outgoing connection.
            let other = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
            assert_eq!(bind(&other, &address), Err(rustix::io::Errno::ADDRINUSE), "{port}");
            assert!(TcpStream::connect(address).is_err(), "nobody listens at {port} yet");
            // Repeats what every trial of a run does.
            for _ in 0..2 {
                let listener = TcpListener::bind(address).expect("a listener beside it");
                let _dialled = TcpStream::connect(address).expect("somebody listens");
                listener.accept().expect("a connection");
            }
        }
        drop(held);
        assert!(TcpListener::bind(("127.0.0.1", first)).is_ok());
    }

    #[test]
    fn ports_in_use_are_passed_over_where_the_controller_learns_the_addresses() {
        let first = free_ports(6);
        let taken = [first + 1, first + 2].map(|port| TcpListener::bind(("127.0.0.1", port)));
        let ports = |config: &Config| -> Vec<u16> {
            addresses(config).iter().map(|device| device.listen.port()).collect()
        };
        let mut own = config(first, &[("switches.count", "3")]);
        let error = HeldPorts::take(&own, false).expect_err("a port is taken").to_string();
        assert!(error.contains(&format!("127.0.0.1:{}: ", first + 1)), "{error}");
        assert!(error.contains("--first-port") && error.contains("--list-file"), "{error}");
        assert_eq!(ports(&own), [first, first + 1, first + 2]);
        let held = HeldPorts::take(&own, true).expect("enough others");
        held.apply(&mut own);
        assert_eq!(ports(&own), [first, first + 3, first + 4]);
        let note = held.note(&own).expect("something to say");
        assert!(note.starts_with(&format!("2 ports from {} on", first + 1)), "{note}");
        assert!(note.ends_with(&format!("up to {}.", first + 4)), "{note}");
        drop(held);
        let listed =
            config(first, &[("switches.count", "3"), ("controller.list-file", "switches.txt")]);
        HeldPorts::take(&listed, false).expect("the file says where");
        drop(taken);
    }

    #[test]
    fn each_refusal_has_advice_of_its_own() {
        let said = |errno: rustix::io::Errno| {
            let cause = io::Error::from_raw_os_error(errno.raw_os_error());
            let address = SocketAddr::from(([127, 0, 0, 1], 20_001));
            PortsError::Listen { address, cause }.to_string()
        };
        for errno in [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE] {
            let text = said(errno);
            assert!(text.contains("ulimit -n") && !text.contains("--first-port"), "{text}");
        }
        assert!(said(rustix::io::Errno::ADDRINUSE).contains("--first-port"));
        assert!(said(rustix::io::Errno::ADDRNOTAVAIL).contains("--listen"));
        assert!(said(rustix::io::Errno::ACCESS).contains("1024"));
    }

    #[test]
    fn ports_that_do_not_suffice_are_counted() {
        let mut config = config(65_534, &[("switches.count", "2")]);
        config.switches.count = 4;
        match HeldPorts::take(&config, true) {
            Err(PortsError::TooFew { first: 65_534, wanted: 4, free }) => assert!(free <= 2),
            other => panic!("{other:?}"),
        }
    }
}
