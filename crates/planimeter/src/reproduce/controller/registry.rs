//! The controllers of package registries with which the figures of the P4RCProbe paper are
//! measured: os-ken over OpenFlow and finsy over P4Runtime, each with the learning switch among the
//! examples.

use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::subject::Yours;
use crate::failure::Failure;
use crate::reference::Protocol;

/// A controller of a package registry, and the example that makes it a learning switch.
struct Program {
    /// The name of the package, and of its folder below the folder of installed controllers.
    name: &'static str,
    protocol: Protocol,
    /// The path of the example in the repository. Its copy has the same path below the temporary
    /// folder of [`Registry`], as have the copies of [`PROGRAM_FILES`].
    script: &'static str,
    text: &'static str,
}

const PROGRAMS: [Program; 2] = [
    Program {
        name: "os-ken",
        protocol: Protocol::OpenFlow,
        script: "examples/os-ken/learning_switch_13.py",
        text: include_str!("../../../../../examples/os-ken/learning_switch_13.py"),
    },
    Program {
        name: "finsy",
        protocol: Protocol::P4Runtime,
        script: "examples/finsy/learning_switch.py",
        text: include_str!("../../../../../examples/finsy/learning_switch.py"),
    },
];

/// The files of the P4 program that the example for finsy reads.
const PROGRAM_FILES: [(&str, &str); 2] = [
    ("programs/l2.p4", include_str!("../../../../../programs/l2.p4")),
    ("programs/l2.p4info.txtpb", include_str!("../../../../../programs/l2.p4info.txtpb")),
];

/// The shell script that ends a controller and starts it again.
const RESTART: &str = include_str!("restart.sh");

/// The controllers of package registries that are installed on this host.
pub(super) struct Registry {
    /// The folder with the scripts of the controllers and the identifiers of their processes.
    folder: TempDir,
    controllers: Vec<Installed>,
    /// The names of the controllers that are not installed.
    missing: Vec<&'static str>,
}

/// A controller that is installed on this host.
struct Installed {
    program: &'static Program,
    /// The version of the package, such as `os-ken 4.2.2`.
    version: String,
    /// The options by which the probe connects to the controller and restarts it.
    options: Yours,
}

impl Registry {
    /// Finds the controllers that `conformance/install.sh` has installed into the folder `peers`.
    ///
    /// # Errors
    /// Returns an error if the files of the controllers cannot be written.
    pub(super) fn find(peers: &Path) -> Result<Self, Failure> {
        let folder = tempfile::tempdir().map_err(Failure::run)?;
        let mut found = Self { folder, controllers: Vec::new(), missing: Vec::new() };
        found.write("restart.sh", RESTART)?;
        for (name, text) in PROGRAM_FILES {
            found.write(name, text)?;
        }
        for program in &PROGRAMS {
            let place = peers.join(program.name);
            match place.join("bin/python") {
                python if python.is_file() => {
                    let installed = found.installed(program, &place, &python)?;
                    found.controllers.push(installed);
                }
                _ => found.missing.push(program.name),
            }
        }
        Ok(found)
    }

    fn installed(
        &self,
        program: &'static Program,
        place: &Path,
        python: &Path,
    ) -> Result<Installed, Failure> {
        let script = self.write(program.script, program.text)?;
        let own = self.folder.path().join(program.name);
        std::fs::create_dir_all(&own).map_err(Failure::run)?;
        let list = own.join("list");
        let mut settings =
            "[timing]\nconnect-timeout = \"1m\"\nsettle = \"1s\"\nwarm-up = \"2s\"\n".to_owned();
        let (address, argument) = match program.protocol {
            Protocol::OpenFlow => {
                let port = free_port()?;
                (Some(format!("127.0.0.1:{port}")), port.to_string())
            }
            Protocol::P4Runtime => {
                // Strings of JSON are strings of TOML, too.
                let place = serde_json::Value::from(list.display().to_string());
                settings.push_str(&format!("[controller]\nlist-file = {place}\n"));
                (None, list.display().to_string())
            }
        };
        let words = [
            self.folder.path().join("restart.sh").display().to_string(),
            own.display().to_string(),
            std::process::id().to_string(),
            list.display().to_string(),
            python.display().to_string(),
            script.display().to_string(),
            argument,
        ];
        let restart = format!("sh {}", words.map(|word| super::subject::quoted(&word)).join(" "));
        let file = self.write(&format!("{}/probe.toml", program.name), &settings)?;
        Ok(Installed {
            program,
            version: version(place).unwrap_or_else(|| program.name.to_owned()),
            options: Yours::restarted(address, restart, file),
        })
    }

    /// Writes a file into the folder, and returns its path.
    fn write(&self, name: &str, text: &str) -> Result<PathBuf, Failure> {
        let file = self.folder.path().join(name);
        let write = || {
            std::fs::create_dir_all(file.parent().unwrap_or(&file))?;
            std::fs::write(&file, text)
        };
        write().map_err(Failure::run)?;
        Ok(file)
    }

    pub(super) fn protocols(&self) -> Vec<Protocol> {
        self.controllers.iter().map(|one| one.program.protocol).collect()
    }

    /// Returns the options by which the probe measures the controller that speaks this protocol.
    pub(super) fn options(&self, protocol: Protocol) -> Option<&Yours> {
        let mut own = self.controllers.iter().filter(|one| one.program.protocol == protocol);
        own.next().map(|one| &one.options)
    }

