//! Tests against an emulated switch, and against one whose messages are distorted on their way.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use openflow::framing::Framer;
use openflow::{DatapathId, Version};
use openflow_switch::{FlowTables, OpenFlowSwitch, SwitchOptions};

use super::bench::Bench;
use super::session::{Session, listen};
use super::{Listening, judge_openflow, requirements};
use crate::Verdict;

const VERSIONS: [Version; 2] = [Version::V1_0, Version::V1_3];

/// A fault of a switch, made by changing its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Distortion {
    /// Errors are not sent.
    NoErrors,
    /// Errors have another type and code.
    OtherErrors,
    /// The switch answers with errors only.
    NoAnswers,
    /// The bytes of answers are other ones.
    OtherAnswers,
    /// The switch refuses every message.
    RefusesAll,
    /// The switch sends no notifications.
    NoNotifications,
    /// The switch sends notifications without a reason.
    FalseNotifications,
}

impl Distortion {
    const ALL: [Self; 7] = [
        Self::FalseNotifications,
        Self::NoNotifications,
        Self::NoErrors,
        Self::OtherErrors,
        Self::NoAnswers,
        Self::OtherAnswers,
        Self::RefusesAll,
    ];

    /// Returns what the switch sends in return for a message, in the place of `sent`.
    fn returned(self, version: Version, request: &[u8], sent: &[u8]) -> Vec<u8> {
        let (kind, xid) = (request[1], &request[4..8]);
        let error = [&[version.wire(), ERROR, 0, 12], xid, &[0, 1, 0, 5]].concat();
        let mut returned = Vec::new();
        for frame in frames(sent) {
            let is_error = frame[1] == ERROR;
            match self {
                _ if is_notification(frame) => returned.extend(self.notification(frame)),
                Self::NoErrors if is_error => {}
                Self::OtherErrors if is_error => returned.extend(&error),
                Self::NoAnswers if !is_error => {}
                Self::RefusesAll => {}
                Self::OtherAnswers => {
                    returned.extend(&frame[..8]);
                    returned.extend(frame[8..].iter().map(|byte| byte ^ 0x5a));
                }
                Self::NoErrors
                | Self::OtherErrors
                | Self::NoAnswers
                | Self::NoNotifications
                | Self::FalseNotifications => returned.extend(frame),
            }
        }
        match self {
            Self::RefusesAll => returned.extend(error),
            Self::FalseNotifications if kind == FLOW_MOD => {
                returned.extend([version.wire(), FLOW_REMOVED, 0, 8, 0, 0, 0, 0]);
            }
            _ => {}
        }
        returned
    }

    /// Returns what the switch sends in the place of a notification.
    fn notification(self, frame: &[u8]) -> &[u8] {
        match self {
            // The false one has been sent already.
            Self::NoNotifications | Self::FalseNotifications => &[],
            Self::NoErrors
            | Self::OtherErrors
            | Self::NoAnswers
            | Self::OtherAnswers
            | Self::RefusesAll => frame,
        }
    }
}

const HELLO: u8 = 0;
const ERROR: u8 = 1;
const FLOW_REMOVED: u8 = 11;
const FLOW_MOD: u8 = 14;

fn barrier_request(version: Version) -> u8 {
    match version {
        Version::V1_0 => 18,
        Version::V1_3 => 20,
    }
}

/// Returns whether a message is a packet-in, or says that a flow was removed or a port changed.
fn is_notification(frame: &[u8]) -> bool {
    (10..=12).contains(&frame[1])
}

/// Returns the messages in a sequence of bytes.
fn frames(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    while let [_, _, high, low, ..] = *bytes {
        let (frame, rest) = bytes.split_at(usize::from(u16::from_be_bytes([high, low])));
        found.push(frame);
        bytes = rest;
    }
    found
}

/// The fault of an emulated switch, which a test exchanges while the switch is connected.
type Exchangeable = Arc<Mutex<Option<Distortion>>>;

