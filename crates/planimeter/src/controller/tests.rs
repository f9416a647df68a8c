//! Tests of the arguments of `planimeter controller`: the controller that they select, and the
//! errors in them.

use super::*;
use clap::CommandFactory;

fn matches(words: &[&str]) -> ArgMatches {
    Arguments::command().no_binary_name(true).try_get_matches_from(words).expect("arguments")
}

fn file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(text.as_bytes()).expect("written");
    file
}

#[test]
fn the_flags_are_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn switches_are_named_in_three_ways_that_add_up() {
    let list = file("# a list\n10 127.0.0.1:9010\n11 [::1]:9011\n");
    let list = list.path().to_str().expect("a name");
    let words = ["-d", "1@a:1", "-d", "2@b:2", "--devices", list, "--first-port", "50001"];
    let more = ["--count", "2", "--first-device", "7", "--host", "192.0.2.1"];
    let found = targets(
        &Arguments::from_arg_matches(&matches(&[&words[..], &more].concat()))
            .expect("arguments")
            .p4runtime,
    )
    .expect("switches");
    let found: Vec<_> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "switch 1 at a:1",
            "switch 2 at b:2",
            "switch 10 at 127.0.0.1:9010",
            "switch 11 at [::1]:9011",
            "switch 7 at 192.0.2.1:50001",
            "switch 8 at 192.0.2.1:50002",
        ]
    );
}

#[test]
fn invalid_arguments_are_refused_before_the_start() {
    let bad_list = file("1 127.0.0.1:1\nthree\n");
    let bad_list = bad_list.path().to_str().expect("a name");
    let empty_list = file("");
    let empty_list = empty_list.path().to_str().expect("a name");
    for (words, expected) in [
        (&["-p", "openflow", "-d", "1@h:1"][..], "--device names P4Runtime switches"),
        (&["-p", "p4runtime"], "no switches are named"),
        (&["--devices", empty_list], "no switches are named"),
        (&["--devices", bad_list], "line 2: \"three\" names no switch"),
        (&["--devices", "/nonexistent"], "cannot read /nonexistent"),
        (&["--first-port", "65535", "--count", "2"], "need ports beyond 65535"),
        (&["-d", "1@h:1", "--listen", "127.0.0.1:0"], "--listen goes with OpenFlow"),
        (&["-d", "1@h:1", "--prepared"], "--prepared goes with OpenFlow"),
        (&["--election-id", "5"], "--election-id goes with P4Runtime"),
        (&["--service-time", "1ms"], "--service-time goes with P4Runtime"),
        (&["--onos", "127.0.0.1:0", "--prepared"], "--prepared goes with OpenFlow"),
        (
            &["--onos", "127.0.0.1:0", "--election-id", "5"],
            "--election-id has no effect with --onos",
        ),
        (&["--onos", "127.0.0.1:0", "-p", "openflow"], "--onos speaks P4Runtime"),
        (&["-d", "1@h:1", "--beat-interval", "5"], "--beat-interval goes with OpenFlow"),
        (&["-a", "paths", "-d", "1@h:1", "-d", "1@h:2"], "two switches have the device id 1"),
        (&["--prepared"], "--prepared goes with --application null"),
        (&["--tls-ca", empty_list], "give --tls-certificate and --tls-key as well"),
        (&["--tls-certificate", empty_list, "--tls-key", empty_list], "holds no certificate"),
        (
            &["-d", "1@h:1", "--tls-certificate", empty_list, "--tls-key", empty_list],
            "give --tls-ca as well",
        ),
    ] {
        match run(&matches(words)) {
            Err(Failure::Input(text)) => assert!(text.contains(expected), "{words:?}: {text}"),
            other => panic!("{words:?}: {other:?}"),
        }
    }
}

#[test]
fn an_address_that_is_taken_is_an_argument_to_change() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    match run(&matches(&["--listen", &address])) {
        Err(Failure::Input(text)) => {
            assert!(text.starts_with(&format!("cannot listen on {address}: ")), "{text}");
            assert!(text.ends_with("choose another --listen"), "{text}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn words_that_are_no_values_are_refused_by_the_parser() {
    for (words, expected) in [
        (&["-d", "1"][..], "expected ID@HOST:PORT"),
        (&["-a", "router"], "possible values: learning, reactive, paths, null"),
        (&["--listen", "localhost"], "--listen"),
        (&["--threads", "0"], "--threads"),
        (&["--count", "3"], "--first-port"),
        (&["--tls-key", "k"], "--tls-certificate"),
    ] {
        let error =
            Arguments::command().no_binary_name(true).try_get_matches_from(words).unwrap_err();
        let text = error.to_string();
        assert!(error.use_stderr() && text.contains(expected), "{words:?}: {text}");
    }
}

/// Every flag of one protocol must be in the list of flags that are refused with the other. A
/// missing flag would be accepted without effect.
#[test]
fn every_flag_of_one_protocol_is_refused_with_the_other() {
    let command = Arguments::command();
    let of = |heading: &str| -> Vec<String> {
        let own = command.get_arguments().filter(|one| one.get_help_heading() == Some(heading));
        own.filter_map(|one| one.get_long()).map(str::to_owned).collect()
    };
    assert_eq!(of("OpenFlow"), OPENFLOW_ALONE);
    // These name switches, which selects P4Runtime, or need a flag that does.
    let name_switches = ["device", "devices", "first-port", "count", "first-device", "host"];
    let mut of_p4runtime = of("P4Runtime");
    of_p4runtime.retain(|name| !name_switches.contains(&name.as_str()));
    let listed = P4RUNTIME_ALONE.iter().filter(|name| !name.starts_with("tls-"));
    let sorted = |mut names: Vec<String>| {
        names.sort_unstable();
        names
    };
    assert_eq!(sorted(of_p4runtime.clone()), sorted(listed.map(|name| name.to_string()).collect()));
    for name in of_p4runtime.iter().chain(&of("TLS, with PEM files")) {
        // The stand-in for ONOS takes the time that an answer takes.
        assert!(name == "service-time" || NOT_FOR_ONOS.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn rates_are_those_since_the_last_report() {
    let before = Counts { packet_ins: 100, packet_outs: 90, rules: 7, ..Counts::default() };
    let after = Counts { packet_ins: 1100, packet_outs: 590, rules: 7, ..Counts::default() };
    let text = rates(&before, &after, Duration::from_secs(5));
    assert_eq!(text, "200 packet-ins/s, 100 packet-outs/s, 0 rules/s");
}

#[test]
fn the_manual_names_applications_examples_and_exit_statuses() {
    let manual = Arguments::command().render_long_help().to_string();
    for part in ["Applications:", "Examples:", "Exit status:", "listening on 127.0.0.1:6653"] {
        assert!(manual.contains(part), "{part}");
    }
}
