//! A port that receives the frames of a capture, and writes transmitted frames to another capture.

use super::{CaptureError, CaptureReader, CaptureWriter, LinkType};
use crate::{Burst, OpenError, Port, PortCounters, PortDown, Queue, Recording, Transmitted};
use std::fs::File;
use std::io::{self, BufReader, BufWriter};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// The capture files of a port. At least one of input and output is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// The capture whose Ethernet frames the port receives, as fast as the worker takes them.
    pub input: Option<PathBuf>,
    /// The capture to which the port writes the frames that it transmits. An existing file is
    /// replaced.
    pub output: Option<PathBuf>,
    /// Whether the port reads the input again from the start when it has reached the end.
    pub repeat: bool,
}

/// Opens captures as a port. Only the first queue receives frames.
///
/// # Errors
/// Returns an [`OpenError`] if the input cannot be read, or the output cannot be written.
pub fn open(files: &Files, queues: usize) -> Result<Port, OpenError> {
    let name = files.input.as_ref().or(files.output.as_ref());
    let name = name.map_or_else(String::new, |path| path.display().to_string());
    let mut input = files.input.as_deref().map(CaptureReader::open).transpose()?;
    let output = files.output.as_deref().map(SharedCapture::create).transpose();
    let output = output.map_err(|source| OpenError::Output {
        path: files.output.clone().unwrap_or_default(),
        source,
    })?;
    let counters = Arc::new(PortCounters::default());
    let recording = output.clone().map(|output| Recording::of([output]));
    let queues = (0..queues.max(1)).map(|_| {
        let queue = CaptureQueue {
            name: name.clone(),
            repeated: files.input.clone().filter(|_| files.repeat && input.is_some()),
            input: input.take(),
            fault: None,
            output: output.clone(),
            counters: Arc::clone(&counters),
        };
        Box::new(queue) as Box<dyn Queue>
    });
    Ok(Port { queues: queues.collect(), name, counters, recording })
}

/// The queue of a port on capture files.
#[derive(Debug)]
struct CaptureQueue {
    name: String,
    /// The capture that is being read, or `None` after its end and for all queues but the first.
    input: Option<CaptureReader<BufReader<File>>>,
    /// The path of the input, which is read again from the start when it has ended, or `None` if
    /// the input is read only once.
    repeated: Option<PathBuf>,
    /// The error that ended the input early, or `None` if there was none.
    fault: Option<CaptureError>,
    output: Option<SharedCapture>,
    counters: Arc<PortCounters>,
}

impl Queue for CaptureQueue {
    fn receive(&mut self, burst: &mut Burst) -> Result<usize, PortDown> {
        let (mut packets, mut bytes, mut begun) = (0, 0, false);
        while burst.room() > 0
            && let Some(input) = &mut self.input
        {
            match input.next_frame() {
                // A frame that the capture contains only in part is not what was on the wire.
                Ok(Some(frame))
                    if frame.link_type == LinkType::ETHERNET
                        && frame.data.len() == frame.original_bytes as usize =>
                {
                    burst.push(frame.data);
                    (packets, bytes) = (packets + 1, bytes + frame.data.len() as u64);
                }
                Ok(Some(_)) => self.counters.receive_dropped(1),
                // An input without frames would repeat forever, so the input may end only once per
                // call.
                Ok(None) if begun => break,
                Ok(None) => {
                    begun = true;
                    let next = self.repeated.as_deref().map(CaptureReader::open).transpose();
                    match next {
                        Ok(next) => self.input = next,
                        Err(fault) => self.stop(fault),
                    }
                }
                Err(fault) => self.stop(fault),
            }
        }
        self.counters.received(packets, bytes);
        match &self.fault {
            Some(fault) if packets == 0 => Err(PortDown {
                port: self.name.clone(),
                cause: io::Error::other(fault.to_string()),
            }),
            _ => Ok(packets as usize),
        }
    }

    fn transmit(&mut self, packet: &[u8]) -> Transmitted {
        match self.output.as_ref().map(|output| output.write(packet)) {
            Some(Err(error)) if error.kind() == io::ErrorKind::InvalidInput => {
                self.counters.bad_length(1);
                return Transmitted::BadLength;
            }
            Some(Err(_)) => {
                self.counters.transmit_dropped(1);
                return Transmitted::Full;
            }
            Some(Ok(())) | None => {}
        }
        self.counters.transmitted(1, packet.len() as u64);
        Transmitted::Taken
    }

    fn flush(&mut self) -> bool {
        if let Some(output) = &self.output {
            output.flush();
        }
        true
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn reopen(&mut self) -> bool {
        self.fault.is_none()
    }
}

impl CaptureQueue {
    fn stop(&mut self, fault: CaptureError) {
        self.input = None;
        self.fault = Some(fault);
    }
}

/// A capture of Ethernet frames that several queues write. The timestamp of a frame is the time at
/// which it is written.
#[derive(Clone, Debug)]
pub(crate) struct SharedCapture(Arc<Mutex<Output>>);

/// The writer and the state of a [`SharedCapture`].
#[derive(Debug)]
struct Output {
    writer: CaptureWriter<BufWriter<File>>,
    /// Whether the buffer holds data that has not been passed to the system.
    waiting: bool,
    fault: Option<io::ErrorKind>,
}

impl SharedCapture {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let writer = CaptureWriter::new(BufWriter::new(File::create(path)?), LinkType::ETHERNET)?;
        Ok(Self(Arc::new(Mutex::new(Output { writer, waiting: true, fault: None }))))
    }

