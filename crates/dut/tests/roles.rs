//! Hand-overs measured at servers with made faults: each fault shows with its size, and a server
//! without faults shows none.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use dut::roles::{self, Measured};
use dut::{Device, Plan, Target, Watch, measure};
use made_server::{DEVICE_ID, Faults, Proxy};
use p4runtime::proto::v1::{self, stream_message_response::Update as Message};
use tonic::{Code, Status};

/// The size of faults that delay a message. No message takes as long otherwise.
const DELAY: Duration = Duration::from_secs(1);
const ROUNDS: u32 = 2;
/// The time that a slow deletion takes. No insertion takes as long.
const DELETES: Duration = Duration::from_millis(500);

/// A fault of a server.
#[derive(Clone, Copy, Debug)]
enum Fault {
    None,
    /// A displaced primary may write for this time.
    WritesFor(Duration),
    /// A displaced primary may write so often.
    Writes(u64),
    /// A displaced primary is told late.
    LateNotice,
    /// A displaced primary is not told.
    NoNotice,
    /// Backups are told late that the primary left.
    LateLoss,
    /// A controller becomes the primary late.
    LatePrimary,
    /// Entries are deleted late for the controllers after the first one.
    SlowDeletes,
}

/// A server with a fault.
struct Faulty {
    fault: Fault,
    /// The election id of the first controller that wrote.
    first: OnceLock<Option<(u64, u64)>>,
    takeover: Mutex<Takeover>,
}

/// The latest takeover.
struct Takeover {
    /// The election id of the primary.
    primary: Option<v1::Uint128>,
    at: Instant,
    /// The writes of displaced primaries that were passed on since.
    writes: u64,
}

impl Faulty {
    fn start(fault: Fault) -> String {
        let takeover = Takeover { primary: None, at: Instant::now(), writes: 0 };
        let faulty = Self { fault, first: OnceLock::new(), takeover: Mutex::new(takeover) };
        Proxy::start(&made_server::serve(include_str!("kinds.p4")), Arc::new(faulty))
    }
}

/// Returns the code of an arbitration update, and the highest election id.
fn standing(message: &v1::StreamMessageResponse) -> Option<(Code, Option<v1::Uint128>)> {
    let Some(Message::Arbitration(update)) = &message.update else { return None };
    let code = update.status.as_ref().map_or(0, |status| status.code);
    Some((Code::from_i32(code), update.election_id))
}

impl Faults for Faulty {
    fn write(&self, mut request: v1::WriteRequest) -> Result<v1::WriteRequest, Status> {
        let number = |id: v1::Uint128| (id.high, id.low);
        let first = *self.first.get_or_init(|| request.election_id.map(number));
        let deletes = |update: &v1::Update| update.r#type == v1::update::Type::Delete as i32;
        if matches!(self.fault, Fault::SlowDeletes)
            && request.election_id.map(number) != first
            && request.updates.iter().any(deletes)
        {
            std::thread::sleep(DELETES);
        }
        let mut takeover = self.takeover.lock().expect("no holder panics");
        let is_displaced = request.election_id.map(number) < takeover.primary.map(number);
        let may_write = match self.fault {
            Fault::WritesFor(time) => takeover.at.elapsed() <= time,
            Fault::Writes(most) => takeover.writes < most,
            Fault::None
            | Fault::LateNotice
            | Fault::NoNotice
            | Fault::LateLoss
            | Fault::LatePrimary
            | Fault::SlowDeletes => false,
        };
        if is_displaced && may_write {
            takeover.writes += 1;
            request.election_id = takeover.primary;
        }
        Ok(request)
    }

    fn to_controller(
        &self,
        message: Result<v1::StreamMessageResponse, Status>,
    ) -> Option<Result<v1::StreamMessageResponse, Status>> {
        match (self.fault, message.as_ref().ok().and_then(standing)) {
            (Fault::NoNotice, Some((Code::AlreadyExists, _))) => return None,
            (_, Some((Code::Ok, primary))) => {
                let mut takeover = self.takeover.lock().expect("no holder panics");
                *takeover = Takeover { primary, at: Instant::now(), writes: 0 };
            }
            _ => {}
        }
        Some(message)
    }

    fn delay(&self, message: &v1::StreamMessageResponse) -> Duration {
        match (self.fault, standing(message)) {
            (Fault::LateNotice, Some((Code::AlreadyExists, _)))
            | (Fault::LateLoss, Some((Code::NotFound, _)))
            | (Fault::LatePrimary, Some((Code::Ok, _))) => DELAY,
            _ => Duration::ZERO,
        }
    }
}

struct Silent;