/// Connects an emulated switch to a controller, until the controller closes the connection.
fn connect(address: SocketAddr, version: Version, fault: Exchangeable) {
    thread::spawn(move || {
        let mut switch = OpenFlowSwitch::new(SwitchOptions {
            version,
            datapath_id: DatapathId(7),
            ports: 4,
            buffers: 0,
            table_size: 1000,
            flow_tables: FlowTables::Run,
            awaiting: 0,
        });
        let mut socket = TcpStream::connect(address).expect("the judge listens");
        socket.set_read_timeout(Some(Duration::from_millis(5))).expect("a socket");
        let (mut framer, mut chunk, mut out) = (Framer::new(), [0; 1 << 16], Vec::new());
        // A barrier follows each message of a requirement, and shows that its answers are complete.
        let mut is_open = false;
        let start = Instant::now();
        let now = || start.elapsed().as_nanos() as u64;
        switch.opened(now(), &mut out);
        loop {
            if switch.tick(now(), &mut out).is_err() || socket.write_all(&out).is_err() {
                return;
            }
            out.clear();
            match socket.read(&mut chunk) {
                Ok(0) => return,
                Ok(count) => {
                    for frame in framer.frames(&chunk[..count]) {
                        let Ok(frame) = frame else { return };
                        let mut sent = Vec::new();
                        if switch.receive(frame, now(), &mut sent).is_err() {
                            return;
                        }
                        let ends = is_open && frame[1] == barrier_request(version);
                        is_open = !ends && frame[1] != HELLO;
                        match *fault.lock().expect("no test panics with it") {
                            Some(fault) if !ends => {
                                out.extend(fault.returned(version, frame, &sent));
                            }
                            Some(_) | None => out.extend(sent),
                        }
                    }
                }
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => return,
            }
        }
    });
}

fn listening(only: Option<Version>) -> Listening<'static> {
    Listening { address: ([127, 0, 0, 1], 0).into(), only, tls: None }
}

/// Returns a bench with an emulated switch, and the fault of the switch.
fn bench(version: Version) -> (Bench, Exchangeable) {
    let listener: TcpListener = listen(([127, 0, 0, 1], 0).into()).expect("a port");
    let fault = Exchangeable::default();
    connect(listener.local_addr().expect("it is bound"), version, Arc::clone(&fault));
    let session = Session::accept(&listener, Some(version), None, &AtomicBool::new(false));
    (Bench::new(session.expect("it connects")), fault)
}

#[test]
fn a_switch_without_faults_meets_every_requirement() {
    let mut all = Vec::new();
    for version in VERSIONS {
        let outcome = judge_openflow(
            &listening(Some(version)),
            &AtomicBool::new(false),
            &mut |address| connect(address, version, Exchangeable::default()),
            &mut |_, _| {},
        );
        let outcome = outcome.expect("it can be judged");
        assert_eq!(outcome.left, Vec::<String>::new(), "{version}");
        assert!(outcome.tried.iter().all(|tried| !tried.exchanges.is_empty()));
        let unmet = outcome.tried.into_iter().filter(|tried| tried.verdict != Verdict::Met);
        all.extend(unmet.map(|tried| (version, tried.requirement.id, tried.verdict)));
    }
    assert!(all.is_empty(), "{all:#?}");
}

#[test]
fn each_requirement_is_broken_by_a_fault() {
    for version in VERSIONS {
        let mut unbroken: Vec<_> =
            requirements::all().filter(|trial| trial.of(version).is_some()).collect();
        for distortion in Distortion::ALL {
            let (mut bench, fault) = bench(version);
            let set = |distortion| *fault.lock().expect("no test panics with it") = distortion;
            unbroken.retain(|trial| {
                set(Some(distortion));
                let verdict = bench.attempt(trial.attempt);
                set(None);
                bench.clean();
                !matches!(verdict, Verdict::Broken { .. })
            });
        }
        let unbroken: Vec<_> = unbroken.iter().map(|trial| trial.id).collect();
        assert_eq!(unbroken, Vec::<&str>::new(), "{version}");
    }
}

#[test]
fn names_are_unique_and_sections_are_numbers() {
    let mut names: Vec<_> = requirements::all().map(|trial| trial.id).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    for trial in requirements::all() {
        let mut sections = trial.sections.iter().flatten();
        let is_section = |one: &&str| one.split('.').all(|part| part.parse::<u32>().is_ok());
        assert!(sections.all(is_section), "{:?}", trial.sections);
        assert!(trial.text.ends_with('.'), "{}", trial.text);
    }
}

#[test]
fn a_peer_that_is_no_switch_is_named() {
    let outcome = judge_openflow(
        &listening(None),
        &AtomicBool::new(false),
        &mut |address| {
            thread::spawn(move || {
                let mut socket = TcpStream::connect(address).expect("the judge listens");
                let _ = socket.write_all(b"GET / HTTP/1.1\r\n\r\n");
                let _ = socket.read(&mut [0; 64]);
            });
        },
        &mut |_, _| {},
    );
    let error = outcome.expect_err("no switch").to_string();
    assert!(error.contains("cannot be judged"), "{error}");
}
