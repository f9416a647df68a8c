//! `planimeter bound` as it is typed.

mod command;

use std::path::Path;
use std::process::Output;

use command::{planimeter, stderr, stdout};

fn bound(arguments: &[&str]) -> Output {
    planimeter("bound", arguments)
}

#[test]
fn every_example_has_bounds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/networks");
    let mut files = 0;
    for entry in std::fs::read_dir(root).expect("the examples") {
        let path = entry.expect("an entry").path();
        let output = bound(&[&path.to_string_lossy()]);
        assert_eq!(output.status.code(), Some(0), "{path:?}: {}", stderr(&output));
        files += 1;
    }
    assert!(files >= 4, "the examples have moved");
}

#[test]
fn numbers_are_those_of_the_literature() {
    let file = "examples/networks/two-hops.toml";
    for (arguments, delay) in [
        (["-a", "sfa", "-m", "arbitrary", "--flow-of-interest", "lowest-priority"], "277/7"),
        (["-a", "sfa", "-m", "arbitrary", "--flow-of-interest", "interferes"], "302/7"),
        // What the documentation says of DNC's GLOBAL_FIFO.
        (["-a", "sfa", "-m", "fifo", "--flow-of-interest", "interferes"], "9271/336"),
        (["-a", "sfa", "-m", "fifo", "--cross-traffic", "aggregate-pboo"], "379/14"),
        (["-a", "pmoo", "-m", "arbitrary", "--threads", "1"], "242/7"),
        (["-a", "tfa", "-m", "arbitrary", "--threads", "2"], "136"),
    ] {
        let mut all = vec![file, "--json", "--flow", "f0"];
        all.extend(arguments);
        let output = bound(&all);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let json: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        assert_eq!(json["flows"][0]["bounds"][0]["delay"]["exact"], delay, "{arguments:?}");
    }
}

#[test]
fn conventions_have_flags_and_are_named() {
    let file = "examples/networks/rejoining.toml";
    for (arguments, delay, proven) in [
        (["--flow-of-interest", "lowest-priority"], "653/64", false),
        (["--arrival-bound", "aggregate-pmoo"], "81/8", false),
        (["--flow-of-interest", "lowest-priority-where-proven"], "175/16", true),
        (["--flow-of-interest", "interferes"], "175/16", true),
    ] {
        let mut all = vec![file, "--json", "--flow", "f0", "-a", "sfa", "--cap-bursts"];
        all.extend(arguments);
        let output = bound(&all);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let json: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        let found = &json["flows"][0]["bounds"][0];
        assert_eq!(found["delay"]["exact"], delay, "{arguments:?}");
        assert_eq!(found["delay-by"]["proven"], proven, "{arguments:?}");
        assert_eq!(found["delay-by"]["capped-bursts"], true);
    }
    let output = bound(&[file, "--flow", "f0", "-a", "sfa"]);
    assert!(stdout(&output).contains("nothing leaves the path"), "{}", stdout(&output));
}

#[test]
fn what_is_wrong_is_one_line_and_2() {
    let scratch = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = scratch.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.to_string_lossy().into_owned()
    };
    let negative = file("negative.toml", "[[server]]\nname = \"a\"\nservice = { rate = -1 }\n");
    let missing = file(
        "missing.toml",
        "[[server]]\nname = \"a\"\nservice = { rate = 1 }\n\
         [[flow]]\nname = \"f\"\npath = [\"b\"]\narrival = { rate = 1 }\n",
    );
    let broken = file("broken.json", "{\"server\": [");
    let program = file("wrong.mppg", "f := ratency(1)");
    let other = file("network.yaml", "");
    let ring = "examples/networks/ring.json";
    for (arguments, said) in [
        (vec![negative.as_str()], "server[0].service.rate '-1' is negative"),
        (vec![&missing], "visits server 'b', which is not in the network"),
        (vec![&broken], "broken.json: line 1"),
        (vec![&program], "wrong.mppg"),
        (vec![&other], "the name says no format"),
        (vec!["no-such-file.toml"], "cannot read no-such-file.toml"),
        (vec![ring, "--flow", "f9"], "no flow is named 'f9'; there are f0, f1, f2"),
        (vec![ring, "--analysis", "sfa"], "does not support cyclic dependencies"),
    ] {
        let output = bound(&arguments);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(said), "{arguments:?}: {error}");
        assert_eq!(error.trim_end().lines().count(), 1, "{arguments:?}: {error}");
    }
}

#[test]
fn overload_is_1_and_drawings_are_files() {
    let scratch = tempfile::tempdir().expect("a folder");
    let path = scratch.path().join("over.toml");
    std::fs::write(
        &path,
        "[[server]]\nname = \"a\"\nservice = { rate = 1 }\n\
         [[flow]]\nname = \"f/g\"\npath = [\"a\"]\narrival = { rate = 2 }\n",
    )
    .expect("a file");
    let folder = scratch.path().join("drawings");
    let output = bound(&[&path.to_string_lossy(), "--plot", &folder.to_string_lossy()]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("server 'a' is overloaded, at 200.0 %"));
    assert!(folder.join("000-f_g.svg").is_file());
    std::fs::write(
        &path,
        "[[server]]\nname = \"a\"\nservice = { rate = 3 }\n\
         [[flow]]\nname = \"f\"\npath = [\"a\"]\narrival = { rate = 3.001 }\n",
    )
    .expect("a file");
    let output = bound(&[&path.to_string_lossy()]);
    assert!(stdout(&output).contains("server 'a' is overloaded, at 100.03 %"));
    let program = scratch.path().join("false.mppg");
    std::fs::write(&program, "assert(1 = 2)\n").expect("a file");
    assert_eq!(bound(&[&program.to_string_lossy()]).status.code(), Some(1));
}
