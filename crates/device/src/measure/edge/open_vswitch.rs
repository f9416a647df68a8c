//! Open vSwitch with the userspace datapath, started for one campaign in a temporary directory.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use openflow::Version;

use super::super::conduct::BenchError;
use super::super::task::Task;
use super::openflow_switch::{OpenFlowSwitch, listen};
use super::wire::Device;

const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";
const TIMEOUT: Duration = Duration::from_secs(20);

/// The settings of Open vSwitch that differ from the defaults. Every flow is inserted into the
/// exact-match cache. By default, only one flow in a hundred is inserted, so that the first packets
/// of a block would take a different path than the last ones (`emc-insert-inv-prob` in
/// ovs-vswitchd.conf.db(5)).
const SETTINGS: [&str; 1] = ["other_config:emc-insert-inv-prob=1"];

/// The setting that disables the echo requests of Open vSwitch. By default, Open vSwitch closes a
/// connection on which the controller is silent for 10 s. While a block is measured, the controller
/// does not read the connection and could not answer an echo request.
const NO_PROBE: &str = "inactivity_probe=0";

/// A running Open vSwitch and its OpenFlow connection.
pub(super) struct OpenVSwitch {
    session: OpenFlowSwitch,
    /// The processes of Open vSwitch. They are declared before the directory, so that they end
    /// before it is removed.
    daemons: [Daemon; 2],
    _directory: tempfile::TempDir,
    pub(super) version: String,
}

/// A process of Open vSwitch, which is killed when this value is dropped.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl OpenVSwitch {
    /// Starts Open vSwitch and connects two interfaces to it, with the port numbers `ports`.
    pub(super) fn start(
        interfaces: &[String; 2],
        openflow: Version,
        ports: [u32; 2],
    ) -> Result<Self, BenchError> {
        let directory = tempfile::tempdir().map_err(|source| BenchError::System {
            what: "making a directory".to_owned(),
            source,
        })?;
        let listener: TcpListener = listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let address = listener
            .local_addr()
            .map_err(|source| BenchError::System { what: "listening".to_owned(), source })?;
        let place = directory.path();
        let database = place.join("conf.db").display().to_string();
        let socket = format!("unix:{}", place.join("db.sock").display());
        let version = call(place, "ovs-vswitchd", &["--version"])?;
        call(place, "ovsdb-tool", &["create", &database, SCHEMA])?;
        let remote = format!("--remote=p{socket}");
        let server = daemon(place, "ovsdb-server", &[&remote, "--no-chdir", &database])?;
        wait_for(&place.join("db.sock"), "ovsdb-server")?;
        let vsctl = |arguments: &[&str]| {
            let database = format!("--db={socket}");
            let mut all = vec![database.as_str()];
            all.extend_from_slice(arguments);
            call(place, "ovs-vsctl", &all)
        };
        vsctl(&["--no-wait", "init"])?;
        let mut settings = vec!["--no-wait", "set", "Open_vSwitch", "."];
        settings.extend(SETTINGS);
        vsctl(&settings)?;
        let switch = daemon(place, "ovs-vswitchd", &[&socket, "--no-chdir"])?;
        let protocols = match openflow {
            Version::V1_0 => "protocols=OpenFlow10",
            Version::V1_3 => "protocols=OpenFlow13",
        };
        let [first, second] = interfaces;
        let [in_port, out_port] = ports.map(|port| format!("ofport_request={port}"));
        let controller = format!("tcp:{address}");
        let bridge = "planimeter";
        #[rustfmt::skip]
        vsctl(&[
            "--timeout=20", "add-br", bridge,
            "--", "set", "Bridge", bridge, "datapath_type=netdev", "fail_mode=secure", protocols,
                "other_config:disable-in-band=true",
            "--", "add-port", bridge, first, "--", "set", "Interface", first, &in_port,
            "--", "add-port", bridge, second, "--", "set", "Interface", second, &out_port,
            "--", "set-controller", bridge, &controller,
            "--", "set", "Controller", bridge, NO_PROBE,
        ])?;
        let session = OpenFlowSwitch::accept(&listener, openflow, ports)?;
        let version = version.lines().next().unwrap_or_default().to_owned();
        Ok(Self { session, daemons: [switch, server], _directory: directory, version })
    }

    /// Returns the settings of Open vSwitch that differ from the defaults, as text.
    pub(super) fn settings() -> String {
        SETTINGS.join(" ")
    }
}

impl Device for OpenVSwitch {
    fn configure(&mut self, task: &Task) -> Result<(), BenchError> {
        self.session.configure(task)
    }

    fn processes(&self) -> Vec<u32> {
        self.daemons.iter().map(|daemon| daemon.0.id()).collect()
    }
}

fn command(place: &Path, program: &str) -> Command {
    let mut command = Command::new(program);
    // Debian installs the daemons outside the usual PATH.
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{path}:/usr/sbin:/sbin")).env("OVS_RUNDIR", place);
    command.env("OVS_LOGDIR", place).env("OVS_DBDIR", place).current_dir(place);
    command.stdin(Stdio::null());
    command
}

fn daemon(place: &Path, program: &str, arguments: &[&str]) -> Result<Daemon, BenchError> {
    let log = format!("--log-file={}", place.join(format!("{program}.log")).display());
    let mut command = command(place, program);
    command.args(arguments).args([log.as_str(), "-vconsole:off"]);
    // A Ctrl-C in the terminal must not reach the daemons: the campaign ends them after the current
    // block.
    command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command.spawn().map(Daemon).map_err(|error| absent(program, &error))
}

fn call(place: &Path, program: &str, arguments: &[&str]) -> Result<String, BenchError> {
    let output = command(place, program)
        .args(arguments)
        .output()
        .map_err(|error| absent(program, &error))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(BenchError::Program {
        program: format!("{program} {}", arguments.join(" ")),
        problem: message,
    })
}

fn absent(program: &str, error: &std::io::Error) -> BenchError {
    BenchError::Program {
        program: program.to_owned(),
        problem: format!(
            "{error}; install Open vSwitch (`conformance/install.sh openvswitch`, or Debian's package openvswitch-switch)"
        ),
    }
}

fn wait_for(path: &Path, program: &str) -> Result<(), BenchError> {
    let begin = Instant::now();
    while !path.exists() {
        if begin.elapsed() > TIMEOUT {
            return Err(BenchError::Program {
                program: program.to_owned(),
                problem: "it does not start".to_owned(),
            });
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
