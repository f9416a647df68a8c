//! The packets that name an entry and a value for it, and the interface through which they go to a
//! switch and come back. Both directions are stamped by one clock of the kernel, so the time that
//! this process takes is in no figure.

use packetio::timestamp::{Direction, Stamped, Timestamper};
use packetio::{OpenError, Port, Transmitted, af_packet};

/// The bytes of the Ethernet header, before the entry and the value.
const ETHERNET: usize = 14;
/// The bytes up to the end of the packet's number.
const HEADERS: usize = ETHERNET + 4 + 4 + 8 + 8;

/// A packet that was sent, and what is known of its return.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Passage {
    pub(super) entry: u32,
    /// The value that the packet demanded for the entry.
    pub(super) wanted: u32,
    /// The time at which the packet went to the driver, in nanoseconds since 1970.
    pub(super) sent: Option<u64>,
    /// The return of the packet.
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

/// The reason why packets cannot be sent.
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
    /// A number by which the packets of this run are recognised.
    key: u64,
    passages: Vec<Passage>,
    /// The number of the first packet of `passages`.
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

    /// Sends a packet of `length` bytes which names an entry and a value for it.
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

    /// Takes the stamps that have been made since the last look.
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

    /// Returns the packets since the last call of [`Self::take`].
    pub(super) fn passages(&self) -> &[Passage] {
        &self.passages
    }

    /// Takes all packets. Those that have not come back are not awaited any longer.
    pub(super) fn take(&mut self) -> Vec<Passage> {
        self.first += self.passages.len() as u64;
        self.missing = 0;
        std::mem::take(&mut self.passages)
    }
}

/// The fields of a packet that name its update and identify it.
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
