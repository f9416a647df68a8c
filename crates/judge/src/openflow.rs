//! Judges a switch by the requirements of OpenFlow 1.0.0 and 1.3.5, from the side of its
//! controller.
//!
//! The switch connects to the address that is listened on. All flow entries match a source address
//! that no other packet is likely to have, so other traffic is not affected; groups and meters have
//! numbers that other controllers are not likely to use. What a requirement leaves in the switch is
//! deleted before the next one is tried. Valid messages are those of the crate [`openflow`];
//! malformed ones are built byte by byte.

mod bench;
mod requirements;
mod session;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use grpc::tls::ServerTls;
use openflow::Version;

use self::bench::Bench;
use self::session::Session;
use crate::channel::ConnectError;
use crate::demands::Fault;
use crate::{Level, Outcome, Requirement, Tried};

/// A function that tries a requirement on the bench.
type Attempt = fn(&mut Bench) -> Result<(), Fault>;

/// A requirement of OpenFlow, with the section that states it in each version.
struct Trial {
    sections: [Option<&'static str>; 2],
    id: &'static str,
    text: &'static str,
    attempt: Attempt,
}

impl Trial {
    /// Returns the requirement as a version of OpenFlow states it, or `None` if that version does
    /// not contain it.
    fn of(&self, version: Version) -> Option<Requirement> {
        let [first, second] = self.sections;
        let section = match version {
            Version::V1_0 => first,
            Version::V1_3 => second,
        };
        Some(Requirement { section: section?, id: self.id, level: Level::Must, text: self.text })
    }
}

/// Returns a requirement that both versions contain, in these sections.
const fn both(
    v1_0: &'static str,
    v1_3: &'static str,
    id: &'static str,
    text: &'static str,
    attempt: Attempt,
) -> Trial {
    Trial { sections: [Some(v1_0), Some(v1_3)], id, text, attempt }
}

/// Returns a requirement that only OpenFlow 1.3 contains.
const fn v1_3(
    section: &'static str,
    id: &'static str,
    text: &'static str,
    attempt: Attempt,
) -> Trial {
    Trial { sections: [None, Some(section)], id, text, attempt }
}

/// The address at which an OpenFlow switch is awaited, and the version by which it is judged.
#[derive(Clone, Copy, Debug)]
pub struct Listening<'a> {
    /// The address on which to listen. With port 0, the system chooses a port.
    pub address: SocketAddr,
    /// The version whose requirements are tried. With `None`, it is 1.3 if the switch's hello
    /// message offers 1.3 or a later version, and otherwise 1.0.
    pub only: Option<Version>,
    /// The server's certificates, for TLS with client authentication; `None` for plain TCP.
    pub tls: Option<&'a ServerTls>,
}

/// Waits for a switch to connect, and tests it against the requirements of one version of OpenFlow.
/// The function calls `listens` with the address on which
/// it listens, and `progress` with the numbers of requirements tried and of all. If `stop` is set,
/// it returns after the current requirement, with the results of those that it has tried.
///
/// # Errors
/// Returns an error if the certificates cannot be used, if the address cannot be listened on, if no
/// switch connects within a minute or before `stop` is set, or if the handshake with the switch
/// fails.
pub fn judge_openflow(
    listening: &Listening<'_>,
    stop: &AtomicBool,
    listens: &mut dyn FnMut(SocketAddr),
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Outcome, ConnectError> {
    let tls = listening.tls.map(ServerTls::config).transpose()?.map(Arc::new);
    let listener = session::listen(listening.address)?;
    listens(listener.local_addr()?);
    let mut bench = Bench::new(Session::accept(&listener, listening.only, tls, stop)?);
    let version = bench.version();
    let trials: Vec<_> =
        requirements::all().filter_map(|trial| Some((trial.of(version)?, trial.attempt))).collect();
    let (mut tried, mut left) = (Vec::new(), Vec::new());
    for (requirement, attempt) in &trials {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let verdict = bench.attempt(*attempt);
        left.extend(bench.clean());
        let exchanges = bench.take_exchanges();
        tried.push(Tried { requirement: *requirement, verdict, exchanges });
        progress(tried.len() as u64, trials.len() as u64);
    }
    let version = match version {
        Version::V1_0 => "1.0",
        Version::V1_3 => "1.3",
    };
    Ok(Outcome { version: Some(version.to_owned()), tried, left })
}
