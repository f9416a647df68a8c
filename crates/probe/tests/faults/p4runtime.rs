//! P4Runtime controllers that misbehave. They dial, so what can go wrong is the other way round.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use probe::outcome::{Completion, Trial};

use super::run::{run, try_run};

fn settings(port: &str) -> Vec<(&str, &str)> {
    vec![
        ("protocol", "p4runtime"),
        ("switches.count", "2"),
        ("p4runtime.devices-per-port", "2"),
        ("p4runtime.first-port", port),
        ("timing.connect-timeout", "1s"),
    ]
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}

/// Runs a trial, and meanwhile dials the switches once.
fn dialled(port: u16, say: impl FnOnce(TcpStream) + Send + 'static) -> Trial {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let dialler = std::thread::spawn(move || {
        for _ in 0..500 {
            if let Ok(stream) = TcpStream::connect(address) {
                return say(stream);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        panic!("nobody listens at {address}");
    });
    let trial = run(&settings(&port.to_string()));
    dialler.join().expect("the switches listen");
    trial
}

#[track_caller]
fn assert_never_ready(trial: &Trial, port: u16, stage: &str) {
    let Completion::Failed { reason } = &trial.completion else {
        panic!("{:?}", trial.completion);
    };
    assert!(reason.contains("0 of 2 switches were ready"), "{reason}");
    let why = trial.handshake.why_zero.as_deref().unwrap_or_default();
    assert!(why.contains(&format!("127.0.0.1:{port}")), "{why}");
    assert!(why.contains(stage), "{why}");
}

#[test]
fn a_controller_that_never_dials() {
    let port = free_port();
    let trial = run(&settings(&port.to_string()));
    assert_never_ready(&trial, port, "listening, not dialled");
}

#[test]
fn a_controller_that_is_half_open() {
    let port = free_port();
    let trial = dialled(port, |mut stream| {
        // Says nothing, until the switches are gone.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    assert_never_ready(&trial, port, "connected, no stream opened");
}

#[test]
fn a_controller_that_speaks_no_grpc() {
    let port = free_port();
    let trial = dialled(port, |mut stream| {
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: switch\r\n\r\n");
        let _ = stream.read_to_end(&mut Vec::new());
    });
    assert_never_ready(&trial, port, "connected, no stream opened");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = taken.local_addr().expect("an address");
    let error = try_run(&settings(&address.port().to_string())).expect_err("the port is taken");
    assert!(error.contains(&address.to_string()), "{error}");
    assert!(error.contains("--first-port"), "{error}");
}
