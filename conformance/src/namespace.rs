//! Network namespaces that tests make, and what runs in them.
//!
//! A [`Lab`] is a few namespaces with virtual cables between them: nothing that a test sends leaves
//! it, no port of the machine is taken, and what is in it goes away with it. Names tell whose it is,
//! so that a lab whose test was killed is cleared away by the next one.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

const PREFIX: &str = "planimeter-";
/// Where `ip netns` keeps the namespaces.
const NAMES: &str = "/run/netns";

/// Namespaces and the cables between them; dropping it removes them.
#[derive(Debug)]
pub struct Lab {
    prefix: String,
    namespaces: Vec<String>,
}

impl Lab {
    /// An empty lab. Returns nothing if namespaces cannot be made here, and says so past the test
    /// harness; a test then has nothing to do.
    ///
    /// # Panics
    ///
    /// If they cannot be made and `PLANIMETER_REQUIRE_PEERS` is 1.
    pub fn new() -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        clear_left_behind();
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("{PREFIX}{}-{number}-", std::process::id());
        let mut lab = Self { prefix, namespaces: Vec::new() };
        match lab.try_add("s") {
            Ok(()) => Some(lab),
            Err(why) => {
                crate::peer::skip(&format!(
                    "network namespaces cannot be made here ({why}); run as root, with iproute2"
                ));
                None
            }
        }
    }

    /// Adds a namespace with loopback up. That of the switch, `s`, is there from the start.
    ///
    /// # Panics
    ///
    /// When it cannot be made.
    pub fn add(&mut self, name: &str) {
        self.try_add(name).expect("a namespace was made before");
    }

    fn try_add(&mut self, name: &str) -> Result<(), String> {
        let full = format!("{}{name}", self.prefix);
        checked(ip(&["netns", "add", &full]))?;
        self.namespaces.push(name.to_owned());
        checked(ip(&["-n", &full, "link", "set", "lo", "up"]))?;
        // Hosts that look for routers would be heard by those that listen for something else.
        let mut quiet = self.command(name, "sysctl");
        quiet.args([
            "-qw",
            "net.ipv6.conf.all.disable_ipv6=1",
            "net.ipv6.conf.default.disable_ipv6=1",
        ]);
        checked(quiet.output().map_err(|error| error.to_string()))
    }

    /// Lays a cable between interfaces of two namespaces, which it makes; both are up.
    ///
    /// # Panics
    ///
    /// When that is not possible.
    pub fn cable(&self, (name, interface): (&str, &str), (other, peer): (&str, &str)) {
        let (name, other) = (self.full(name), self.full(other));
        self.ip(&[
            "-n", &name, "link", "add", interface, "type", "veth", "peer", "name", peer, "netns",
            &other,
        ]);
        self.ip(&["-n", &name, "link", "set", interface, "up"]);
        self.ip(&["-n", &other, "link", "set", peer, "up"]);
    }

    /// Runs `ip` in a namespace.
    ///
    /// # Panics
    ///
    /// When it fails.
    pub fn configure(&self, name: &str, arguments: &str) {
        let full = self.full(name);
        let mut all = vec!["-n", &full];
        all.extend(arguments.split_whitespace());
        self.ip(&all);
    }

    /// A program to be run in a namespace.
    pub fn command(&self, name: &str, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.full(name)]).arg(program);
        command
    }

    /// A command that was made for elsewhere, in a namespace.
    pub fn within(&self, name: &str, inner: &Command) -> Command {
        let mut command = self.command(name, inner.get_program());
        command.args(inner.get_args());
        command
    }

    /// Runs a program in a namespace to its end and returns what it printed.
    ///
    /// # Panics
    ///
    /// When it does not run.
    pub fn run(&self, name: &str, program: &str, arguments: &str) -> Output {
        let mut command = self.command(name, "timeout");
        command.args(["--kill-after=1", "30", program]).args(arguments.split_whitespace());
        command.output().expect("ip runs")
    }

    fn full(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    #[allow(clippy::unused_self, reason = "there is a lab, so there is an ip")]
    fn ip(&self, arguments: &[&str]) {
        if let Err(error) = checked(ip(arguments)) {
            panic!("ip {}: {error}", arguments.join(" "));
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for name in &self.namespaces {
            let _ = ip(&["netns", "del", &self.full(name)]);
        }
    }
}

fn ip(arguments: &[&str]) -> Result<Output, String> {
    Command::new("ip").args(arguments).output().map_err(|error| error.to_string())
}

fn checked(outcome: Result<Output, String>) -> Result<(), String> {
    let output = outcome?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

/// Removes the namespaces of tests that were killed.
fn clear_left_behind() {
    let Ok(found) = fs::read_dir(NAMES) else { return };
    for name in found.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
        let process = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        let is_gone = process.is_some_and(|process| {
            process.parse::<u32>().is_ok() && !Path::new("/proc").join(process).exists()
        });
        if is_gone {
            let _ = ip(&["netns", "del", &name]);
        }
    }
}
