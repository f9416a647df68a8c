//! A reference controller in a separate process.
//!
//! It is a process and not a thread, so that its resource use is measured separately from the
//! probe's, like that of any other controller.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use probe::config::DeviceAddress;

use crate::failure::Failure;
use crate::invocation;

/// A reference controller that runs in a process of its own. The process ends when this value is
/// dropped.
pub(crate) struct Controller {
    process: Child,
    port: u16,
}

impl Controller {
    /// Starts an OpenFlow controller that listens on a free port of this host. `more` contains
    /// further arguments.
    pub(crate) fn openflow(application: &str, more: &[&str]) -> Result<Self, Failure> {
        let mut arguments = vec!["--listen".to_owned(), "127.0.0.1:0".to_owned()];
        arguments.extend(more.iter().map(|argument| (*argument).to_owned()));
        let (process, line) = start(application, &arguments)?;
        // The value is created first, so that the process ends if its output is not understood.
        let mut controller = Self { process, port: 0 };
        controller.port = listening_port(&line).ok_or_else(|| {
            Failure::Run(format!("the controller did not print its address, but `{line}`"))
        })?;
        Ok(controller)
    }

    /// Starts a P4Runtime controller that dials the switches at `devices` on this host. `more`
    /// contains further arguments.
    pub(crate) fn p4runtime(
        application: &str,
        devices: &[DeviceAddress],
        more: &[&str],
    ) -> Result<Self, Failure> {
        // The addresses of thousands of devices do not fit a command line.
        let mut list = tempfile::NamedTempFile::new().map_err(Failure::run)?;
        list.write_all(probe::netcfg::list(devices).as_bytes()).map_err(Failure::run)?;
        let mut arguments = vec!["--devices".to_owned(), list.path().display().to_string()];
        arguments.extend(more.iter().map(|argument| (*argument).to_owned()));
        let (process, _) = start(application, &arguments)?;
        let port = devices.first().map_or(0, |device| device.listen.port());
        Ok(Self { process, port })
    }

    /// Returns the port on which the OpenFlow controller listens, or the port of the first switch
    /// that the P4Runtime controller dials.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Starts a controller in a process, and waits for the line by which it announces that it is ready.
/// Returns the process and the line.
fn start(application: &str, arguments: &[String]) -> Result<(Child, String), Failure> {
    let program = invocation::executable()?;
    let mut process = Command::new(program)
        .args(["controller", "--application", application])
        // The controller must also end if this process is killed and cannot drop it.
        .args(["--parent", &std::process::id().to_string()])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| Failure::Run(format!("cannot start the controller: {error}")))?;
    let mut line = String::new();
    if let Some(output) = process.stdout.take() {
        BufReader::new(output).read_line(&mut line).map_err(Failure::run)?;
    }
    Ok((process, line))
}

/// Returns the port in the line by which a controller announces its address, such as
/// `listening on 127.0.0.1:40123 (...)`.
fn listening_port(line: &str) -> Option<u16> {
    let address: SocketAddr = line.split_whitespace().find_map(|word| word.parse().ok())?;
    Some(address.port())
}

#[cfg(test)]
mod tests {
    use super::listening_port;

    #[test]
    fn the_port_is_read_from_the_ready_line() {
        let line = "listening on 127.0.0.1:40123 (OpenFlow 1.0, 1.3), reactive forwarding\n";
        assert_eq!(listening_port(line), Some(40123));
        assert_eq!(listening_port(""), None);
    }
}
