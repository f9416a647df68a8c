//! The interface that connects this process to the switch, and the packets that request updates. A
//! packet names an entry and a value for it, passes the switch, and comes back. The kernel stamps
//! departure and return by one clock, so the figures do not include the time that this process
//! takes.

use packetio::timestamp::{Direction, Stamped, Timestamper};
use packetio::{OpenError, Port, Transmitted, af_packet};

/// The length of the Ethernet header in bytes. The number of the entry and the value follow it.
const ETHERNET: usize = 14;
/// The length in bytes of all headers, which end with the number of the packet.
const HEADERS: usize = ETHERNET + 4 + 4 + 8 + 8;

/// A packet that was sent, with its time stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Passage {
    pub(super) entry: u32,
    /// The value that the packet requested for the entry.
    pub(super) wanted: u32,
    /// The time at which the packet was passed to the driver, in nanoseconds since 1970.
    pub(super) sent: Option<u64>,
    /// The return of the packet, or `None` if it has not come back.
    pub(super) back: Option<Back>,
}

/// The return of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Back {
    /// The time at which the driver delivered the packet, in nanoseconds since 1970.
    pub(super) at: u64,
    /// The value that the packet found in the entry.
    pub(super) found: u32,
}

impl Passage {
    /// Returns the time from the departure of the packet to its return, in nanoseconds.
    pub(super) fn delay(&self) -> Option<u64> {
        self.back?.at.checked_sub(self.sent?)
    }
}

/// The reason why packets cannot be sent to the switch.
#[derive(Debug, thiserror::Error)]
pub(super) enum WireError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("the interface does not take the packets: {0:?}")]
    Refused(Transmitted),
    #[error("the interface's queue stays full")]
    Full,
}

/// An interface to a switch, with the packets that were sent on it.
#[derive(Debug)]
pub(super) struct Wire {
    port: Port,
    departures: Timestamper,
    returns: Timestamper,
    /// A random number that identifies the packets of this run.
    key: u64,
    passages: Vec<Passage>,
    /// The number of the packet that is the first of `passages`.
    first: u64,
    missing: usize,
    frame: Vec<u8>,
}

impl Wire {
    pub(super) fn open(interface: &str, key: u64) -> Result<Self, WireError> {
        Ok(Self {
            port: af_packet::open(interface, 1)?,
            departures: Timestamper::open(interface, Direction::Outgoing, false)?,
            returns: Timestamper::open(interface, Direction::Incoming, false)?,
            key,
            passages: Vec::new(),
            first: 0,
            missing: 0,
            frame: Vec::new(),
        })
    }

    /// Sends a packet of `length` bytes that requests the value `wanted` for an entry.
    pub(super) fn send(&mut self, entry: u32, wanted: u32, length: usize) -> Result<(), WireError> {
        let number = self.first + self.passages.len() as u64;
        write(&mut self.frame, Contents { entry, value: wanted, key: self.key, number }, length);
        let Some(queue) = self.port.queues.first_mut() else { return Err(WireError::Full) };
        match queue.transmit(&self.frame) {
            Transmitted::Taken => {}
            Transmitted::Full => return Err(WireError::Full),
            refused => return Err(WireError::Refused(refused)),
        }
        let tries = (0..1_000_000).find(|_| queue.flush());
        tries.ok_or(WireError::Full)?;
        self.passages.push(Passage { entry, wanted, ..Passage::default() });
        self.missing += 1;
        Ok(())
    }

    /// Reads the time stamps that have arrived since the last call.
    pub(super) fn look(&mut self) {
        let Self { departures, returns, key, passages, first, missing, .. } = self;
        let mut note = |stamped: &Stamped<'_>, is_return: bool| {
            let contents = read(stamped.frame).filter(|contents| contents.key == *key);
            let Some(Contents { value, number, .. }) = contents else { return };
            let place = number.checked_sub(*first).and_then(|place| usize::try_from(place).ok());
            let Some(passage) = place.and_then(|place| passages.get_mut(place)) else { return };
            if !is_return {
                passage.sent = Some(stamped.nanoseconds);
            } else if passage.back.is_none() {
                passage.back = Some(Back { at: stamped.nanoseconds, found: value });
                *missing -= 1;
            }
        };
        departures.take(|stamped| note(&stamped, false));
        returns.take(|stamped| note(&stamped, true));
    }

    /// Returns the number of packets that have not come back.
    pub(super) fn missing(&self) -> usize {
        self.missing
    }

    /// Returns the packets that were sent since the last call of [`Self::take`], with their time
    /// stamps.
    pub(super) fn passages(&self) -> &[Passage] {
        &self.passages
    }

    /// Removes and returns all packets. Packets that have not come back are no longer waited for.
    pub(super) fn take(&mut self) -> Vec<Passage> {
        self.first += self.passages.len() as u64;
        self.missing = 0;
        std::mem::take(&mut self.passages)
    }
}

/// The fields that a packet carries: those of its update, and those that identify the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Contents {
    entry: u32,
    value: u32,
    key: u64,
    number: u64,
}

fn write(frame: &mut Vec<u8>, contents: Contents, length: usize) {
    frame.clear();
    frame.extend([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5]);
    frame.extend(contents.entry.to_be_bytes());
    frame.extend(contents.value.to_be_bytes());
    frame.extend(contents.key.to_be_bytes());
    frame.extend(contents.number.to_be_bytes());
    frame.resize(length.max(HEADERS), 0);
}

fn read(frame: &[u8]) -> Option<Contents> {
    let (entry, rest) = frame.get(ETHERNET..)?.split_first_chunk()?;
    let (value, rest) = rest.split_first_chunk()?;
    let (key, rest) = rest.split_first_chunk()?;
    let (number, _) = rest.split_first_chunk()?;
    Some(Contents {
        entry: u32::from_be_bytes(*entry),
        value: u32::from_be_bytes(*value),
        key: u64::from_be_bytes(*key),
        number: u64::from_be_bytes(*number),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_read_as_they_were_written_and_short_frames_have_none() {
        let contents = Contents { entry: 7, value: 0x0102_0304, key: u64::MAX - 1, number: 9 };
        let mut frame = Vec::new();
        write(&mut frame, contents, 84);
        assert_eq!((frame.len(), read(&frame)), (84, Some(contents)));
        assert_eq!(read(&frame[..HEADERS - 1]), None);
        write(&mut frame, contents, 1);
        assert_eq!(frame.len(), HEADERS);
    }
}
