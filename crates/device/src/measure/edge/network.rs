//! A network namespace with wires for one campaign: what is measured meets no other traffic, and nothing is left behind.

use std::fs;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::Command;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::super::conduct::BenchError;

/// Interfaces of the generator, and of the device at their other ends.
#[derive(Debug, Clone)]
pub(super) struct Wires {
    pub(super) generator: [String; 2],
    pub(super) device: [String; 2],
}

/// A namespace of our own, which is removed at the end.
#[derive(Debug)]
pub(super) struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes one; the calling thread is in it from now on, and so is what it starts.
    pub(super) fn enter() -> Result<Self, BenchError> {
        let name = format!("planimeter-device-{}", std::process::id());
        ip(&["netns", "add", &name])?;
        let namespace = Self { name };
        let path = PathBuf::from("/run/netns").join(&namespace.name);
        let system = |what: &str, source: std::io::Error| BenchError::System {
            what: format!("{what} {}", path.display()),
            source,
        };
        let file = fs::File::open(&path).map_err(|source| system("opening", source))?;
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(|errno| system("entering", errno.into()))?;
        // Nobody speaks who was not asked to.
        for which in ["all", "default"] {
            let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1");
        }
        ip(&["link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    /// Two pairs of virtual interfaces.
    pub(super) fn wires(&self) -> Result<Wires, BenchError> {
        let names = |end: &str| [0, 1].map(|number| format!("{end}{number}"));
        let wires = Wires { generator: names("generator"), device: names("device") };
        for (here, there) in wires.generator.iter().zip(&wires.device) {
            ip(&["link", "add", here, "type", "veth", "peer", "name", there])?;
            ip(&["link", "set", here, "up"])?;
            ip(&["link", "set", there, "up"])?;
        }
        Ok(wires)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // There is nobody to tell.
        let _ = ip(&["netns", "delete", &self.name]);
    }
}

fn ip(arguments: &[&str]) -> Result<(), BenchError> {
    let failed = |problem: String| BenchError::Program {
        program: format!("ip {}", arguments.join(" ")),
        problem,
    };
    let output = Command::new("ip")
        .args(arguments)
        .output()
        .map_err(|error| failed(format!("{error}; Debian's iproute2 has it")))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(failed(format!("{}; making network namespaces needs root", said.trim())))
        }
    }
}
