//! Tests of the command line of `planimeter probe`: its help, and how flags and files become a
//! configuration.

use std::fs;

use super::*;

/// Splits a line into words as a shell does, for the examples of the manual.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            _ => words.last_mut().expect("there is always a word").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn parse(line: &str) -> ArgMatches {
    let words = words(line);
    command().try_get_matches_from(words).unwrap_or_else(|error| panic!("{line}\n{error}"))
}

fn resolved(line: &str) -> Resolved {
    resolve(&parse(line)).unwrap_or_else(|error| panic!("{line}\n{error}"))
}

fn faults(line: &str) -> String {
    resolve(&parse(line)).expect_err(line).to_string()
}

/// Returns the help as a terminal of 100 columns shows it.
fn help(long: bool) -> String {
    let flag = if long { "--help" } else { "-h" };
    let error = command().term_width(WIDTH).try_get_matches_from(["probe", flag]);
    // clap leaves spaces at the ends of empty lines.
    let text = error.expect_err("help is an early end").to_string();
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[test]
fn clap_finds_no_fault_in_the_command() {
    command().debug_assert();
}

#[test]
fn short_help() {
    insta::assert_snapshot!(help(false));
}

#[test]
fn long_help() {
    insta::assert_snapshot!(help(true));
}

#[test]
fn help_fits_a_hundred_columns() {
    for line in help(true).lines().chain(help(false).lines()) {
        assert!(line.chars().count() <= WIDTH, "{line}");
    }
}

#[test]
fn every_setting_is_a_flag() {
    for setting in Setting::all() {
        // clap does not judge whether the example's value is valid.
        for flag in [setting.flag, setting.key] {
            let matches = parse(&format!("probe --{flag}='{}'", setting.example));
            let value = matches.get_one::<String>(setting.key).map(String::as_str);
            assert_eq!(value, Some(setting.example), "--{flag}");
        }
    }
}

#[test]
fn every_boolean_is_given_alone_or_with_a_value() {
    let parsed = |words: &[&str]| {
        let words = words.iter().map(|word| OsString::from(*word)).collect();
        command().try_get_matches_from(with_joined_booleans(words))
    };
    let mut booleans = 0;
    for setting in Setting::all().filter(|setting| ["true", "false"].contains(&setting.default)) {
        assert_eq!(setting.kind, Kind::Flag, "{}", setting.key);
        booleans += 1;
        let short = setting.short.map(|short| format!("-{short}"));
        let long = [setting.flag, setting.key].map(|name| format!("--{name}"));
        for flag in short.into_iter().chain(long) {
            for value in ["true", "false"] {
                let equals = format!("{flag}={value}");
                for words in [["probe", &equals, "-n", "4"].as_slice(), &["probe", &flag, value]] {
                    let matches = parsed(words).unwrap_or_else(|error| panic!("{error}"));
                    let given = matches.get_one::<String>(setting.key).map(String::as_str);
                    assert_eq!(given, Some(value), "{words:?}");
                }
            }
            let matches = parsed(&["probe", &flag, "-n", "4"]).expect("the flag stands alone");
            let given = matches.get_one::<String>(setting.key).map(String::as_str);
            assert_eq!(given, Some("true"), "{flag}");
        }
    }
    assert_eq!(booleans, 10);
    assert!(parsed(&["probe", "-qn", "4"]).is_ok());
    // Other flags do not swallow a word.
    assert!(parsed(&["probe", "--print-config", "true"]).is_err());
}

#[test]
fn flags_become_a_configuration() {
    let line = "probe -p of10 -n 64 -r 1.5k -d 1m -c localhost -w 8 -m closed -t 'loss == 0' \
                --threshold 'rtt.p99 < 5ms' --switch 0-9:start-delay=2s --json --arp-first=false";
    let config = resolved(line).config;
    assert_eq!((config.switches.count, config.traffic.rate), (64, 1500.0));
    assert_eq!(config.controller.address, "localhost:6653");
    assert_eq!(config.thresholds, ["loss == 0", "rtt.p99 < 5ms"]);
    assert_eq!(config.switches.overrides.len(), 1);
    assert!(config.output.json && !config.output.quiet && !config.traffic.arp_first);
}

#[test]
fn a_flag_outranks_the_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("probe.toml");
    fs::write(&file, "seed = 5\n[traffic]\nrate = 7\n").expect("a file");
    let config = resolved(&format!("probe --config {} -r 8", file.display())).config;
    assert_eq!((config.seed, config.traffic.rate), (5, 8.0));
}

