//! The software switch of this project, started for one campaign as a process: `planimeter switch`.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::super::conduct::BenchError;
use super::super::plan::ProgramPath;
use super::super::task::Task;
use super::p4runtime_switch::P4RuntimeSwitch;
use super::wire::Device;

/// A process that runs `planimeter switch` without a program, as the device with the id 1. It ends
/// when this value is dropped.
#[derive(Debug)]
pub struct SwitchProcess {
    process: Child,
    address: SocketAddr,
}

impl SwitchProcess {
    /// Starts the switch in the network namespace of the calling thread, with interfaces as its
    /// ports. `program` is the path of the `planimeter` executable. The switch may not serve
    /// P4Runtime yet when this function returns.
    ///
    /// # Errors
    /// Returns an error if the program cannot be started.
    pub fn start<'i>(
        program: &Path,
        path: ProgramPath,
        ports: impl IntoIterator<Item = (u32, &'i str)>,
    ) -> Result<Self, BenchError> {
        let failed = |error: &dyn std::fmt::Display| BenchError::Program {
            program: format!("{} switch", program.display()),
            problem: error.to_string(),
        };
        // The port was free a moment ago, and no other program uses this namespace.
        let address = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
            .and_then(|listener| listener.local_addr())
            .map_err(|error| failed(&error))?;
        let mut command = Command::new(program);
        command.arg("switch").arg("--no-p4").args(["--log-level", "error", "--device-id", "1"]);
        command.args(["--path", path.name()]);
        command.args(["--grpc-server-addr", &address.to_string()]);
        for (port, interface) in ports {
            command.args(["--interface", &format!("{port}@{interface}")]);
        }
        command.args(["--parent", &std::process::id().to_string()]);
        // A Ctrl-C in the terminal must not reach the switch: the measurement ends it.
        command.stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
        let process = command.spawn().map_err(|error| failed(&error))?;
        Ok(Self { process, address })
    }

    /// Returns the address of the P4Runtime server.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for SwitchProcess {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A running software switch and the P4Runtime connection to it.
pub(super) struct SoftwareSwitch {
    session: P4RuntimeSwitch,
    switch: SwitchProcess,
}

impl SoftwareSwitch {
    /// Starts the switch with two interfaces as its ports. `program` is the path of the
    /// `planimeter` executable.
    pub(super) fn start(
        program: &Path,
        path: ProgramPath,
        interfaces: &[String; 2],
        ports: [u32; 2],
    ) -> Result<Self, BenchError> {
        let of_ports = ports.into_iter().zip(interfaces.iter().map(String::as_str));
        let switch = SwitchProcess::start(program, path, of_ports)?;
        let session = P4RuntimeSwitch::connect(&switch.address().to_string(), 1, ports)?;
        Ok(Self { session, switch })
    }
}

impl Device for SoftwareSwitch {
    fn configure(&mut self, task: &Task) -> Result<(), BenchError> {
        self.session.configure(task)
    }

    fn processes(&self) -> Vec<u32> {
        vec![self.switch.process.id()]
    }
}
