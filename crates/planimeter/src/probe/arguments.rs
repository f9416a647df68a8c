//! The arguments of `planimeter probe`, its manual, and the conversion of flags to a configuration.
//!
//! The flags are generated from the table of settings, one per key. clap only splits the command
//! line; values are checked together with the configuration files, so that the user sees all errors
//! together.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use probe::config::{Kind, Origin, Resolved, Section, Setting, Settings};
use probe::metrics::Metric;

use crate::failure::Failure;

/// The maximum width in columns of the manual. On a narrower terminal, it is as wide as the
/// terminal.
const WIDTH: usize = 100;
/// The text that replaces passwords in recorded command lines.
const HIDDEN: &str = "(hidden)";
/// The key of the setting that contains a password, so that its value is never recorded.
const SECRET_KEY: &str = "controller.onos-password";

const ABOUT: &str = "Benchmark an SDN controller with emulated switches";

const LONG_ABOUT: &str = "\
Benchmark an SDN controller with emulated switches.

Emulates OpenFlow or P4Runtime switches, each with a connection of its own, sends packet-ins from \
them and measures how many the controller answers, how soon, and at what cost in CPU and memory. \
An answer is a packet-out that carries the packet back; rules that the controller installs are \
counted apart.

A trial has five phases. The switches connect and finish their handshakes; it is quiet while the \
controller settles; traffic warms it up; traffic is measured; and answers that are still missing \
are awaited. A run is one trial, repetitions of it, a sweep over rates and numbers of switches, or \
a search for the highest rate without loss. In open mode, the default, every packet-in has a due \
time that is fixed before the trial begins, and response times count from it: a controller that \
stalls cannot hide it by slowing the benchmark down.

Settings come from flags, from the TOML file of --config, from the .ini file of --legacy and from \
defaults; the first that has a setting wins. Everything is checked before anything starts.";

const SHORT_END: &str = "\
Examples:
  planimeter probe -c 127.0.0.1:6653 -n 16 -r 1k
  planimeter probe --config probe.toml --threshold 'rtt.p99 < 5ms'

Defaults are in brackets. The manual, with every setting explained: planimeter probe --help";

const VALUES: &str = "\
Values:
  durations     500ms, 5s, 1m30s, 100us; units are h, m, s, ms, us and ns
  rates         1000, 100k, 1.5M, per second
  numbers       16, 10k; ids also 0x1f
  booleans      the flag alone, --flag true or --flag=true, --flag false or --flag=false
  lists         100,200,500, ranges 100..1000:100 and 10..10k:x10, or the flag several times
  files         relative to the current folder, in a TOML file relative to the folder of that file
  unset         an empty value, such as --p4info ''";