    /// Writes a frame. After an error, nothing more is written, because an incomplete record makes
    /// the rest of a capture unreadable. The error `InvalidInput`, for a frame that is too long for
    /// a capture, is an exception: later frames are still written.
    pub(crate) fn write(&self, frame: &[u8]) -> io::Result<()> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mut output = self.output();
        if let Some(fault) = output.fault {
            return Err(fault.into());
        }
        output.waiting = true;
        let written = output.writer.write_frame(now.as_nanos() as u64, frame);
        let fault = written.as_ref().err().map(io::Error::kind);
        output.fault = fault.filter(|fault| *fault != io::ErrorKind::InvalidInput);
        written
    }

    /// Flushes the buffer to the system.
    pub(crate) fn flush(&self) {
        let mut output = self.output();
        if output.waiting && output.fault.is_none() {
            output.waiting = false;
            output.fault = output.writer.flush().err().map(|error| error.kind());
        }
    }

    /// Returns the error that ended the capture early, if there was one.
    pub(crate) fn fault(&self) -> Option<io::ErrorKind> {
        self.output().fault
    }

    fn output(&self) -> MutexGuard<'_, Output> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Frame;

    fn captured(path: &Path) -> Vec<Vec<u8>> {
        let mut reader = CaptureReader::open(path).expect("a capture");
        let mut frames = Vec::new();
        while let Some(frame) = reader.next_frame().expect("whole") {
            frames.push(frame.data.to_vec());
        }
        frames
    }

    #[test]
    fn captured_frames_are_received_and_transmitted_ones_captured() {
        let directory = tempfile::tempdir().expect("a directory");
        let [first, second] = ["first", "second"].map(|name| directory.path().join(name));
        let mut port =
            open(&Files { output: Some(first.clone()), ..Files::default() }, 2).expect("a capture");
        for (queue, packet) in [(0, &b"one"[..]), (1, b"other"), (0, b"last")] {
            assert_eq!(port.queues[queue].transmit(packet), Transmitted::Taken);
        }
        port.queues[1].flush();
        assert_eq!(captured(&first), [&b"one"[..], b"other", b"last"]);
        let files = Files { input: Some(first), output: Some(second.clone()), repeat: true };
        let mut port = open(&files, 2).expect("captures");
        let mut burst = Burst::new(5);
        assert_eq!(port.queues[1].receive(&mut burst).expect("open"), 0);
        assert_eq!(port.queues[0].receive(&mut burst).expect("open"), 5);
        for frame in burst.frames() {
            port.queues[1].transmit(Frame::bytes(frame));
        }
        drop(port);
        assert_eq!(captured(&second), [&b"one"[..], b"other", b"last", b"one", b"other"]);
    }

    #[test]
    fn a_truncated_input_takes_the_port_down() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("cut");
        let capture = SharedCapture::create(&path).expect("a file");
        capture.write(b"whole").and_then(|()| capture.write(b"not whole")).expect("room");
        capture.flush();
        let length = std::fs::metadata(&path).expect("a file").len();
        File::options()
            .write(true)
            .open(&path)
            .and_then(|file| file.set_len(length - 1))
            .expect("cut");
        let files = Files { input: Some(path), ..Files::default() };
        let mut port = open(&files, 1).expect("a capture");
        let mut burst = Burst::new(5);
        assert_eq!(port.queues[0].receive(&mut burst).expect("one is whole"), 1);
        let error = port.queues[0].receive(&mut burst).expect_err("the other is not");
        assert!(error.to_string().contains("cut off"), "{error}");
        assert!(!port.queues[0].reopen());
    }

    /// Checks lengths from zero to more than a capture can hold.
    #[test]
    fn frames_of_every_length_are_captured_and_longer_ones_counted() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("lengths");
        let files = Files { output: Some(path.clone()), ..Files::default() };
        let mut port = open(&files, 1).expect("a file");
        let longest = vec![7; 262_144];
        let queue = &mut port.queues[0];
        assert_eq!(queue.transmit(b""), Transmitted::Taken);
        assert_eq!(queue.transmit(&[7; 262_145]), Transmitted::BadLength);
        assert_eq!(queue.transmit(&longest), Transmitted::Taken);
        queue.flush();
        assert_eq!(captured(&path), [vec![], longest]);
        let counters = port.counters.values();
        let seen = (counters.transmitted_packets, counters.bad_length, counters.transmit_dropped);
        assert_eq!(seen, (2, 1, 0));
        assert_eq!(port.recording.expect("there is one").fault(), None);
    }

    #[test]
    fn frames_that_a_full_disk_refuses_are_counted() {
        let files = Files { output: Some("/dev/full".into()), ..Files::default() };
        let mut port = open(&files, 1).expect("a device");
        let sent = 100;
        for _ in 0..sent {
            port.queues[0].transmit(&[1; 1_000]);
        }
        let counters = port.counters.values();
        // Buffered frames count as written until the first write fails.
        assert!(counters.transmit_dropped > sent / 2, "{counters:?}");
        assert_eq!(counters.transmitted_packets + counters.transmit_dropped, sent);
        assert_eq!(port.queues[0].transmit(&[1]), Transmitted::Full);
        let fault = port.recording.expect("there is one").fault();
        assert_eq!(fault, Some(io::ErrorKind::StorageFull));
    }

    #[test]
    fn an_empty_input_that_repeats_ends() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("empty");
        SharedCapture::create(&path).expect("a file").flush();
        let files = Files { input: Some(path), repeat: true, output: None };
        let mut port = open(&files, 1).expect("a capture");
        assert_eq!(port.queues[0].receive(&mut Burst::new(5)).expect("open"), 0);
    }
}
