//! Runs the tutorials of the book as they are printed: they must work with the controllers that
//! they name.
//!
//! The blocks of a page that are marked `sh` form one script. It runs in a folder with the
//! repository's programs and examples, and in a network namespace of its own where the system
//! allows one, so that the ports of the page are free.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use conformance::{Peer, binary, peers, repository};

#[test]
fn the_tutorial_on_the_capacity_of_a_controller_works() {
    if Peer::OsKen.command().is_none() {
        return;
    }
    let folder = read_along("controller.md");
    for run in ["first", "limit", "gate", "p4runtime"] {
        assert!(folder.path().join("runs").join(run).join("report.html").is_file(), "{run}");
    }
}

#[test]
fn the_tutorial_on_p4runtime_controllers_works() {
    if Peer::Finsy.command().is_none() {
        return;
    }
    let folder = read_along("finsy.md");
    for run in ["first", "known", "new", "entries", "limit"].map(|run| format!("finsy-{run}")) {
        assert!(folder.path().join("runs").join(&run).join("report.html").is_file(), "{run}");
    }
}

#[test]
fn the_tutorial_on_the_speed_of_a_program_works() {
    let folder = read_along("program.md");
    assert!(folder.path().join("router.p4info.txtpb").is_file());
    for run in ["router", "update", "tables"] {
        assert!(folder.path().join("runs").join(run).join("report.html").is_file(), "{run}");
    }
}

#[test]
fn the_tutorial_on_an_exercise_works() {
    let folder = read_along("exercise.md");
    assert!(folder.path().join("runs/exercise/report.html").is_file());
}

#[test]
fn the_tutorial_on_queues_works() {
    read_along("queues.md");
}

#[test]
fn the_tutorial_on_delay_bounds_works() {
    let folder = read_along("delay.md");
    assert!(folder.path().join("runs/verified/report.html").is_file());
    assert!(folder.path().join("model.json").is_file());
}

/// Runs a page, and returns the folder with the files that it created.
fn read_along(page: &str) -> tempfile::TempDir {
    let text = fs::read_to_string(repository().join("docs/tutorial").join(page)).expect("a page");
    let script = blocks(&text);
    assert!(script.contains("planimeter "), "{page} has no commands");
    let folder = tempfile::tempdir().expect("a folder");
    prepare(folder.path());
    let program = fs::canonicalize(binary()).expect("the command");
    let tools = folder.path().join("bin");
    fs::create_dir(&tools).expect("a folder");
    symlink(program, tools.join("planimeter")).expect("a link");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("timeout");
    command.args(["--kill-after=1", "180"]);
    if rustix::process::geteuid().is_root() {
        // Background processes of the page end with its process namespace.
        command.args(["unshare", "--net", "--pid", "--fork", "--kill-child"]);
    }
    let output = command
        .args(["bash", "-e", "-c", &format!("ip link set lo up || true\n{script}")])
        .current_dir(folder.path())
        .env("PATH", format!("{}:{path}", tools.display()))
        .output()
        .expect("bash runs");
    assert!(
        output.status.success(),
        "{page}: {}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    folder
}

/// Links the parts of the repository that commands need into a folder, so that files are created
/// elsewhere.
fn prepare(folder: &Path) {
    let root = fs::canonicalize(repository()).expect("the repository");
    for name in ["examples", "programs"] {
        symlink(root.join(name), folder.join(name)).expect("a link");
    }
    fs::create_dir(folder.join("conformance")).expect("a folder");
    if let Ok(peers) = fs::canonicalize(peers()) {
        symlink(peers, folder.join("conformance/.peers")).expect("a link");
    }
}

/// Returns all blocks marked `sh`, followed by a command that ends background processes.
fn blocks(text: &str) -> String {
    let mut script = String::new();
    let mut inside = false;
    for line in text.lines() {
        match line.trim_end() {
            "```sh" => inside = true,
            "```" => inside = false,
            line if inside => {
                script.push_str(line);
                script.push('\n');
            }
            _ => {}
        }
    }
    script + "kill $(jobs -p) 2>/dev/null || true\n"
}