    /// Returns the names of the installed controllers with their versions (empty if there are
    /// none).
    pub(super) fn words(&self) -> String {
        let versions: Vec<&str> = self.controllers.iter().map(|one| one.version.as_str()).collect();
        versions.join(" and ")
    }

    /// Returns remarks for the report on what was measured, and on what is missing.
    pub(super) fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if !self.controllers.is_empty() {
            remarks.push(format!(
                "Controllers of a registry: {}, each with the learning switch among the examples of Planimeter, restarted before \
                 each trial. Faucet is not among them: it answers only the first packet-in of a host.",
                self.words()
            ));
        }
        if !self.missing.is_empty() {
            let names = self.missing.join(" ");
            remarks.push(format!(
                "Controllers of a registry that are missing here: {names}. `conformance/install.sh {names}` in a clone of \
                 Planimeter installs them there; run the command in that folder, or name the place by PLANIMETER_PEERS."
            ));
        }
        remarks
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        for one in &self.controllers {
            let file = self.folder.path().join(one.program.name).join("pid");
            let text = std::fs::read_to_string(file).unwrap_or_default();
            if let Some(pid) = text.trim().parse().ok().and_then(Pid::from_raw) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// Returns the folder into which `conformance/install.sh` installs controllers.
pub(super) fn peers() -> PathBuf {
    let named = std::env::var_os("PLANIMETER_PEERS").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| PathBuf::from("conformance/.peers"));
    std::path::absolute(&folder).unwrap_or(folder)
}

/// Returns the name and version of an installed package, read from the list with which it was
/// installed.
fn version(place: &Path) -> Option<String> {
    let text = std::fs::read_to_string(place.join("installed.txt")).ok()?;
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.find_map(|line| line.split_once("==")).map(|(name, version)| format!("{name} {version}"))
}

/// Returns a port of the loopback interface on which nothing listens.
fn free_port() -> Result<u16, Failure> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").map_err(Failure::run)?;
    Ok(listener.local_addr().map_err(Failure::run)?.port())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;
    use std::time::{Duration, Instant};

    use rustix::process::test_kill_process;

    use super::*;

    /// Waits until `found` returns a value.
    ///
    /// # Panics
    /// Panics if that takes more than 20 s.
    fn wait_for<T>(what: &str, found: impl Fn() -> Option<T>) -> T {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(value) = found() {
                return value;
            }
            assert!(Instant::now() < deadline, "{what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn restart(folder: &Path, command: &[&str]) {
        let script = folder.join("restart.sh");
        fs::write(&script, RESTART).expect("room");
        let status = Command::new("sh")
            .arg(script)
            .arg(folder)
            .arg(std::process::id().to_string())
            .arg(folder.join("list"))
            .args(command)
            .status();
        assert!(status.expect("a shell").success());
    }

    fn controller(folder: &Path) -> Pid {
        let text = || fs::read_to_string(folder.join("pid")).ok();
        wait_for("a controller", || Pid::from_raw(text()?.trim().parse().ok()?))
    }

    fn wait_for_end(process: Pid) {
        wait_for("its end", || test_kill_process(process).is_err().then_some(()));
    }

    #[test]
    fn a_restart_ends_the_controller_before_and_the_last_one_ends_with_its_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        restart(folder.path(), &["sleep", "600"]);
        let first = controller(folder.path());
        assert!(test_kill_process(first).is_ok());
        restart(folder.path(), &["sleep", "600"]);
        wait_for_end(first);
        let second = controller(folder.path());
        assert_ne!(first, second);
        folder.close().expect("a folder");
        wait_for_end(second);
    }

    #[test]
    fn a_controller_that_reads_the_list_waits_for_a_new_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let (list, seen) = (folder.path().join("list"), folder.path().join("seen"));
        fs::write(&list, "the list of the trial before").expect("room");
        let text = format!("cat \"$1\" >{}; sleep 600", seen.display());
        let command = ["sh", "-c", &text, "controller", &list.display().to_string()];
        // Another restart replaces one that still waits.
        restart(folder.path(), &command);
        restart(folder.path(), &command);
        assert!(!list.exists() && !folder.path().join("pid").exists());
        fs::write(&list, "new").expect("room");
        controller(folder.path());
        let read = || fs::read_to_string(&seen).ok().filter(|text| !text.is_empty());
        assert_eq!(wait_for("the list", read), "new");
    }

    #[test]
    fn installed_controllers_are_found_with_their_versions_and_others_are_named() {
        let peers = tempfile::tempdir().expect("a folder");
        let folder = peers.path().join("os-ken");
        fs::create_dir_all(folder.join("bin")).expect("room");
        fs::write(folder.join("bin/python"), "").expect("room");
        fs::write(folder.join("installed.txt"), "# A comment.\nos-ken==4.2.2\n").expect("room");
        let registry = Registry::find(peers.path()).expect("room");
        assert_eq!(registry.protocols(), [Protocol::OpenFlow]);
        assert_eq!(registry.words(), "os-ken 4.2.2");
        let remarks = registry.remarks().join(" ");
        assert!(remarks.contains("`conformance/install.sh finsy`"), "{remarks}");
        assert!(registry.options(Protocol::P4Runtime).is_none());
        let options = registry.options(Protocol::OpenFlow).expect("os-ken");
        assert_eq!(options.protocols(), [Protocol::OpenFlow]);
        assert!(options.check().is_ok());
    }
}
