//! Traces of interpreted and compiled switches are the same, since the interpreter works on the
//! tables and the state of both.

use crate::support::load;
use stf::{Options, Report, Script, run};
use traces::{Contents, Format, Trace, read};

const PROGRAMS: [(&str, &str, &str); 3] = [
    (
        "router.p4",
        include_str!("../../../../programs/router.p4"),
        include_str!("../../../../programs/router.stf"),
    ),
    (
        "load_balancer.p4",
        include_str!("../../../../programs/load_balancer.p4"),
        include_str!("../../../../programs/load_balancer.stf"),
    ),
    (
        "entry_update.p4",
        include_str!("../../../../programs/entry_update.p4"),
        include_str!("../../../../programs/entry_update.stf"),
    ),
];

fn contents(outcomes: Option<u64>) -> Contents {
    Contents { detail: pipeline::Detail::Values, outcomes }
}

fn report(
    name: &str,
    text: &str,
    script: &str,
    outcomes: Option<u64>,
    is_compiled: bool,
) -> Report {
    let mut switch = load(name, text);
    if is_compiled {
        switch.compile().expect("compiles");
    }
    let script = Script::parse(script).expect("a script");
    let options = Options { trace: Some(contents(outcomes)), ..Options::default() };
    let report = run(&mut switch, &script, options).expect("runs");
    assert_eq!(report.failures, [], "{name}");
    report
}

/// Each packet of the compiled switch is traced, so the interpreter processes it on entries in the
/// form of machine code. With all outcomes, machine code processes it afterwards.
#[test]
fn interpreted_and_compiled_switches_have_the_same_traces() {
    for (name, text, script) in PROGRAMS {
        for outcomes in [None, Some(64)] {
            let interpreted = report(name, text, script, outcomes, false);
            let compiled = report(name, text, script, outcomes, true);
            assert!(interpreted.trace.len() > 1, "{name}");
            assert_eq!(interpreted.trace, compiled.trace, "{name}");
            assert_eq!(interpreted.sent, compiled.sent, "{name}");
        }
    }
}

#[test]
fn traces_survive_json_and_protocol_buffers() {
    for (name, text, script) in PROGRAMS {
        for outcomes in [None, Some(64)] {
            let report = report(name, text, script, outcomes, false);
            let all: Vec<Trace> = report.trace.into_iter().map(|(_, trace)| trace).collect();
            for format in [Format::Json, Format::Proto] {
                let bytes: Vec<u8> = all.iter().flat_map(|trace| format.bytes(trace)).collect();
                assert_eq!(read(&bytes).as_ref(), Ok(&all), "{name} {format:?}");
            }
        }
    }
}

#[test]
fn what_is_no_trace_is_refused_with_its_place() {
    let error = |bytes: &[u8]| read(bytes).expect_err("no trace").to_string();
    assert!(
        error(b"{\"port\": 1}\n{\"prot\": 2}\n").starts_with("line 2 is not a trace in JSON: ")
    );
    assert!(
        error(b"packet 1 00").starts_with("trace 1 is not a message"),
        "{}",
        error(b"packet 1 00")
    );
    assert_eq!(read(b""), Ok(Vec::new()));
}
