//! Records the packets that pass a port.

use crate::pcap::SharedCapture;
use crate::{Burst, Port, PortDown, Queue, Transmitted};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;

/// The captures that record a port.
#[derive(Clone, Debug)]
pub struct Recording(Vec<SharedCapture>);

/// Records the packets that a port receives and transmits in `NAME_in.pcap` and `NAME_out.pcap`,
/// the names that BMv2 uses. Existing files are replaced.
///
/// # Errors
/// Returns an error if the files cannot be created.
pub fn record(port: Port, directory: &Path) -> io::Result<Port> {
    // The name of a port may be a path.
    let name = port.name.replace('/', "_");
    let capture = |way| SharedCapture::create(&directory.join(format!("{name}_{way}.pcap")));
    let [received, transmitted] = [capture("in")?, capture("out")?];
    let queues = port.queues.into_iter().map(|queue| {
        let (received, transmitted) = (received.clone(), transmitted.clone());
        Box::new(Tap { queue, received, transmitted }) as Box<dyn Queue>
    });
    let mut captures = vec![received.clone(), transmitted.clone()];
    // The port itself may already write a capture.
    captures.extend(port.recording.into_iter().flat_map(|recording| recording.0));
    Ok(Port { queues: queues.collect(), recording: Some(Recording(captures)), ..port })
}

impl Recording {
    pub(crate) fn of(captures: impl Into<Vec<SharedCapture>>) -> Self {
        Self(captures.into())
    }

    /// Returns the error, such as a full disk, that ended a capture early, or `None` if there was
    /// none. The port continues without the capture.
    #[must_use]
    pub fn fault(&self) -> Option<io::ErrorKind> {
        self.0.iter().find_map(SharedCapture::fault)
    }
}

/// A queue whose packets are recorded.
#[derive(Debug)]
struct Tap {
    queue: Box<dyn Queue>,
    received: SharedCapture,
    transmitted: SharedCapture,
}

impl Queue for Tap {
    fn receive(&mut self, burst: &mut Burst) -> Result<usize, PortDown> {
        let before = burst.frames().len();
        // Packets are recorded completely, so the port must not deliver heads only.
        let head = burst.head();
        burst.take_heads(None);
        let received = self.queue.receive(burst);
        burst.take_heads(head);
        let count = received?;
        for frame in burst.frames().iter().skip(before) {
            // The capture keeps the error of a failed write.
            let _ = self.received.write(frame.bytes());
        }
        if count == 0 {
            // The worker is idle. A port that only receives is never flushed otherwise.
            self.received.flush();
        }
        Ok(count)
    }

    fn transmit(&mut self, packet: &[u8]) -> Transmitted {
        let transmitted = self.queue.transmit(packet);
        if transmitted == Transmitted::Taken {
            let _ = self.transmitted.write(packet);
        }
        transmitted
    }

    fn flush(&mut self) -> bool {
        self.received.flush();
        self.transmitted.flush();
        self.queue.flush()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.queue.descriptor()
    }

    fn waiting(&mut self) -> Option<u32> {
        self.queue.waiting()
    }

    fn reopen(&mut self) -> bool {
        self.queue.reopen()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::line;
    use crate::pcap::CaptureReader;

    #[test]
    fn both_directions_are_recorded() {
        let directory = tempfile::tempdir().expect("a directory");
        let [here, mut there] = line("a/b", 1);
        let mut here = record(here, directory.path()).expect("files");
        let queue = &mut here.queues[0];
        assert_eq!(queue.transmit(b"out"), Transmitted::Taken);
        assert_eq!(queue.transmit(b"too much"), Transmitted::Full);
        there.queues[0].transmit(b"in");
        there.queues[0].flush();
        assert_eq!(queue.receive(&mut Burst::new(2)).expect("it is up"), 1);
        // A received packet is in the file once the port is idle, a transmitted one after a flush.
        assert_eq!(queue.receive(&mut Burst::new(2)).expect("it is up"), 0);
        for (file, expected) in [("a_ba_in.pcap", &b"in"[..]), ("a_ba_out.pcap", b"out")] {
            if expected == b"out" {
                here.queues[0].flush();
            }
            let mut reader = CaptureReader::open(&directory.path().join(file)).expect(file);
            assert_eq!(reader.next_frame().expect("whole").expect("one").data, expected);
            assert!(reader.next_frame().expect("whole").is_none());
        }
        assert_eq!(here.recording.expect("there is one").fault(), None);
    }

    #[test]
    fn a_full_disk_ends_the_recording_and_not_the_port() {
        let directory = tempfile::tempdir().expect("a directory");
        for way in ["in", "out"] {
            let capture = directory.path().join(format!("fulla_{way}.pcap"));
            std::os::unix::fs::symlink("/dev/full", capture).expect("a link");
        }
        let [here, mut there] = line("full", 1000);
        let mut here = record(here, directory.path()).expect("a device");
        for _ in 0..100 {
            assert_eq!(here.queues[0].transmit(&[1; 200]), Transmitted::Taken);
        }
        here.queues[0].flush();
        let recording = here.recording.expect("there is one");
        assert_eq!(recording.fault(), Some(io::ErrorKind::StorageFull));
        assert_eq!(there.queues[0].receive(&mut Burst::new(1000)).expect("it is up"), 100);
    }
}
