//! Records what passes a port.

use crate::pcap::SharedCapture;
use crate::{Burst, Port, PortDown, Queue, Transmitted};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;

/// The captures of a port.
#[derive(Clone, Debug)]
pub struct Recording {
    received: SharedCapture,
    transmitted: SharedCapture,
}

/// Records what a port receives and transmits into `NAME_in.pcap` and `NAME_out.pcap`, as BMv2
/// names them; files that are there are replaced.
///
/// # Errors
/// If they cannot be made.
pub fn record(port: Port, directory: &Path) -> io::Result<(Port, Recording)> {
    // A port may have the name of a file.
    let name = port.name.replace('/', "_");
    let capture = |way| SharedCapture::create(&directory.join(format!("{name}_{way}.pcap")));
    let recording = Recording { received: capture("in")?, transmitted: capture("out")? };
    let queues = port
        .queues
        .into_iter()
        .map(|queue| Box::new(Tap { queue, recording: recording.clone() }) as Box<dyn Queue>);
    let port = Port { queues: queues.collect(), ..port };
    Ok((port, recording))
}

impl Recording {
    /// What ended it before the port's end, as a full disk. The port goes on.
    #[must_use]
    pub fn fault(&self) -> Option<io::ErrorKind> {
        self.received.fault().or(self.transmitted.fault())
    }
}

#[derive(Debug)]
struct Tap {
    queue: Box<dyn Queue>,
    recording: Recording,
}

impl Queue for Tap {
    fn receive(&mut self, burst: &mut Burst) -> Result<usize, PortDown> {
        let before = burst.frames().len();
        let count = self.queue.receive(burst)?;
        for frame in burst.frames().iter().skip(before) {
            // The recording remembers its fault.
            let _ = self.recording.received.write(frame.bytes());
        }
        Ok(count)
    }

    fn transmit(&mut self, packet: &[u8]) -> Transmitted {
        let transmitted = self.queue.transmit(packet);
        if transmitted == Transmitted::Taken {
            let _ = self.recording.transmitted.write(packet);
        }
        transmitted
    }

    fn flush(&mut self) -> bool {
        self.recording.received.flush();
        self.recording.transmitted.flush();
        self.queue.flush()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.queue.descriptor()
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
        let (mut here, recording) = record(here, directory.path()).expect("files");
        let queue = &mut here.queues[0];
        assert_eq!(queue.transmit(b"out"), Transmitted::Taken);
        assert_eq!(queue.transmit(b"too much"), Transmitted::Full);
        there.queues[0].transmit(b"in");
        assert_eq!(queue.receive(&mut Burst::new(2)).expect("it is up"), 1);
        queue.flush();
        for (file, expected) in [("a_ba_in.pcap", &b"in"[..]), ("a_ba_out.pcap", b"out")] {
            let mut reader = CaptureReader::open(&directory.path().join(file)).expect(file);
            assert_eq!(reader.next_frame().expect("whole").expect("one").data, expected);
            assert!(reader.next_frame().expect("whole").is_none());
        }
        assert_eq!(recording.fault(), None);
    }

    #[test]
    fn a_full_disk_ends_the_recording_and_not_the_port() {
        let [here, mut there] = line("full", 1000);
        let mut queues = here.queues;
        let full = || SharedCapture::create(Path::new("/dev/full")).expect("a device");
        let recording = Recording { received: full(), transmitted: full() };
        let mut tap = Tap { queue: queues.remove(0), recording };
        for _ in 0..100 {
            assert_eq!(tap.transmit(&[1; 200]), Transmitted::Taken);
        }
        tap.flush();
        assert_eq!(tap.recording.fault(), Some(io::ErrorKind::StorageFull));
        assert_eq!(there.queues[0].receive(&mut Burst::new(1000)).expect("it is up"), 100);
    }
}
