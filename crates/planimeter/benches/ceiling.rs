//! Measures the maximum rate of the probe on this machine and, in the same run, the rates of real
//! controllers.
//!
//!     cargo bench -p planimeter --bench ceiling              # everything
//!     cargo bench -p planimeter --bench ceiling -- paced     # cases whose name contains a word
//!
//! Each case is a run of the `planimeter` command, so that the measurement is what a user gets.
//! `PLANIMETER_REPETITIONS` sets the trials per case (3). The benchmark only reports; no figure
//! makes it fail. The table shows means with their 95 % confidence intervals and the limit of each
//! run. Before it, the benchmark prints how much of the processor the machine withholds from a
//! thread that only reads the clock.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const PLANIMETER: &str = env!("CARGO_BIN_EXE_planimeter");

/// One row of the table.
struct Case {
    name: &'static str,
    flags: &'static [&'static str],
    against: Against,
}

/// The controller of a case.
#[derive(Clone, Copy, PartialEq)]
enum Against {
    /// The built-in null controller.
    Null,
    /// The ovs-testcontroller, if it is installed.
    OpenVSwitch,
    /// A learning switch of os-ken, if it is installed.
    OsKen,
}

const CASES: &[Case] = &[
    case("openflow paced 1M/s, 16 switches", &["-n16", "-r62.5k", "--threads=1"]),
    case("openflow paced 1M/s, 64 switches", &["-n64", "-r15.625k", "--threads=1"]),
    case("openflow flood, 1 switch", &["-n1", "--mode=flood", "--threads=1"]),
    case("openflow flood, 16 switches", &["-n16", "--mode=flood", "--threads=1"]),
    case("openflow flood, 64 switches", &["-n64", "--mode=flood", "--threads=1"]),
    case(
        "openflow latency (window 1), 1 switch",
        &["-n1", "--mode=closed", "--window=1", "--threads=1"],
    ),
    case(
        "openflow latency (window 1), 16 switches",
        &["-n16", "--mode=closed", "--window=1", "--threads=1"],
    ),
    case("schedule openflow, 100 switches x 1k/s", &["-n100", "-r1k", "--threads=1"]),
    case(
        "schedule p4runtime, 100 switches x 1k/s",
        &["-pp4runtime", "-n100", "-r1k", "--threads=1"],
    ),
    case(
        "schedule p4runtime, 100 switches x 1k/s, 10 behind each port",
        &["-pp4runtime", "-n100", "-r1k", "--threads=1", "--devices-per-port=10"],
    ),
    case("p4runtime paced 200k/s, 16 switches", &["-pp4runtime", "-n16", "-r12.5k", "--threads=1"]),
    case(
        "p4runtime closed (window 64), 16 switches",
        &["-pp4runtime", "-n16", "--mode=closed", "--window=64", "--threads=1"],
    ),
    case("p4runtime connect 1,000 switches", &["-pp4runtime", "-n1000", "-r1", "--threads=1"]),
    case(
        "p4runtime connect 10,000 switches",
        &["-pp4runtime", "-n10000", "-r0.1", "--threads=1", "--connect-timeout=60s"],
    ),
    // ovs-testcontroller accepts at most sixteen switches.
    peer("peer ovs-testcontroller, closed, 16 switches", Against::OpenVSwitch, "-n16"),
    peer("peer os-ken, closed, 16 switches", Against::OsKen, "-n16"),
    peer("peer os-ken, closed, 64 switches", Against::OsKen, "-n64"),
];

const fn case(name: &'static str, flags: &'static [&'static str]) -> Case {
    Case { name, flags, against: Against::Null }
}

const fn peer(name: &'static str, against: Against, switches: &'static str) -> Case {
    // Flags are constants, so each number of switches has its own array.
    let flags: &'static [&'static str] = match switches.as_bytes() {
        b"-n16" => &["-pof10", "-n16", "--mode=closed", "--window=32", "--threads=1"],
        _ => &["-pof10", "-n64", "--mode=closed", "--window=32", "--threads=1"],
    };
    Case { name, flags, against }
}

fn main() {
    // cargo passes --bench; all other arguments select cases.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let withheld = withheld(Duration::from_secs(3));
    println!("The machine withholds {:.2} % of the processor from a spinning thread,", withheld.0);
    println!("in {} gaps above 50 us, the longest {:.1} ms.\n", withheld.1, withheld.2);
    println!(
        "| case | sent/s | received/s | loss | lag p50, p99 | rtt p50 | probe CPU, memory | ready after | limit |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for case in CASES {
        if wanted.is_empty() || wanted.iter().any(|word| case.name.contains(word.as_str())) {
            match run(case) {
                Ok(line) => println!("{line}"),
                Err(why) => println!("| {} | NOT MEASURED: {why} |", case.name),
            }
        }
    }
}