const TOML: &str = "\
The TOML file:
  Keys are those named with each flag; a whole file is printed by --print-config.

    protocol = \"openflow13\"

    [controller]
    address = \"192.0.2.7:6653\"

    [switches]
    count = 64
    topology = \"leaf-spine:4\"
    ports = 62

    [traffic]
    rate = \"1.5k\"
    arrivals = \"exponential\"

    [plan]
    repetitions = 10
    thresholds = [\"loss == 0\", \"rtt.p99 < 5ms\"]

    [[switch]]
    index = \"0-9\"
    rate = 5000
    start-delay = \"2s\"";

const EXAMPLES: &str = "\
Examples:
  Sixteen OpenFlow 1.3 switches on a controller on this host, 1,000 packet-ins per second each:
    planimeter probe -n 16 -r 1k

  The latency of an idle controller, as cbench measures it, and its throughput:
    planimeter probe --mode closed --window 1
    planimeter probe --mode closed --window 1000

  The highest rate without loss, with the controller restarted before every trial:
    planimeter probe --plan search --between 'systemctl restart onos && sleep 60'

  A sweep with confidence intervals, into a folder of its own:
    planimeter probe --plan sweep --sweep-rates 100..1000:100 --sweep-switches 1,16,64 \\
        --repetitions 10 -o runs/sweep

  What the number of switches alone costs: 5,000 packet-ins per second, shared among them:
    planimeter probe --plan sweep --total-rate 5k --sweep-switches 1,10,100

  P4Runtime switches that ONOS is told to dial:
    planimeter probe -p p4runtime -n 100 --onos-rest http://127.0.0.1:8181

  A check in continuous integration:
    planimeter probe --config probe.toml -t 'loss == 0' -t 'rtt.p99 < 5ms'

  From P4RCProbe to a TOML file:
    planimeter probe --legacy config.ini --print-config > probe.toml";

const EXIT_STATUS: &str = "\
Exit status:
  0  done
  1  a threshold does not hold, or not all that was asked for could be measured
  2  the configuration is wrong; every fault is named with its flag, or with file, line and key; or a port of a switch cannot be listened on
  3  the controller could not be reached: nothing was measured, since the switches that were asked \
for did not get through their handshakes
  130  interrupted, and what was measured until then, if anything, breaks no threshold";

/// Returns the definition of `planimeter probe` with all its flags.
pub(crate) fn command() -> Command {
    let command = Command::new("probe")
        .about(ABOUT)
        .long_about(LONG_ABOUT)
        .after_help(SHORT_END)
        .after_long_help([VALUES, TOML, &metrics(), EXAMPLES, EXIT_STATUS].join("\n\n"))
        .max_term_width(WIDTH)
        .args(sources());
    let settings = Section::ALL
        .iter()
        .flat_map(|section| section.settings().iter().map(|setting| argument(setting, *section)));
    command.args(settings)
}

/// Returns the flags that do not correspond to settings, such as those that name configuration
/// files and those that replace the run by another action.
fn sources() -> [Arg; 6] {
    let file = |name: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help_heading("Configuration")
    };
    [
        file("config").help("TOML file with settings").long_help(
            "TOML file with settings; see \"The TOML file\" below. A key that does not exist is an \
             error, so that a misspelt key does not go unnoticed.",
        ),
        file("legacy").help("Configuration file of OFCProbe or P4RCProbe").long_help(
            "config.ini of OFCProbe or P4RCProbe. The files that it names (topology.ini, GraphML, \
             ofSwitch.ini) are looked for in its folder. Settings without a counterpart are listed when the run \
             starts.",
        ),
        Arg::new("print-config")
            .long("print-config")
            .action(ArgAction::SetTrue)
            .help_heading("Configuration")
            .help("Check everything, print every setting as TOML, and end"),
        Arg::new("serve")
            .long("serve")
            .action(ArgAction::SetTrue)
            .conflicts_with("calibrate")
            .help_heading("Configuration")
            .help("Emulate the switches until interrupted, without a run")
            .long_help(
                "Emulates the switches with the same settings, and nothing else: they connect or \
                 wait to be dialled, answer the controller, carry discovery frames over their \
                 links, and their hosts announce themselves. No traffic is offered, nothing is \
                 measured, no run directory is made. For trying a controller, and for setting up \
                 one that takes long. Ends with Ctrl-C.",
            ),
        file("paths")
            .conflicts_with_all(["serve", "calibrate"])
            .help("Measure the shortcuts of a controller that this TOML file names")
            .long_help(
                "TOML file with shortcuts of a controller: after which of its blocks it answers, and \
                 the command that starts it so. Each is measured with the same settings; where the \
                 received rate falls from one to the next is the bottleneck, and where a second \
                 variant answers more, a change has gained something. The rate to offer is one that \
                 the shortest path can take. examples/paths/reference.toml does it with the reference \
                 controller; docs/probe.md has the file's keys.",
            ),
        Arg::new("calibrate")
            .long("calibrate")
            .action(ArgAction::SetTrue)
            .help_heading("Configuration")
            .help("Measure the built-in null controller instead: the ceiling of probe and host")
            .long_help(
                "Starts the built-in null controller, which answers every packet-in at once, and \
                 measures it with the same settings. What it shows is the ceiling of the probe on \
                 this host; a controller that comes near it may be able to take more. With an open \
                 loop the engine threads get cores of their own, as with --isolate, and the null \
                 controller the others, if there are enough. Where P4Runtime devices share \
                 ports, the null client lets packet-ins of 50 k/s and more gather for 50 us and \
                 answers them together, which leaves more of the host to the probe; round-trip \
                 times are longer by that then.",
            ),
    ]
}

fn argument(setting: &'static Setting, section: Section) -> Arg {
    let default = match setting.default {
        "" => String::new(),
        default => format!(" [{default}]"),
    };
    let argument = Arg::new(setting.key)
        .long(setting.flag)
        .value_name(setting.value_name)
        .help_heading(section.heading())
        .help(format!("{}{default}", setting.summary))
        .long_help(format!("{}.\n\n{}\n\n{}", setting.summary, setting.manual, setting.facts()))
        .allow_negative_numbers(true);
    let argument = match setting.short {
        Some(short) => argument.short(short),
        None => argument,
    };
    // The key also works as a flag.
    let argument = if setting.key == setting.flag { argument } else { argument.alias(setting.key) };
    match setting.kind {
        Kind::Value => argument.action(ArgAction::Set),
        Kind::Flag => argument
            .action(ArgAction::Set)
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true"),
        Kind::List | Kind::Tables => argument.action(ArgAction::Append),
    }
}

/// Joins each boolean flag with a `true` or `false` that follows it. A boolean flag may stand
/// alone, so clap must accept a value for it only after an equals sign: otherwise clap would read
/// the `n` of `-qn 4` as a value.
pub(crate) fn with_joined_booleans(words: Vec<OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::with_capacity(words.len());
    for word in words {
        match joined.last_mut() {
            Some(flag) if (word == "true" || word == "false") && is_boolean_flag(flag) => {
                flag.push("=");
                flag.push(word);
            }
            _ => joined.push(word),
        }
    }
    joined
}

