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

/// A running software switch and the P4Runtime connection to it.
pub(super) struct SoftwareSwitch {
    session: P4RuntimeSwitch,
    process: Child,
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
        for (port, interface) in ports.iter().zip(interfaces) {
            command.args(["--interface", &format!("{port}@{interface}")]);
        }
        command.args(["--parent", &std::process::id().to_string()]);
        // A Ctrl-C in the terminal must not reach the switch: the campaign ends it after the
        // current block.
        command.stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
        let mut process = command.spawn().map_err(|error| failed(&error))?;
        match P4RuntimeSwitch::connect(&address.to_string(), 1, ports) {
            Ok(session) => Ok(Self { session, process }),
            Err(error) => {
                let _ = process.kill();
                let _ = process.wait();
                Err(error)
            }
        }
    }
}

impl Device for SoftwareSwitch {
    fn configure(&mut self, task: &Task) -> Result<(), BenchError> {
        self.session.configure(task)
    }

    fn processes(&self) -> Vec<u32> {
        vec![self.process.id()]
    }
}

impl Drop for SoftwareSwitch {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
