//! Tests against an emulated switch, and against one whose messages are distorted on their way.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use openflow::framing::Framer;
use openflow::{DatapathId, Version};
use openflow_switch::{FlowTables, OpenFlowSwitch, SwitchOptions};

use super::bench::Bench;
use super::session::{Frame, Session, listen};
use super::{Listening, judge_openflow, requirements};
use crate::Verdict;

const VERSIONS: [Version; 2] = [Version::V1_0, Version::V1_3];

/// A fault of a switch, made by changing its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distortion {
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

    pub(super) fn answers(self, version: Version, answers: Vec<Frame>) -> Vec<Frame> {
        let is_error = |frame: &Frame| frame.error().is_some();
        let error = || Frame::new(vec![version.wire(), 1, 0, 12, 0, 0, 0, 0, 0, 1, 0, 5]);
        match self {
            Self::NoErrors => answers.into_iter().filter(|frame| !is_error(frame)).collect(),
            Self::OtherErrors => answers
                .into_iter()
                .map(|frame| if is_error(&frame) { error() } else { frame })
                .collect(),
            Self::NoAnswers => answers.into_iter().filter(is_error).collect(),
            Self::OtherAnswers => answers
                .into_iter()
                .map(|frame| {
                    let (head, body) = frame.bytes().split_at(8);
                    let other = body.iter().map(|byte| byte ^ 0x5a);
                    Frame::new(head.iter().copied().chain(other).collect())
                })
                .collect(),
            Self::RefusesAll => vec![error()],
            Self::NoNotifications | Self::FalseNotifications => answers,
        }
    }

    pub(super) fn notification(self, found: Option<Frame>) -> Option<Frame> {
        match self {
            Self::NoNotifications => None,
            Self::FalseNotifications => Some(Frame::new(vec![4, 11, 0, 8, 0, 0, 0, 0])),
            _ => found,
        }
    }
}

/// Connects an emulated switch to a controller, until the controller closes the connection.
fn connect(address: SocketAddr, version: Version) {
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
                        if switch.receive(frame, now(), &mut out).is_err() {
                            return;
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

/// Returns a bench with an emulated switch.
fn bench(version: Version) -> Bench {
    let listener: TcpListener = listen(([127, 0, 0, 1], 0).into()).expect("a port");
    connect(listener.local_addr().expect("it is bound"), version);
    let session = Session::accept(&listener, Some(version), None, &AtomicBool::new(false));
    Bench::new(session.expect("it connects"))
}

#[test]
fn a_switch_without_faults_meets_every_requirement() {
    let mut all = Vec::new();
    for version in VERSIONS {
        let outcome = judge_openflow(
            &listening(Some(version)),
            &AtomicBool::new(false),
            &mut |address| connect(address, version),
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
            let mut bench = bench(version);
            unbroken.retain(|trial| {
                bench.session.distortion = Some(distortion);
                let verdict = bench.attempt(trial.attempt);
                bench.session.distortion = None;
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
