//! Hostile connections, for tests of a switch that must serve others meanwhile.

use fastrand::Rng;
use std::collections::VecDeque;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The number of connections that are left open, which the limits of the switch reduce.
const HOSTILE: usize = 200;

/// Opens connections that send nothing, garbage, or a part of HTTP/2, and leaves up to
/// [`HOSTILE`] of them open.
pub(crate) fn attack(address: SocketAddr, stop: &AtomicBool, seed: u64) {
    let mut random = Rng::with_seed(seed);
    let mut open = VecDeque::new();
    while !stop.load(Ordering::Relaxed) {
        // The switch may refuse or close any of them.
        if let Ok(mut stream) = TcpStream::connect(address) {
            let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
            let mut bytes = match random.u64(..4) {
                0 => Vec::new(),
                1 => preface[..random.usize(..preface.len())].to_vec(),
                _ => preface.to_vec(),
            };
            let garbage = random.usize(..200);
            bytes.extend((0..garbage).map(|_| random.u8(..)));
            let _ = stream.write_all(&bytes);
            open.push_back(stream);
        }
        if open.len() > HOSTILE {
            open.pop_front();
        }
        thread::sleep(Duration::from_millis(random.u64(..5)));
    }
}