impl Watch for Silent {
    fn step(&mut self, _: &'static str, _: u64, _: u64) {}
}

fn measured(fault: Fault, rounds: u32) -> Measured {
    let device = Device { address: Faulty::start(fault), device_id: DEVICE_ID, tls: None };
    let target = Target::P4Runtime {
        device,
        table: Some("kinds".to_owned()),
        entries: None,
        traffic: None,
        slow_path: None,
        digests: None,
    };
    let plan = Plan { entries: 100, roles: Some(roles::Settings { rounds }), ..Plan::default() };
    let outcome = measure(&target, &plan, &AtomicBool::new(false), &mut Silent);
    let outcome = outcome.expect("it can be measured");
    assert_eq!(outcome.failures, [""; 0], "{fault:?}");
    let found = outcome.roles.expect("they were measured");
    assert_eq!(found.takeovers.len(), rounds as usize, "{fault:?}");
    found
}

/// Returns the faults that the figures show: whether a displaced primary could write or was told
/// late or not at all, whether backups were told late of a loss, and whether a controller became
/// the primary late.
fn shown(found: &Measured) -> [bool; 5] {
    let takeovers = &found.takeovers;
    let is_late = |time: Duration| time >= DELAY;
    [
        takeovers.iter().any(|one| one.accepted > 0),
        takeovers.iter().any(|one| one.backup.is_some_and(is_late) && !is_late(one.primary)),
        takeovers.iter().any(|one| one.backup.is_none()),
        found.fail_overs.iter().any(|one| is_late(one.notice)),
        takeovers.iter().any(|one| is_late(one.primary)),
    ]
}

/// Demands that a time is the delay that the server makes.
#[track_caller]
fn is_delay(time: Duration) {
    assert!((DELAY..2 * DELAY).contains(&time), "{time:?}");
}

#[test]
fn a_server_without_faults_shows_none() {
    let found = measured(Fault::None, ROUNDS);
    assert_eq!(shown(&found), [false; 5], "{found:?}");
    assert!(found.takeovers.iter().all(|one| one.accepted_for.is_none()), "{found:?}");
}

#[test]
fn writes_of_a_displaced_primary_are_counted_and_timed() {
    let time = Duration::from_millis(25);
    let found = measured(Fault::WritesFor(time), ROUNDS);
    assert_eq!(shown(&found), [true, false, false, false, false], "{found:?}");
    for one in &found.takeovers {
        // The server began to count before the successor was told.
        assert!(one.accepted_for.is_none_or(|found| found <= time), "{one:?}");
    }
    let found = measured(Fault::WritesFor(Duration::from_secs(3600)), ROUNDS);
    for one in &found.takeovers {
        assert!(one.later > 0 && one.accepted == one.later, "{one:?}");
    }
    let found = measured(Fault::Writes(8), ROUNDS);
    assert_eq!(shown(&found), [true, false, false, false, false], "{found:?}");
    assert!(found.takeovers.iter().all(|one| one.accepted <= 8), "{found:?}");
}

#[test]
fn a_late_notice_is_measured() {
    let found = measured(Fault::LateNotice, ROUNDS);
    assert_eq!(shown(&found), [false, true, false, false, false], "{found:?}");
    for one in &found.takeovers {
        is_delay(one.backup.expect("it was told"));
    }
}

#[test]
fn a_missing_notice_is_found() {
    // The notice is waited for in each round.
    let found = measured(Fault::NoNotice, 1);
    assert_eq!(shown(&found), [false, false, true, false, false], "{found:?}");
}

#[test]
fn a_slow_deletion_does_not_make_the_first_write_late() {
    let found = measured(Fault::SlowDeletes, 1);
    assert_eq!(shown(&found), [false; 5], "{found:?}");
    for (takeover, fail_over) in found.takeovers.iter().zip(&found.fail_overs) {
        assert!(takeover.write - takeover.primary < DELETES, "{takeover:?}");
        assert!(fail_over.write - fail_over.primary < DELETES, "{fail_over:?}");
    }
}

#[test]
fn a_slow_fail_over_is_measured() {
    let found = measured(Fault::LateLoss, ROUNDS);
    assert_eq!(shown(&found), [false, false, false, true, false], "{found:?}");
    for one in &found.fail_overs {
        is_delay(one.notice);
    }
    let found = measured(Fault::LatePrimary, ROUNDS);
    assert_eq!(shown(&found), [false, false, false, false, true], "{found:?}");
    for (takeover, fail_over) in found.takeovers.iter().zip(&found.fail_overs) {
        is_delay(takeover.primary);
        is_delay(fail_over.primary - fail_over.notice);
    }
}
