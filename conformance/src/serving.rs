//! Emulated P4Runtime switches that wait for a controller to dial them.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;

use crate::process::poll;
use crate::run::ProbeRun;

/// Switches that listen, and the probe run that emulates them.
///
/// Once all switches have a controller and a pipeline, each sends some packet-ins within a second.
/// The run then continues until it is interrupted, so that answers count however slow the machine
/// is.
#[derive(Debug)]
pub struct Serving {
    /// The probe run.
    pub run: ProbeRun,
    /// The device id and `host:port` of each switch.
    pub switches: Vec<(String, String)>,
    scratch: TempDir,
}

impl Serving {
    /// Starts `switches` switches, `per_port` of them behind each port, and waits until they
    /// listen.
    ///
    /// # Panics
    ///
    /// Panics if they do not listen in time.
    pub fn start(switches: u32, per_port: u32, packets: u32) -> Self {
        Self::start_with(switches, per_port, packets, &[])
    }

    /// Starts switches like [`Serving::start`], with further settings.
    ///
    /// # Panics
    ///
    /// Panics if they do not listen in time.
    pub fn start_with(switches: u32, per_port: u32, packets: u32, more: &[(&str, &str)]) -> Self {
        // Another process may take a port between its choice and its use.
        for _ in 0..3 {
            let scratch = TempDir::new().expect("a folder for the list of switches");
            let run = start(switches, per_port, packets, more, &scratch);
            let mut listed = Vec::new();
            poll(Duration::from_secs(20), || {
                listed = list(&scratch);
                listed.len() == switches as usize || run.is_over()
            });
            if listed.len() == switches as usize {
                return Self { run, switches: listed, scratch };
            }
        }
        panic!("the switches did not listen");
    }

    /// Returns the path of the file with a line for each switch, in the format of `--list-file`.
    pub fn list_file(&self) -> PathBuf {
        self.scratch.path().join("switches.txt")
    }
}

fn start(
    switches: u32,
    per_port: u32,
    packets: u32,
    more: &[(&str, &str)],
    scratch: &TempDir,
) -> ProbeRun {
    let first = free_ports(switches.div_ceil(per_port));
    let list_file = scratch.path().join("switches.txt");
    let (count, first) = (switches.to_string(), first.to_string());
    let (per_port, rate) = (per_port.to_string(), packets.to_string());
    let (list_file, ceases) =
        (list_file.to_string_lossy(), format!("0-{}:stop-delay=99s", switches - 1));
    let mut settings = vec![
        ("protocol", "p4runtime"),
        ("switches.count", &count),
        ("p4runtime.first-port", &first),
        ("p4runtime.devices-per-port", &per_port),
        ("controller.list-file", &list_file),
        ("traffic.rate", &rate),
        ("timing.connect-timeout", "60s"),
        ("timing.settle", "500ms"),
        ("timing.warm-up", "0s"),
        ("timing.measure", "100s"),
        ("switch", &ceases),
    ];
    settings.extend(more);
    ProbeRun::start(&settings)
}

fn list(scratch: &TempDir) -> Vec<(String, String)> {
    let text = fs::read_to_string(scratch.path().join("switches.txt")).unwrap_or_default();
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(id, address)| (id.to_owned(), address.to_owned())).collect()
}

/// Returns the first of `count` consecutive ports that are free at the moment. They are below the
/// system's ephemeral range.
fn free_ports(count: u32) -> u16 {
    let count = u16::try_from(count).expect("fewer switches than ports");
    // Tests run concurrently in threads and processes, so each begins its search at another port.
    let thread = format!("{:?}", std::thread::current().id());
    let number: u32 = thread.bytes().filter(u8::is_ascii_digit).map(u32::from).sum();
    let span = 28_000;
    let from = (std::process::id().wrapping_mul(97) + number.wrapping_mul(293)) % span;
    (0..span)
        .step_by(usize::from(count))
        .filter_map(|step| u16::try_from(2_000 + (from + step) % span).ok())
        .find(|first| {
            (*first..first + count)
                .all(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok())
        })
        .expect("ports that nobody uses")
}
