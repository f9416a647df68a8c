//! Periodic samples of the state of a trial's TCP connections, each summed over all connections.

use std::collections::{HashMap, HashSet};
use std::io;
use std::time::{Duration, Instant};

use measuring::tcp::{Connection, Diag, Ends};
use serde::{Deserialize, Serialize};

use crate::usage::own_sockets;

/// Limits the time that sampling takes within the measured window to one part in this number. The
/// thread that leads a trial takes the samples, between its other tasks.
const SHARE: u32 = 100;

/// A sample of the state of this process's TCP connections, as sums over the connections. Times are
/// in nanoseconds since the start of traffic. Counters start at zero with the first sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Look {
    pub(crate) at: u64,
    pub(crate) connections: u64,
    /// The number of bytes that have arrived and that the probe has not read.
    pub(crate) unread: u64,
    /// The number of bytes in flight (written but not acknowledged), over the connections whose
    /// peer accepts more data.
    pub(crate) on_their_way: u64,
    /// The number of written bytes that the kernel has not sent although the peer accepts more
    /// data. A connection counts only if it has more than a segment of them.
    pub(crate) delayed: u64,
    /// The number of written bytes that the kernel has not sent because the peer's receive window
    /// does not permit it.
    pub(crate) window_limited_bytes: u64,
    /// The number of connections on which the probe's own receive window prevents the peer from
    /// sending.
    pub(crate) limiting_peers: u64,
    /// The number of bytes that were written (`written`), and the number of bytes that were read
    /// (`read`).
    pub(crate) written: u64,
    pub(crate) read: u64,
    /// The time in nanoseconds for which receive windows of peers prevented sending, summed over
    /// the connections.
    pub(crate) window_limited: u64,
    /// The number of retransmitted segments.
    pub(crate) retransmissions: u64,
    /// The mean over the connections of the minimum round-trip time in nanoseconds, or `None` if
    /// none was measured.
    pub(crate) least_rtt: Option<u64>,
}

/// Samples the TCP connections of this process, and keeps the samples.
#[derive(Debug)]
pub(crate) struct Watch {
    diag: Diag,
    looks: Vec<Look>,
    known: HashMap<u32, Connection>,
    /// The inodes of those sockets of the connections that belong to this process.
    own: HashSet<u32>,
    /// The inodes of those sockets of the connections that belong to other processes.
    foreign: HashSet<u32>,
    /// The time at which the last sample was complete, and the time that it took.
    last: Option<(Instant, Duration)>,
}

impl Watch {
    pub(crate) fn new(ends: Ends) -> io::Result<Self> {
        Ok(Self {
            diag: Diag::open(ends)?,
            looks: Vec::new(),
            known: HashMap::new(),
            own: HashSet::new(),
            foreign: HashSet::new(),
            last: None,
        })
    }

    /// Takes a sample, unless the last one was so recent that sampling would exceed the share of
    /// the time that [`SHARE`] allows. After a slow sample, the next one is therefore later.
    pub(crate) fn glance(&mut self, at: u64) -> io::Result<()> {
        match self.last {
            Some((ended, took)) if ended.elapsed() < SHARE * took => Ok(()),
            _ => self.look(at),
        }
    }

    /// Takes a sample of all connections.
    pub(crate) fn look(&mut self, at: u64) -> io::Result<()> {
        let started = Instant::now();
        let mut found = self.diag.connections()?;
        let is_known =
            |one: &Connection| self.own.contains(&one.inode) || self.foreign.contains(&one.inode);
        if !found.iter().all(is_known) {
            self.own = own_sockets().filter_map(|inode| u32::try_from(inode).ok()).collect();
            let others = found.iter().map(|one| one.inode);
            self.foreign = others.filter(|inode| !self.own.contains(inode)).collect();
        }
        found.retain(|one| self.own.contains(&one.inode));
        self.take(at, found);
        self.last = Some((Instant::now(), started.elapsed()));
        Ok(())
    }

    fn take(&mut self, at: u64, found: Vec<Connection>) {
        let before = self.looks.last().copied();
        // The counters continue from the previous sample, and all other values start at zero.
        let mut look = Look { at, ..before.unwrap_or_default().counters() };
        let span = at.saturating_sub(before.map_or(0, |before| before.at)) as f64;
        let mut rtts = Vec::new();
        for one in &found {
            // The bytes of a connection before the first sample of the trial are ignored. A
            // connection that appears after it counts in full.
            let earlier = match (self.known.get(&one.inode), before) {
                (Some(earlier), _) => *earlier,
                (None, None) => *one,
                (None, Some(_)) => Connection::default(),
            };
            let limited = 1_000 * one.window_limited.saturating_sub(earlier.window_limited);
            look.written += one.written().saturating_sub(earlier.written());
            look.read += one.read().saturating_sub(earlier.read());
            look.window_limited += limited;
            look.retransmissions +=
                u64::from(one.retransmissions.saturating_sub(earlier.retransmissions));
            look.unread += u64::from(one.unread);
            match one.is_kept_back(limited as f64 / span.max(1.0)) {
                true => look.window_limited_bytes += u64::from(one.not_sent),
                false => {
                    look.on_their_way += u64::from(one.unacknowledged);
                    // Less than a full segment may just wait for more data, and is not counted as
                    // delayed.
                    if one.not_sent > one.send_segment {
                        look.delayed += u64::from(one.not_sent);
                    }
                }
            }
            look.limiting_peers += u64::from(one.keeps_peer_back());
            rtts.extend(one.least_rtt.map(|rtt| 1e3 * f64::from(rtt)));
        }
        look.connections = found.len() as u64;
        look.least_rtt = statistics::mean(&rtts).map(|mean| mean as u64);
        self.known = found.into_iter().map(|one| (one.inode, one)).collect();
        self.looks.push(look);
    }

    /// Returns the samples so far, in order.
    pub(crate) fn looks(&self) -> &[Look] {
        &self.looks
    }
}

impl Look {
    /// Returns a sample with the counters of this sample and all other values zero.
    fn counters(self) -> Self {
        let Self { written, read, window_limited, retransmissions, .. } = self;
        Self { written, read, window_limited, retransmissions, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn bytes_are_counted_from_the_first_look_and_of_new_connections_wholly() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let address = listener.local_addr().expect("an address");
        let dial = || {
            let dialled = TcpStream::connect(address).expect("connected");
            (dialled, listener.accept().expect("accepted").0)
        };
        let _turn = crate::usage::turn();
        let (mut first, mut its_peer) = dial();
        first.write_all(&[0; 50]).expect("room");
        let mut watch = Watch::new(Ends::Dialled(address.port())).expect("a socket");
        watch.look(1).expect("an answer");
        first.write_all(&[0; 100]).expect("room");
        its_peer.write_all(&[0; 30]).expect("room");
        let (mut second, _another) = dial();
        second.write_all(&[0; 7]).expect("room");
        watch.look(2).expect("an answer");
        first.read_exact(&mut [0; 20]).expect("bytes");
        drop((second, _another));
        watch.look(3).expect("an answer");
        let [before, between, after] = watch.looks() else { panic!("{:?}", watch.looks()) };
        assert_eq!((before.written, before.connections), (0, 1));
        // The kernel may count the establishment of a connection as a byte.
        assert!((107..=108).contains(&between.written), "{between:?}");
        assert_eq!((between.read, between.unread, between.connections), (0, 30, 2));
        assert_eq!((after.read, after.unread, after.connections), (20, 10, 1));
        assert_eq!(after.written, between.written);
        assert!(after.least_rtt.is_some_and(|rtt| rtt < 1_000_000_000));
    }
}
