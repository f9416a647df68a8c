//! Runs every command that the book shows, each page in its own network namespace and directory.
//! Commands that take longer than a test may are shortened, and others are left out only for a
//! stated reason (`plan.rs`). `conformance/tests/peers/book.rs` runs the tutorials' blocks marked
//! `sh` as scripts, and `src/manual/tests.rs` parses the commands of the reference.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

mod plan;

use crate::pages::{commands, pages};
use plan::{LEFT_OUT, Page, page_plan, shortened};

#[test]
fn every_command_of_the_book_runs() {
    let namespaces = Command::new("unshare").args(["--net", "--pid", "--fork", "true"]).status();
    if !namespaces.is_ok_and(|status| status.success()) {
        let required = std::env::var("PLANIMETER_REQUIRE_PEERS").is_ok_and(|value| value == "1");
        assert!(!required, "a network namespace of its own takes root");
        eprintln!("SKIPPED: the commands of the book need a network namespace, and that root");
        return;
    }
    let mut scripts = Vec::new();
    let (mut used, mut once) = (BTreeSet::new(), BTreeSet::new());
    for (path, text) in pages() {
        let name = name(&path);
        if !name.ends_with(".md")
            || ["docs/reference", "conformance"].iter().any(|start| name.starts_with(start))
        {
            continue;
        }
        let plan = page_plan(&name);
        let mut all = commands(&outside_of_scripts(&text));
        if name == "docs/peers.md" {
            all.extend(in_tables(&text));
        }
        let lines: Vec<String> = all
            .into_iter()
            .filter(|command| !is_left_out(&name, command, &mut used))
            .map(|command| shortened(&command))
            // A command that needs only the repository is run once, on the first page that shows
            // it.
            .filter(|command| depends_on_its_page(command) || once.insert(command.clone()))
            .collect();
        if !lines.is_empty() {
            scripts.push((name, script(&plan, &lines)));
        }
    }
    for place in LEFT_OUT {
        assert!(used.contains(place), "{place:?} is left out and no page has it");
    }
    let count: usize = scripts.iter().map(|(_, script)| script.matches("\nrun ").count()).sum();
    assert!(count >= 60, "the pages have moved: {count} commands were found");
    let failures = read_side_by_side(&mut scripts);
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// Runs the commands of several pages at a time, because many of them wait. Returns the failures.
fn read_side_by_side(scripts: &mut [(String, String)]) -> Vec<String> {
    const AT_A_TIME: usize = 4;
    // The pages with the most commands are started first, so that none is left alone at the end.
    scripts.sort_by_key(|(_, script)| std::cmp::Reverse(script.matches("\nrun ").count()));
    let next = AtomicUsize::new(0);
    let reader = || {
        let pages = std::iter::from_fn(|| scripts.get(next.fetch_add(1, Ordering::Relaxed)));
        pages.filter_map(|(name, script)| read_along(name, script).err()).collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let readers: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(reader)).collect();
        readers.into_iter().flat_map(|reader| reader.join().expect("a reader ends")).collect()
    })
}

/// A failing command is detected, which shows that the test above can fail.
#[test]
fn a_command_that_fails_is_noticed() {
    let bad = ["planimeter bound nowhere.toml".to_owned()];
    let error = read_along("a page", &script(&Page::default(), &bad)).expect_err("it fails");
    assert!(error.contains("nowhere.toml"), "{error}");
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::canonicalize(root).expect("the repository")
}

fn name(page: &Path) -> String {
    let page = fs::canonicalize(page).expect("a page");
    page.strip_prefix(root()).expect("a page of the repository").display().to_string()
}

fn is_left_out(
    page: &str,
    command: &str,
    used: &mut BTreeSet<&'static (&'static str, &'static str, &'static str)>,
) -> bool {
    let found = LEFT_OUT
        .iter()
        .find(|(place, start, _)| page.starts_with(place) && command.starts_with(start));
    used.extend(found);
    found.is_some()
}

/// Returns whether a command may read files of an earlier command of its page, or of the page's
/// preparation.
fn depends_on_its_page(command: &str) -> bool {
    let alone = ["bench", "bound", "reproduce", "tables"];
    !command.split_whitespace().nth(1).is_some_and(|verb| alone.contains(&verb))
}

/// Returns the page without the blocks that are run as scripts elsewhere.
fn outside_of_scripts(text: &str) -> String {
    let mut inside = false;
    let mut kept = String::new();
    for line in text.lines() {
        match line.trim_end() {
            "```sh" => inside = true,
            "```" if inside => inside = false,
            line if !inside => {
                kept.push_str(line);
                kept.push('\n');
            }
            _ => {}
        }
    }
    kept
}

/// Returns the commands with arguments in the last column of tables, which demonstrate claims.
fn in_tables(text: &str) -> Vec<String> {
    let rows = text.lines().filter_map(|line| line.trim().strip_suffix('|')?.rsplit('|').next());
    let code = rows.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    code.filter(|code| code.starts_with("planimeter ") && code.split_whitespace().count() > 2)
        .map(str::to_owned)
        .collect()
}

/// Returns a script that creates the reader's own files and then runs each command. A failing
/// command ends it.
fn script(plan: &Page, commands: &[String]) -> String {
    let mut script = String::from(
        "ip link set lo up 2>/dev/null\n\
         run() { echo \"+ $*\"; \"$@\"; }\n\
         check() { [ $? -le 1 ] || exit 1; }\n",
    );
    script.push_str(plan.before);
    for command in commands {
        let command = command.replace('\n', " ");
        match command.trim_end().strip_suffix('&') {
            Some(command) => script.push_str(&format!("\nrun {command} & sleep 1\n")),
            // Status 1 means that a condition does not hold. The speed of this machine is not
            // tested here.
            None => script.push_str(&format!("\nrun {command}\ncheck\n")),
        }
    }
    script + "kill $(jobs -p) 2>/dev/null\nexit 0\n"
}

fn read_along(page: &str, script: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    for name in ["examples", "programs", "conformance"] {
        symlink(root().join(name), folder.join(name)).expect("a link");
    }
    fs::create_dir_all(folder.join("bin")).expect("a folder");
    let built = std::env::var("PLANIMETER_BINARY")
        .map_or_else(|_| PathBuf::from(env!("CARGO_BIN_EXE_planimeter")), |path| root().join(path));
    symlink(built, folder.join("bin/planimeter")).expect("a link");
    let path = std::env::var("PATH").unwrap_or_default();
    let started = std::time::Instant::now();
    let output = Command::new("timeout")
        .args(["--kill-after=1", "600", "unshare", "--net", "--pid", "--fork", "--kill-child"])
        .args(["bash", "-c", script])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", folder.join("bin").display()))
        .env("COLUMNS", "80")
        .output()
        .map_err(|error| error.to_string())?;
    println!("{page}: {:.0} s", started.elapsed().as_secs_f64());
    if output.status.success() {
        return Ok(());
    }
    let tail = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(12)..].join("\n")
    };
    Err(format!("{page}: {}\n{}\n{}", output.status, tail(&output.stdout), tail(&output.stderr)))
}
