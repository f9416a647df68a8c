//! Tests of the sampling of CPU time and memory. The tests start the sampled processes, and a
//! script takes the place of `ssh`.

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::time::{ClockId, clock_gettime};

use super::*;

const INTERVAL: Duration = Duration::from_millis(20);

/// Ensures that only one of the tests that call this function runs at a time. Between fork and
/// exec, a child process holds copies of all sockets of this process. Tests that start processes
/// must therefore not run together with tests that look for the owners of sockets.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An idle process that can be found by the argument on its command line. It is killed when this
/// value is dropped.
struct Idle {
    child: Child,
    argument: String,
}

impl Idle {
    fn start(tag: u32) -> Self {
        Self::start_with(tag, Stdio::null())
    }

    fn start_with(tag: u32, stdin: Stdio) -> Self {
        // The argument is unique among concurrent tests of this and other processes.
        let argument = format!("1000{}.{}", tag, std::process::id());
        let _turn = turn();
        let child = Command::new("sleep").arg(&argument).stdin(stdin).spawn().expect("sleep runs");
        Self { child, argument }
    }

    fn name(&self) -> ProcessSelector {
        ProcessSelector::Name(format!("sleep {}", self.argument))
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}

fn shell() -> Command {
    let mut shell = Command::new("sh");
    shell.arg("-s");
    shell
}

/// Returns a command that runs `script` in a shell, for use in place of `ssh`.
fn instead_of_ssh(script: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(script);
    shell
}

fn start(shell: Command, process: &ProcessSelector) -> Result<Sampler, UsageError> {
    let _turn = turn();
    Sampler::over(shell, "user@host", process, INTERVAL, Duration::from_secs(10))
}

/// Waits for two snapshots, which are necessary for a sample.
fn receive_two(sampler: &mut Sampler) {
    match &mut sampler.source {
        Source::Remote(remote) => {
            remote.receive();
            remote.receive();
        }
        Source::Local(_) => panic!("not remote"),
    }
}

#[test]
fn the_cpu_usage_of_this_process_is_measured() {
    let mut sampler = Sampler::own().expect("Linux");
    let now = Instant::now();
    assert_eq!(sampler.sample(now), None);
    let until = cpu_time() + Duration::from_millis(60);
    while cpu_time() < until {
        std::hint::spin_loop();
    }
    // The sampler sees 60 ms of work in a second: 6 percent, less a tick. Other tests of this
    // process add to it.
    let sample = sampler.sample(now + Duration::from_secs(1)).expect("a second sample");
    assert!(sample.cpu_percent >= 5.0, "{sample:?}");
    assert!(sample.rss_bytes > 500_000, "{sample:?}");
    assert_eq!(sampler.processes().first().map(|(pid, _)| *pid), Some(std::process::id()));
}

#[test]
fn a_process_is_found_by_name_here_and_gone_when_it_ends() {
    let mut idle = Idle::start(1);
    let mut sampler = Sampler::new(&idle.name(), INTERVAL).expect("started");
    let now = Instant::now();
    // The process needs a moment to become `sleep`; to the sampler, each attempt is a second later.
    let mut seconds = 0;
    while sampler.processes().is_empty() {
        seconds += 2;
        assert!(seconds < 1_000_000, "never found");
        sampler.sample(now + Duration::from_secs(seconds));
    }
    assert_eq!(sampler.processes(), [(idle.child.id(), "sleep".to_owned())]);
    // The name appears before the memory does.
    let sample = loop {
        seconds += 1;
        assert!(seconds < 1_000_000, "never in memory");
        let sample = sampler.sample(now + Duration::from_secs(seconds)).expect("a sample");
        if sample.rss_bytes > 0 {
            break sample;
        }
    };
    assert!(sample.cpu_percent < 50.0, "{sample:?}");
    idle.child.kill().expect("killed");
    idle.child.wait().expect("ended");
    assert_eq!(sampler.sample(now + Duration::from_secs(seconds + 1)), None);
    assert!(sampler.processes().is_empty());
}

#[test]
fn a_process_that_is_not_there_is_named() {
    // This id exceeds the largest process id of Linux.
    let error = Sampler::new(&ProcessSelector::Pid(u32::MAX), INTERVAL).expect_err("no such");
    assert_eq!(
        error.to_string(),
        "there is no process 4294967295 on this host; check controller.process"
    );
    let error = Sampler::new(&ProcessSelector::Name(" ".to_owned()), INTERVAL).expect_err("empty");
    assert!(matches!(error, UsageError::EmptyName));
    let error = Sampler::new(&ProcessSelector::Listener, INTERVAL).expect_err("unresolved");
    assert!(matches!(error, UsageError::Unresolved));
}

#[test]
fn the_loop_finds_a_process_by_name_and_by_id() {
    let idle = Idle::start(2);
    for process in [idle.name(), ProcessSelector::Pid(idle.child.id())] {
        let mut sampler = start(shell(), &process).expect("started");
        receive_two(&mut sampler);
        let sample = sampler.sample(Instant::now()).expect("a sample");
        assert!(sample.rss_bytes > 0 && sample.cpu_percent < 100.0, "{sample:?}");
        assert_eq!(sampler.processes().len(), 1);
        assert_eq!(sampler.processes().first().map(|(pid, _)| *pid), Some(idle.child.id()));
        assert_eq!(sampler.failure(), None);
    }
}

#[test]
fn the_loop_does_not_find_itself() {
    // The text is part of the script, and would be on the command line if it were an argument.
    let process = ProcessSelector::Name(format!("nobody's {}", std::process::id()));
    let mut sampler = start(shell(), &process).expect("started");
    receive_two(&mut sampler);
    assert_eq!(sampler.processes(), []);
    assert_eq!(sampler.sample(Instant::now()), None);
}

#[test]
fn samples_stop_when_the_connection_breaks_and_say_why() {
    let script = r#"echo "planimeter-usage-1 100 4096"
        stat="S 1 1 1 0 -1 0 1 2 3 4 0 0 7 8 20 0 9 0 5555 1000000 250 0"
        printf 't 1.0 0\np 7 (java) %s\n.\nt 2.0 0\np 7 (java) %s\n.\n' "$stat" "$stat"
        echo "connection reset" >&2"#;
    let mut sampler = start(instead_of_ssh(script), &ProcessSelector::Pid(7)).expect("started");
    receive_two(&mut sampler);
    let deadline = Instant::now() + Duration::from_secs(20);
    let failure = loop {
        sampler.sample(Instant::now());
        // Standard error may be read a moment later than the samples.
        match sampler.failure() {
            Some(failure) if failure.contains("reset") => break failure,
            other => assert!(Instant::now() < deadline, "{other:?}"),
        }
        thread::yield_now();
    };
    assert_eq!(failure, "ssh user@host ended: connection reset");
    let now = Instant::now();
    let last = Sample { cpu_percent: 0.0, rss_bytes: 250 * 4096, wait_percent: None };
    assert_eq!(sampler.sample(now), Some(last));
    assert_eq!(sampler.sample(now + Duration::from_secs(60)), None);
}

#[test]
fn an_ssh_that_fails_is_quoted() {
    let failing = instead_of_ssh("echo 'host key verification failed' >&2; exit 255");
    let error = start(failing, &ProcessSelector::Pid(1)).expect_err("must fail").to_string();
    assert_eq!(
        error,
        "ssh user@host ended (exit status: 255): host key verification failed; it must work \
         without a password: try ssh -o BatchMode=yes user@host true"
    );
    let error = start(Command::new("no-such-ssh"), &ProcessSelector::Pid(1)).expect_err("absent");
    assert!(error.to_string().starts_with("cannot run no-such-ssh to reach user@host: "));
    let error = start(instead_of_ssh("echo '% Invalid'"), &ProcessSelector::Pid(1)).expect_err("x");
    assert_eq!(
        error.to_string(),
        "ssh user@host answered \"% Invalid\" instead of process times; does it run a POSIX sh?"
    );
}

#[test]
fn an_ssh_that_stays_silent_is_abandoned() {
    let silent = instead_of_ssh("exec sleep 1000");
    let patience = Duration::from_millis(20);
    let process = ProcessSelector::Pid(1);
    let _turn = turn();
    let error = Sampler::over(silent, "user@host", &process, INTERVAL, patience).expect_err("x");
    assert_eq!(error.to_string(), "ssh user@host gave no answer within 0.02 s");
}

#[test]
fn a_selector_passes_through_one_host_only() {
    let inner =
        ProcessSelector::Ssh { target: "b".to_owned(), process: Box::new(ProcessSelector::Pid(1)) };
    let outer = ProcessSelector::Ssh { target: "a".to_owned(), process: Box::new(inner) };
    let error = Sampler::new(&outer, INTERVAL).expect_err("nested");
    assert_eq!(
        error.to_string(),
        "controller.process can pass through one host only, not from a on to b"
    );
}

#[test]
fn the_process_that_listens_is_found() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = listener.local_addr().expect("an address");
    // The listener is passed on as standard input, which closes it in this process.
    let idle = Idle::start_with(3, Stdio::from(OwnedFd::from(listener)));
    assert_eq!(listeners_at(address).expect("found"), [idle.child.id()]);
}

#[test]
fn the_process_that_dialled_is_found() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = listener.local_addr().expect("an address");
    let client = std::net::TcpStream::connect(address).expect("connected");
    let idle = Idle::start_with(4, Stdio::from(OwnedFd::from(client)));
    assert_eq!(diallers_of(address).expect("found"), [idle.child.id()]);
    let any = std::net::SocketAddr::new([0, 0, 0, 0].into(), address.port());
    assert_eq!(diallers_of(any).expect("found"), [idle.child.id()]);
}

#[test]
fn usage_sums_up_samples() {
    let sample = |cpu_percent, rss_bytes| Sample { cpu_percent, rss_bytes, wait_percent: None };
    let usage = Usage::of(&[sample(100.0, 5), sample(300.0, 9), sample(50.0, 7)]);
    assert_eq!(usage.cpu_percent, 150.0);
    assert_eq!((usage.cpu_percent_max, usage.rss_bytes_max, usage.samples), (300.0, 9, 3));
    assert_eq!(Usage::of(&[]), Usage::default());
}