fn run(case: &Case) -> Result<String, String> {
    let output = temporary("run");
    let repetitions = std::env::var("PLANIMETER_REPETITIONS").unwrap_or_else(|_| "3".into());
    let mut command = Command::new(PLANIMETER);
    command
        .args(["probe", "--quiet", "--warm-up=1s", "--duration=3s", "--drain=1s", "--settle=500ms"])
        .args(["--repetitions", &repetitions])
        .arg("--output")
        .arg(&output)
        .args(case.flags);
    let peer = match case.against {
        Against::Null => {
            command.args(["--calibrate", "--first-port=20001"]);
            None
        }
        against => {
            let port = free_port()?;
            command.args(["--controller", &format!("127.0.0.1:{port}")]);
            Some(Peer::start(against, port)?)
        }
    };
    let done = command.stdout(Stdio::null()).output().map_err(|error| error.to_string())?;
    drop(peer);
    let text = std::fs::read_to_string(output.join("result.json"))
        .map_err(|_| String::from_utf8_lossy(&done.stderr).trim().replace('\n', "; "))?;
    let _ = std::fs::remove_dir_all(&output);
    let result: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    line(case.name, &result)
}

fn line(name: &str, result: &Value) -> Result<String, String> {
    let point = &result["points"][0];
    if point["trials"][0]["completion"]["state"] == "failed" {
        return Err(point["trials"][0]["handshake"]["why_zero"].to_string());
    }
    let figure = |metric: &str, scale: f64| {
        let estimate = &point["summary"][metric];
        match (estimate["mean"].as_f64(), estimate["ci95"].as_f64()) {
            (Some(mean), Some(ci)) => format!("{} ± {}", short(mean * scale), short(ci * scale)),
            (Some(mean), None) => short(mean * scale),
            _ => "-".into(),
        }
    };
    let mut limits: BTreeMap<&str, u32> = BTreeMap::new();
    for trial in point["trials"].as_array().into_iter().flatten() {
        *limits.entry(trial["verdict"]["saturated"].as_str().unwrap_or("?")).or_default() += 1;
    }
    let limits: Vec<String> = limits.iter().map(|(side, n)| format!("{side} {n}")).collect();
    Ok(format!(
        "| {name} | {} | {} | {} % | {} us, {} us | {} us | {} %, {} MB | {} s | {} |",
        figure("sent_rate", 1.0),
        figure("received_rate", 1.0),
        figure("loss", 100.0),
        figure("lag.p50", 1e6),
        figure("lag.p99", 1e6),
        figure("rtt_from_sent.p50", 1e6),
        figure("probe.cpu", 1.0),
        figure("probe.rss", 1e-6),
        figure("ready_after", 1.0),
        limits.join(", ")
    ))
}

fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 1e6 => format!("{:.2} M", value / 1e6),
        v if v >= 1e4 => format!("{:.1} k", value / 1e3),
        v if v >= 100.0 => format!("{value:.0}"),
        _ => format!("{value:.2}"),
    }
}

/// A real controller process, which ends when this value is dropped.
struct Peer(Child);

impl Peer {
    fn start(against: Against, port: u16) -> Result<Self, String> {
        let mut command = match against {
            Against::OpenVSwitch => {
                let directory = temporary("ovs");
                std::fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
                let mut command = Command::new("ovs-testcontroller");
                command
                    .env("OVS_RUNDIR", &directory)
                    .arg(format!("--unixctl={}", directory.join("c.ctl").display()))
                    .arg(format!("ptcp:{port}:127.0.0.1"));
                command
            }
            _ => {
                let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
                let mut command = Command::new(root.join("conformance/.peers/os-ken/bin/python"));
                command
                    .arg(root.join("examples/os-ken/learning_switch_10.py"))
                    .arg(port.to_string());
                command
            }
        };
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{error}; run conformance/install.sh"))?;
        Ok(Self(child))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    Ok(listener.local_addr().map_err(|error| error.to_string())?.port())
}

fn temporary(what: &str) -> PathBuf {
    let unique = std::process::id();
    let number = COUNTER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    std::env::temp_dir().join(format!("planimeter-ceiling-{what}-{unique}-{number}"))
}

static COUNTER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// Returns three figures about the gaps of more than 50 us in which a spinning thread does not run:
/// their percentage of the time, their number, and the longest in milliseconds.
fn withheld(time: Duration) -> (f64, u32, f64) {
    let start = Instant::now();
    let (mut last, mut gaps, mut sum, mut longest) = (start, 0, Duration::ZERO, Duration::ZERO);
    while last - start < time {
        let now = Instant::now();
        let gap = now - last;
        if gap > Duration::from_micros(50) {
            gaps += 1;
            sum += gap;
            longest = longest.max(gap);
        }
        last = now;
    }
    (100.0 * sum.as_secs_f64() / time.as_secs_f64(), gaps, longest.as_secs_f64() * 1e3)
}