/// Returns whether a word of the command line is the flag or the key of a boolean setting.
fn is_boolean_flag(word: &OsStr) -> bool {
    let Some(word) = word.to_str() else { return false };
    let names = |setting: &Setting| match word.strip_prefix("--") {
        Some(name) => name == setting.flag || name == setting.key,
        None => setting.short.is_some_and(|short| word == format!("-{short}")),
    };
    Setting::all().any(|setting| setting.kind == Kind::Flag && names(setting))
}

/// Returns the section of the manual that lists the metrics which thresholds may name, with their
/// units.
fn metrics() -> String {
    let mut text = String::from("Metrics for thresholds, with their units:");
    let name_width = Metric::all().map(|metric| metric.name.len()).max().unwrap_or_default();
    let indent = name_width + 4;
    for metric in Metric::all() {
        let what = format!("{} ({})", metric.summary, metric.unit.text());
        // Writing to a `String` never fails.
        let _ = write!(text, "\n  {:name_width$}", metric.name);
        let mut column = WIDTH;
        for (place, word) in what.split(' ').enumerate() {
            if column + 1 + word.len() > WIDTH {
                // The first line starts with the name, and the others with an indent.
                text.push_str(&if place == 0 { "  ".into() } else { format!("\n{:indent$}", "") });
                column = indent;
            } else {
                text.push(' ');
                column += 1;
            }
            text.push_str(word);
            column += word.len();
        }
    }
    text
}

/// Returns whether `--print-config` requests that the configuration is printed, instead of a run.
pub(crate) fn prints_configuration(matches: &ArgMatches) -> bool {
    matches.get_flag("print-config")
}

/// Returns whether `--serve` requests that the switches are emulated without a measurement.
pub(crate) fn serves(matches: &ArgMatches) -> bool {
    matches.get_flag("serve")
}

/// Returns whether `--calibrate` requests that the built-in null controller is measured instead of
/// the user's controller.
pub(crate) fn calibrates(matches: &ArgMatches) -> bool {
    matches.get_flag("calibrate")
}

/// Returns the file of `--paths`, which lists the shortcut paths through the controller that are to
/// be measured, or `None` without the flag.
pub(crate) fn paths(matches: &ArgMatches) -> Option<&std::path::Path> {
    matches.get_one::<PathBuf>("paths").map(PathBuf::as_path)
}

/// Resolves the configuration of a run: reads the files that the flags name, overrides their
/// settings with the flags, and checks all values.
///
/// # Errors
///
/// Returns all errors, one per line.
pub(crate) fn resolve(matches: &ArgMatches) -> Result<Resolved, Failure> {
    resolve_with(matches, &[])
}

/// Resolves the configuration of a run like [`resolve`], with the settings in `fixed`, which files
/// and flags cannot change.
pub(crate) fn resolve_with(
    matches: &ArgMatches,
    fixed: &[(&str, &str)],
) -> Result<Resolved, Failure> {
    let mut settings = Settings::new();
    if let Some(path) = matches.get_one::<PathBuf>("legacy") {
        settings.read_legacy(path);
    }
    if let Some(path) = matches.get_one::<PathBuf>("config") {
        settings.read_file(path);
    }
    for setting in Setting::all() {
        for value in matches.get_many::<String>(setting.key).unwrap_or_default() {
            settings.set(setting.key, value, Origin::Flag);
        }
    }
    for (key, value) in fixed {
        settings.set(key, value, Origin::Flag);
    }
    settings.resolve().map_err(|error| match error.problems.as_slice() {
        [only] => Failure::input(only),
        several => Failure::input(format!(
            "{} settings cannot be used; nothing was started\n{error}",
            several.len()
        )),
    })
}

/// Returns the words of a command line for recording, in which a fixed text replaces passwords.
pub(crate) fn recorded(words: impl IntoIterator<Item = String>) -> Vec<String> {
    let flags: Vec<String> = Setting::by_key(SECRET_KEY)
        .into_iter()
        .flat_map(|setting| [format!("--{}", setting.flag), format!("--{}", setting.key)])
        .collect();
    let mut hide_next = false;
    let hide = |word: String| {
        if std::mem::take(&mut hide_next) {
            return HIDDEN.to_owned();
        }
        hide_next = flags.contains(&word);
        match word.split_once('=') {
            Some((flag, _)) if flags.iter().any(|own| own == flag) => format!("{flag}={HIDDEN}"),
            _ => word,
        }
    };
    words.into_iter().map(hide).collect()
}

#[cfg(test)]
mod tests;
