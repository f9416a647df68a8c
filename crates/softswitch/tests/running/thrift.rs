//! Tests that clients of BMv2's Thrift interface are referred to P4Runtime.

use crate::support::{Bench, CapturedLog};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(20);

fn connect(bench: &Bench) -> TcpStream {
    let address = bench.switch.thrift_address().expect("it was asked for");
    let stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(TIMEOUT)).expect("a duration");
    stream
}

/// Returns the bytes that arrive until the switch hangs up.
fn answer(mut stream: TcpStream) -> Vec<u8> {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("it answers and hangs up");
    answer
}

/// Returns a call with a version, as a client of several services encodes it according to the
/// specification of the binary protocol.
fn call(name: &str, arguments: &[u8]) -> Vec<u8> {
    let length = u32::try_from(name.len()).expect("short").to_be_bytes();
    let head = [&[0x80, 1, 0, 1][..], &length, name.as_bytes(), &[0, 0, 0, 9]].concat();
    [&head, arguments].concat()
}

fn wait_for(logged: &CapturedLog, line: &str) {
    let start = Instant::now();
    while !logged.text().contains(line) {
        assert!(start.elapsed() < TIMEOUT, "no {line:?} in {}", logged.text());
        std::thread::yield_now();
    }
}

/// The first call is answered with the replacement to use, however its bytes are split, and the log
/// reports it too.
#[test]
fn a_client_is_referred_to_p4runtime() {
    let (bench, logged) = Bench::logging(1);
    let instead = format!("P4Runtime at {}", bench.switch.address());
    let calls = [
        ("standard:bm_get_config", &[0][..]),
        ("simple_switch:get_time_elapsed_us", &[0]),
        // The bytes after the header are not needed, and do not prevent the answer.
        ("standard:bm_mt_add_entry", &[7; 100_000]),
    ];
    for (name, arguments) in calls {
        for is_framed in [false, true] {
            let mut message = call(name, arguments);
            if is_framed {
                let length = u32::try_from(message.len()).expect("short").to_be_bytes();
                message.splice(0..0, length);
            }
            let mut stream = connect(&bench);
            // The message is sent in pieces, the first of which are single bytes.
            for byte in &message[..12] {
                stream.write_all(&[*byte]).expect("it reads");
            }
            stream.write_all(&message[12..]).expect("it reads");
            let mut answer = answer(stream);
            if is_framed {
                let length = u32::try_from(answer.len() - 4).expect("short").to_be_bytes();
                assert_eq!(answer.drain(..4).collect::<Vec<_>>(), length);
            }
            let method = name.split(':').nth(1).expect("it has a service");
            let length = u32::try_from(method.len()).expect("short").to_be_bytes();
            let head = [&[0x80, 1, 0, 3][..], &length, method.as_bytes(), &[0, 0, 0, 9]].concat();
            assert!(answer.starts_with(&head), "{answer:x?}");
            let text = String::from_utf8_lossy(&answer);
            for part in [name, "was not carried out", &instead, "--runtime-json"] {
                assert!(text.contains(part), "no {part:?} in {text}");
            }
            assert!(answer.ends_with(&[8, 0, 2, 0, 0, 0, 1, 0]), "{answer:x?}");
        }
        wait_for(&logged, &format!("{name} was not carried out"));
    }
}

/// Clients that only probe the port, hang up, or speak another protocol are cut off and hold no
/// resources.
#[test]
fn other_protocols_are_disconnected() {
    let (bench, logged) = Bench::logging(1);
    drop(connect(&bench));
    for bytes in [&b""[..], b"\x80", b"\x80\x01\x00\x01\x00\x00\x00\x05abc"] {
        let mut stream = connect(&bench);
        stream.write_all(bytes).expect("it reads");
        stream.shutdown(Shutdown::Write).expect("it is open");
        assert_eq!(answer(stream), b"", "{bytes:x?}");
    }
    let mut stream = connect(&bench);
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("it reads");
    let mut rest = Vec::new();
    // The connection may end with a reset, because the switch does not read the whole request.
    let _ = stream.read_to_end(&mut rest);
    assert_eq!(rest, b"");
    wait_for(&logged, "speaks another protocol");
}

/// Silent clients, of which there may be 64 at once, give way to a client that calls.
#[test]
fn silent_clients_give_way() {
    let (bench, logged) = Bench::logging(1);
    let mut silent: Vec<TcpStream> = (0..64).map(|_| connect(&bench)).collect();
    let mut stream = connect(&bench);
    stream.write_all(&call("standard:bm_get_config", &[0])).expect("it reads");
    let answer_of_client = answer(stream);
    assert!(!answer_of_client.is_empty(), "the client was cut off");
    wait_for(&logged, "too many clients");
    assert_eq!(answer(silent.remove(0)), b"", "the oldest client is cut off");
}