#[test]
fn faults_of_all_sources_are_reported_together() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("probe.toml");
    fs::write(&file, "sede = 5\n\n[traffic]\nrate = \"fast\"\n").expect("a file");
    let ini = folder.path().join("config.ini");
    fs::write(&ini, "config.switchCount = many\n").expect("a file");
    let line =
        format!("probe --legacy {} --config {} --duration 10 -w -1", ini.display(), file.display());
    let shown = faults(&line).replace(&format!("{}/", folder.path().display()), "");
    insta::assert_snapshot!(shown);
}

#[test]
fn a_single_fault_is_a_single_line() {
    assert_eq!(
        faults("probe --rate 0"),
        "--rate: 0 is below the minimum, 0.001; write for instance 1.5k"
    );
}

#[test]
fn an_unknown_flag_is_refused_with_a_suggestion() {
    let error = command().try_get_matches_from(["probe", "--swiches", "5"]).expect_err("no flag");
    assert!(error.use_stderr());
    assert!(error.to_string().contains("'--switches'"), "{error}");
}

#[test]
fn a_flag_given_twice_is_refused_unless_it_adds_up() {
    assert!(command().try_get_matches_from(["probe", "-r", "1", "-r", "2"]).is_err());
}

#[test]
fn the_examples_of_the_manual_work() {
    let text = EXAMPLES.replace("\\\n", " ") + "\n" + SHORT_END;
    let lines: Vec<_> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("planimeter "))
        .filter(|line| line.starts_with("probe -"))
        .collect();
    assert!(lines.len() >= 10, "{lines:?}");
    for line in lines {
        let line =
            line.split(" > ").next().filter(|_| line.contains("> probe.toml")).unwrap_or(line);
        let matches = parse(line);
        // Files that are only examples do not exist here.
        if !line.contains("probe.toml") && !line.contains("config.ini") {
            assert!(resolve(&matches).is_ok(), "{line}");
        }
    }
}

#[test]
fn the_toml_file_of_the_manual_works() {
    let toml: String = TOML.lines().skip(3).map(|line| format!("{}\n", line.trim())).collect();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("probe.toml");
    fs::write(&file, toml).expect("a file");
    let config = resolved(&format!("probe --config {}", file.display())).config;
    assert_eq!((config.switches.count, config.thresholds.len()), (64, 2));
    assert_eq!(config.switches.overrides.len(), 1);
}

#[test]
fn a_printed_configuration_is_a_configuration() {
    let line = "probe -n 3 --print-config --switch 0:rate=5";
    assert!(prints_configuration(&parse(line)) && !prints_configuration(&parse("probe")));
    let first = resolved(line);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("probe.toml");
    fs::write(&file, first.to_toml()).expect("a file");
    let second = resolved(&format!("probe --config {}", file.display()));
    assert_eq!(second.values(), first.values());
}

#[test]
fn recorded_command_lines_hold_no_password() {
    let line = "planimeter probe --onos-password secret --controller.onos-password=secret -r 5 \
                --onos-password=secret";
    let shown = recorded(words(line)).join(" ");
    assert_eq!(
        shown,
        "planimeter probe --onos-password (hidden) --controller.onos-password=(hidden) -r 5 \
         --onos-password=(hidden)"
    );
}
