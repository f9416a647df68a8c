//! The arguments of `planimeter switch`. Arguments that simple_switch_grpc has too are spelled as
//! there.

use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, value_parser};

use super::devices::PortName;
use super::limits::LimitArguments;
use super::pushes::PushArguments;
use softswitch::V1ModelSettings;

use crate::failure::Failure;
use crate::storage::Stored;

/// The largest width of the help in columns.
const WIDTH: usize = 100;
const ABOUT: &str = "Run a P4 program as a switch";

const LONG_ABOUT: &str = "\
Run a P4 program as a switch: on network interfaces, driven by P4Runtime controllers.

The program is given as P4 source, as BMv2 JSON or as the IR that `planimeter compile --ir` wrote, or a \
controller pushes it in one of these forms. A push takes effect between two packets. Offloads of the \
interfaces may stay on: checksums, segments and VLAN tags that the kernel leaves to the card are \
completed before the program sees a packet.

The switch accepts the command line of simple_switch_grpc, so that scripts need only another name; \
arguments behind `--` there may stand anywhere. When it is ready, it prints one line, such as

  listening on 127.0.0.1:9559 (P4Runtime), device 1 runs l2.p4 on 1@veth0 2@veth1

and when it is interrupted, it prints a line with the counters of each device. The log goes to standard error.";

const EXAMPLES: &str = "\
Examples:
  A program between two interfaces:
    planimeter switch -i 1@veth0 -i 2@veth1 --p4 programs/router.p4

  In place of simple_switch_grpc:
    planimeter switch -i 1@veth0 -i 2@veth1 --device-id 1 --no-p4 --log-console \\
        -- --grpc-server-addr 0.0.0.0:9559 --cpu-port 255

  A switch of the p4lang tutorials, with its entries:
    planimeter switch -i 1@s1-eth1 -i 2@s1-eth2 --runtime-json pod-topo/s1-runtime.json

  Log what happens to each packet:
    planimeter switch -i 1@veth0 -i 2@veth1 --p4 l2.p4 --log-level debug

  Several devices behind one address, from a file with a table [[device]] for each, with the keys
  id, p4, runtime-json, cpu-port, state and ports = [\"1@veth0\", ...]:
    planimeter switch --devices switches.toml

Exit status: 0 the switch was interrupted; 2 the program, an interface or an argument is wrong.";

/// The flags of simple_switch_grpc that are accepted but have no effect here, each with a text that
/// names what to use instead.
const PASSED_OVER: [(&str, &str); 9] = [
    ("nanolog", "there is no nanomsg log; --log-level debug names packets, tables and entries"),
    (
        "notifications-addr",
        "there is no nanomsg publisher; digests and idle entries are reported over P4Runtime",
    ),
    (
        "debugger-addr",
        "there is no debugger; --log-level trace shows what a program reads and writes",
    ),
    ("max-port-count", "the number of ports is not limited"),
    ("dp-grpc-server-addr", "packets arrive and leave through the ports of -i"),
    ("json-version", "all versions are read"),
    ("log-flush", "lines are always flushed"),
    ("log-file-max-size", "the log is one file; logrotate's copytruncate keeps it short"),
    ("log-file-max-files", "the log is one file; logrotate's copytruncate keeps it short"),
];

/// The flags of BMv2 that are refused, because they would change how packets are processed. Each
/// has the number of its values and a text that names what to use instead.
const REFUSED: [(&str, usize, &str); 6] = [
    (
        "use-files",
        1,
        "there is no directory of capture files by port number; give each port its files, as \
         -i 1@pcap:IN.pcap,OUT.pcap",
    ),
    (
        "packet-in",
        1,
        "there is no nanomsg socket for packets; use interfaces, -i 1@veth0, or capture files, \
         -i 1@pcap:IN.pcap,OUT.pcap",
    ),
    (
        "restore-state",
        1,
        "a file of simple_switch_CLI's serialize_state cannot be read; --state FILE keeps the pipeline \
         and its entries over restarts, and --runtime-json FILE gives entries at the start",
    ),
    (
        "trace-dir",
        1,
        "traces are one file; write them with --trace FILE, and choose its form with --trace-format text, json \
         or proto",
    ),
    (
        "egress-spec-init-to-drop",
        0,
        "egress_spec is 0 at first, as v1model is used; begin the ingress of the program with \
         mark_to_drop(standard_metadata)",
    ),
    (
        "load-modules",
        1,
        "externs of shared libraries cannot be loaded; those of v1model, PSA and PNA are all there",
    ),
];

pub(crate) fn command() -> Command {
    let command = Command::new("switch")
        .max_term_width(WIDTH)
        .version(env!("CARGO_PKG_VERSION"))
        .disable_version_flag(true)
        // simple_switch_grpc has the short flag in lower case.
        .arg(
            Arg::new("version")
                .short('v')
                .long("version")
                .action(ArgAction::Version)
                .help("Print version"),
        )
        .after_long_help(EXAMPLES)
        .arg(
            Arg::new("program")
                .value_name("PROGRAM")
                .value_parser(value_parser!(PathBuf))
                .conflicts_with("p4")
                .help("The program, as P4_16 source, BMv2 JSON, or the IR that `compile --ir` wrote as JSON"),
        )
        .arg(
            Arg::new("p4")
                .long("p4")
                .value_name("PROGRAM")
                .value_parser(value_parser!(PathBuf))
                .conflicts_with("no-p4")
                .help("The program, like PROGRAM"),
        )
        .arg(flag("no-p4", "Start without a program, and wait until a controller pushes one"))
        .args(Stored::arguments())
        .args(device_arguments())
        .args(server_arguments())
        .args(log_arguments())
        .args(PASSED_OVER.map(|(name, _)| {
            let values = if name == "log-flush" { 0..=0 } else { 0..=1 };
            Arg::new(name).long(name).num_args(values).hide(true)
        }))
        .args(REFUSED.map(|(name, words, _)| Arg::new(name).long(name).num_args(words).hide(true)))
        .arg(Arg::new("nothing").long("disable-swap").action(ArgAction::SetTrue).hide(true))
        .arg(Arg::new("debugger").long("debugger").action(ArgAction::SetTrue).hide(true))
        .arg(
            Arg::new("parent")
                .long("parent")
                .value_name("PID")
                .value_parser(value_parser!(u32))
                .hide(true)
                .help("End when this process, which must be the parent, ends"),
        );
    // The added arguments would otherwise replace the descriptions of the verb with their own.
    PushArguments::augment_args(LimitArguments::augment_args(command))
        .about(ABOUT)
        .long_about(LONG_ABOUT)
}

fn device_arguments() -> [Arg; 16] {
    [
        Arg::new("path")
            .long("path")
            .value_name("PATH")
            .default_value("interpreter")
            .value_parser(PossibleValuesParser::new(["interpreter", "compiled"]))
            .help("The execution path of programs: the interpreter, or the compiled program")
            .long_help(
                "The execution path of programs. The interpreter runs every program. The compiled program is several \
                 times as fast, but some programs cannot be compiled yet and are refused, with the place in the \
                 source. After a refused push, the old program keeps running.",
            ),
        Arg::new("interface")
            .short('i')
            .long("interface")
            .value_name("NUMBER@INTERFACE")
            .action(ArgAction::Append)
            .value_parser(value_parser!(PortName))
            .help("A port and the network interface behind it")
            .long_help(
                "A port and the network interface behind it, such as 1@veth0, or capture files, such as \
                 2@pcap:IN,OUT[,repeat], either of which may be omitted. In a program whose ports are strings for \
                 controllers (@p4runtime_translation), the name of the interface stands for the port, and so do \
                 the decimal digits of its number.",
            ),
        Arg::new("device-id")
            .long("device-id")
            .value_name("ID")
            .default_value("0")
            .value_parser(value_parser!(u64))
            .help("The id of the device in P4Runtime"),
        Arg::new("cpu-port")
            .long("cpu-port")
            .value_name("NUMBER")
            .default_value("255")
            .value_parser(value_parser!(u32))
            .help("The port of the controllers: packet-ins leave by it, packet-outs arrive at it"),
        Arg::new("drop-port")
            .long("drop-port")
            .value_name("NUMBER")
            .default_value("511")
            .value_parser(value_parser!(u16).range(0..=511))
            .help("The port that mark_to_drop of v1model selects, by which no packet leaves"),
        Arg::new("priority-queues")
            .long("priority-queues")
            .value_name("NUMBER")
            .default_value("1")
            .value_parser(value_parser!(u32).range(1..=256))
            .help("The number of queues of a port; v1model drops packets of priorities that have no queue")
            .long_help(
                "The number of queues of a port. A packet of v1model whose standard_metadata.priority is not below \
                 this number is dropped. Of the copies of one packet for one port, the copy with the highest \
                 priority leaves first. Packets of ports without --queue do not wait between ingress and egress, \
                 so priorities do not let one packet overtake another there.",
            ),
        Arg::new("queue")
            .long("queue")
            .value_name("port=PORT KEY=VALUE ...")
            .action(ArgAction::Append)
            .conflicts_with("devices")
            .help("Give a port queues with rates, depths and priorities, such as 'port=2 rate=10Mbps'")
            .long_help(
                "Give a port queues between ingress and egress, as 'port=2 rate=10Mbps queues=8 depth=64,96kB', or \
                 set one of them, as 'port=2 queue=7 rate=2Mbps burst=3kB'. v1model's standard_metadata.priority or \
                 PSA's class of service is the number of the queue; the largest is the most urgent. The switch \
                 reports how exactly it paced packets. The first of its workers serves all queues. Clients can \
                 change queues while traffic runs; those in --state apply instead of these. docs/queues.md has all keys.",
            ),
        Arg::new("workers")
            .long("workers")
            .value_name("NUMBER")
            .default_value("1")
            .value_parser(value_parser!(u16).range(1..=256))
            .help("The number of threads that process packets; each flow stays on one thread"),
        Arg::new("ring-memory")
            .long("ring-memory")
            .value_name("KIB")
            .value_parser(value_parser!(u32).range(256..=8192))
            .help("The memory of the receive ring of each packet socket [what fits this machine]")
            .long_help(
                "The memory in KiB of the receive ring of each packet socket. A port has one ring for each worker. \
                 The value is rounded down to a power of two, and doubled for an MTU above about 1,900. Without \
                 this flag, a ring has 8192 KiB, or less where all rings together would take more than an eighth of \
                 the available memory.",
            ),
        Arg::new("segments")
            .long("segments")
            .value_name("SEGMENTS")
            .default_value("whole")
            .value_parser(PossibleValuesParser::new(["whole", "split"]))
            .help("Whether TCP segments that the kernel delivers in one piece may leave in one piece")
            .long_help(
                "Whether TCP segments that the kernel delivers in one piece (TSO, GRO) may leave in one piece. The \
                 program processes each segment either way, and packets and counters are the same. With whole, \
                 segments leave as separate packets where the program treats them differently, where it needs their \
                 payload, and where the other port does not accept such pieces. With split, they always do.",
            ),
        Arg::new("runtime-json")
            .long("runtime-json")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help(
                "The first entries, and the program, in the format of the p4lang tutorials; or commands of \
                 simple_switch_CLI",
            ),
        Arg::new("state")
            .long("state")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .conflicts_with("devices")
            .help("Store the writes of controllers in this file, and start with its content")
            .long_help(
                "Store the pipeline and the entities that controllers write in this file, and start with its content. \
                 A batch that was acknowledged survives a restart, also after kill -9; a batch is restored \
                 completely or not at all. Counters, registers and entries that packets inserted are not stored. A \
                 write that cannot be stored, as on a full disk, is undone and refused with UNAVAILABLE. Without \
                 --journal-sync, a power failure may lose the writes of the last second. A damaged file is refused \
                 and left unchanged; see --state-repair.",
            ),
        flag("journal-sync", "Acknowledge a write only when it is on the disk, which is slower"),
        Arg::new("check-references")
            .long("check-references")
            .action(ArgAction::SetTrue)
            .help("Refuse writes whose @refers_to names what does not exist, and deletes of what is referred to")
            .long_help(
                "Refuse a write if what it refers to does not exist, and a delete of what is referred to. \
                 @refers_to(TABLE, FIELD) on a key or parameter declares a reference to an entry of a table, \
                 and builtin::multicast_group_table or builtin::clone_session_table one to a multicast group \
                 or clone session. The updates of a batch are checked in order. P4Runtime leaves the check to \
                 the target. Entries that --runtime-json gives or --state restores are not checked.",
            ),
        Arg::new("state-repair")
            .long("state-repair")
            .value_name("OTHER")
            .value_parser(value_parser!(PathBuf))
            .requires("state")
            .help("Copy the intact records of a damaged --state FILE to the file OTHER, and exit"),
        Arg::new("devices")
            .long("devices")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .conflicts_with_all(["interface", "program", "p4", "runtime-json"])
            .help("Read devices from this TOML file instead"),
    ]
}

fn server_arguments() -> [Arg; 8] {
    let pem = |name: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help_heading("P4Runtime")
            .help(help)
    };
    [
        Arg::new("grpc-server-addr")
            .long("grpc-server-addr")
            .value_name("ADDRESS:PORT")
            .default_value("127.0.0.1:9559")
            .value_parser(address)
            .help_heading("P4Runtime")
            .help("The address that controllers dial; by default only this host can reach it")
            .long_help(
                "The address that controllers dial. The default admits controllers on this host only, because P4Runtime \
                 without TLS lets anyone in who reaches the address; simple_switch_grpc listens on 0.0.0.0:9559.",
            ),
        flag("grpc-server-ssl", "Serve TLS").help_heading("P4Runtime"),
        pem("grpc-server-cert", "The certificate of the switch, followed by those of its issuers (PEM)"),
        pem("grpc-server-key", "The private key of the certificate (PEM)"),
        pem("grpc-server-cacert", "The authorities that issue clients' certificates (PEM)"),
        flag("grpc-server-with-client-auth", "Require certificates of clients (mutual TLS)")
            .help_heading("P4Runtime"),
        flag("inject", "Let clients inject packets, which run as if they had arrived on ports")
            .help_heading("P4Runtime")
            .long_help(
                "Let clients inject packets, which run as if they had arrived on ports (Inject of the service \
                 planimeter.switch.v1.SwitchControl). The answer has the packets that would leave. Effects on \
                 registers, counters and entries are those of real packets. Without this flag, whoever reaches the \
                 server can only send packets as a controller.",
            ),
        Arg::new("thrift-port")
            .long("thrift-port")
            .value_name("[ADDRESS:]PORT")
            .value_parser(thrift_address)
            .help_heading("P4Runtime")
            .help("Listen in place of simple_switch's Thrift server, and refer clients to P4Runtime")
            .long_help(
                "Listen in place of simple_switch's Thrift server, because networks such as those of p4-utils start \
                 only if a server does. There is no Thrift control plane: the first call of a client is answered \
                 with an exception that names P4Runtime, and logged. A port without an address is one of 127.0.0.1.",
            ),
    ]
}

fn log_arguments() -> [Arg; 11] {
    [
        Arg::new("log-level")
            .short('L')
            .long("log-level")
            .value_name("LEVEL")
            .default_value("info")
            .value_parser(PossibleValuesParser::new([
                "trace", "debug", "info", "warn", "error", "off",
            ]))
            .help_heading("Log")
            .help("The level of the log; `debug` logs each packet and is slow"),
        Arg::new("log-file")
            .long("log-file")
            .value_name("NAME")
            .value_parser(value_parser!(PathBuf))
            .help_heading("Log")
            .help("Write the log to NAME.txt instead of standard error"),
        Arg::new("trace")
            .long("trace")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help_heading("Log")
            .help(
                "Write the trace of each packet to FILE, which is replaced: what each table, action and \
                 copy did. Traced packets go through the interpreter, on the same tables and state",
            ),
        Arg::new("trace-format")
            .long("trace-format")
            .value_name("FORMAT")
            .default_value("text")
            .value_parser(PossibleValuesParser::new(["text", "verbose", "json", "proto"]))
            .requires("trace")
            .help_heading("Log")
            .help(
                "The form of traces: lines, lines with all values, a line of JSON for each packet, or \
                 messages planimeter.trace.v1.Trace, each behind its length",
            ),
        flag(
            "all-outcomes",
            "Trace everything that could happen to each packet: what follows each member of a group that its \
             hash could choose. The members are tried, and the packet is then processed as usual",
        )
        .requires("trace")
        .help_heading("Log"),
        Arg::new("outcomes-limit")
            .long("outcomes-limit")
            .value_name("NUMBER")
            .default_value(traces::DEFAULT_OUTCOMES.to_string())
            .value_parser(value_parser!(u64).range(1..))
            .requires("all-outcomes")
            .help_heading("Log")
            .help("The largest number of outcomes of one packet"),
        Arg::new("dump-packet-data")
            .long("dump-packet-data")
            .value_name("BYTES")
            .value_parser(value_parser!(usize))
            .help_heading("Log")
            .help("Log the first BYTES bytes of each packet that arrives or leaves; slow"),
        flag(
            "top",
            "Show ports, queues, tables, drops and controllers, once a second, instead of the log",
        )
        .help_heading("Log"),
        Arg::new("metrics")
            .long("metrics")
            .value_name("ADDRESS:PORT")
            .value_parser(value_parser!(SocketAddr))
            .help_heading("Log")
            .help("Serve metrics for Prometheus at this address: GET /metrics"),
        Arg::new("pcap")
            .long("pcap")
            .value_name("DIR")
            .num_args(0..=1)
            .default_missing_value(".")
            .value_parser(value_parser!(PathBuf))
            .help_heading("Log")
            .help(
                "Write each port's packets to INTERFACE_in.pcap and INTERFACE_out.pcap in DIR [.]",
            ),
        flag("log-console", "Write the log to standard error, which is the default")
            .help_heading("Log")
            .conflicts_with("log-file"),
    ]
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

/// Parses a socket address whose host is a name or a number, such as `localhost:9559`.
fn address(text: &str) -> Result<SocketAddr, String> {
    let mut found = text.to_socket_addrs().map_err(|error| error.to_string())?;
    found.next().ok_or_else(|| "this name has no address".to_owned())
}

/// Parses the value of `--thrift-port`, which is a port or an address. A port alone means a port of
/// the loopback address, because simple_switch accepts only a port and its clients connect from the
/// same machine.
fn thrift_address(text: &str) -> Result<SocketAddr, String> {
    match text.parse() {
        Ok(port) => Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
        Err(_) if text.contains(':') => address(text),
        Err(error) => {
            Err(format!("{error}; name a port, such as 9090, or an address, such as 0.0.0.0:9090"))
        }
    }
}

/// Returns the path of the program that the switch executes, or `None` if the command line names no
/// program or contains `--no-p4`. A file as the value of `--pcap` is the program if there is no
/// other.
pub(super) fn program(matches: &ArgMatches) -> Option<&Path> {
    let path = |name: &str| matches.get_one::<PathBuf>(name).map(PathBuf::as_path);
    if matches.get_flag("no-p4") {
        // simple_switch_grpc ignores a program that is given together with this flag; `check`
        // reports it.
        return None;
    }
    path("p4").or_else(|| path("program")).or_else(|| path("pcap").filter(|path| path.is_file()))
}

/// Returns the settings of programs for the v1model architecture.
pub(super) fn v1model(matches: &ArgMatches) -> V1ModelSettings {
    let standard = V1ModelSettings::default();
    V1ModelSettings {
        drop_port: matches.get_one("drop-port").copied().unwrap_or(standard.drop_port),
        priority_queues: matches
            .get_one("priority-queues")
            .copied()
            .unwrap_or(standard.priority_queues),
    }
}

/// Returns the path on which programs are executed: interpreted or compiled.
pub(super) fn path(matches: &ArgMatches) -> softswitch::Path {
    match matches.get_one::<String>("path").map(String::as_str) {
        Some("compiled") => softswitch::Path::Compiled,
        _ => softswitch::Path::Interpreter,
    }
}

/// Returns how durable a controller's change is when the switch confirms it: with `--journal-sync`
/// it is on the storage medium, and otherwise it has been handed to the kernel.
pub(super) fn durability(matches: &ArgMatches) -> softswitch::Durability {
    if matches.get_flag("journal-sync") {
        softswitch::Durability::Medium
    } else {
        softswitch::Durability::Kernel
    }
}

/// Returns whether TCP segments that the kernel delivers as one large packet may leave as one
/// packet, or always leave separately. The program processes each segment in either case.
pub(super) fn segments(matches: &ArgMatches) -> softswitch::Segments {
    match matches.get_one::<String>("segments").map(String::as_str) {
        Some("split") => softswitch::Segments::Split,
        _ => softswitch::Segments::Whole,
    }
}

/// Returns the directory for captures, or `None` without `--pcap`. As in simple_switch_grpc, the
/// word after `--pcap` is the directory, unless it is another option. If the word is a file, the
/// user meant it as the program, and captures are written to the current directory.
pub(super) fn captures(matches: &ArgMatches) -> Option<&Path> {
    let given = matches.get_one::<PathBuf>("pcap")?;
    Some(if given.is_file() { Path::new(".") } else { given })
}

/// Prints a warning for each flag that has no effect here. Returns an error for a flag that would
/// have another effect than in simple_switch_grpc.
pub(super) fn check(matches: &ArgMatches) -> Result<(), Failure> {
    for (name, instead) in PASSED_OVER {
        if name != "log-flush" && crate::given(matches, name) {
            eprintln!("planimeter: --{name} has no effect: {instead}");
        }
    }
    for (name, _, instead) in REFUSED {
        if crate::given(matches, name) {
            return Err(Failure::input(format!("--{name}: {instead}")));
        }
    }
    check_tls(matches)?;
    if let Some(program) = matches.get_one::<PathBuf>("program")
        && matches.get_flag("no-p4")
    {
        eprintln!("planimeter: {} has no effect beside --no-p4", program.display());
    }
    Ok(())
}

/// Returns an error if a TLS flag has no effect without another flag, because the user relies on
/// its protection.
fn check_tls(matches: &ArgMatches) -> Result<(), Failure> {
    let is_encrypted = matches.get_flag("grpc-server-ssl");
    let is_mutual = matches.get_flag("grpc-server-with-client-auth");
    let given = |name: &&str| crate::given(matches, name);
    let needs_encryption = [
        "grpc-server-cert",
        "grpc-server-key",
        "grpc-server-cacert",
        "grpc-server-with-client-auth",
    ];
    if let Some(name) = needs_encryption.iter().find(|name| given(name) && !is_encrypted) {
        return Err(Failure::input(format!(
            "--{name} has no effect without --grpc-server-ssl, which serves TLS; give both or neither"
        )));
    }
    if given(&"grpc-server-cacert") && !is_mutual {
        return Err(Failure::input(
            "--grpc-server-cacert has no effect without --grpc-server-with-client-auth, which asks clients \
             for certificates; give both or neither",
        ));
    }
    Ok(())
}

/// Returns a warning if everyone who can reach the address of the P4Runtime server may control the
/// switch, and otherwise `None`.
pub(super) fn exposure(matches: &ArgMatches) -> Option<String> {
    let address = matches.get_one::<SocketAddr>("grpc-server-addr")?;
    if address.ip().is_loopback() || matches.get_flag("grpc-server-with-client-auth") {
        return None;
    }
    Some(format!(
        "whoever reaches {address} can control this switch; 127.0.0.1 admits only this host, and \
         --grpc-server-with-client-auth admits only clients with a certificate"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> ArgMatches {
        // `main` removes the separator.
        let words =
            ["switch"].into_iter().chain(line.split_whitespace().filter(|word| *word != "--"));
        command().try_get_matches_from(words).expect("it is right")
    }

    /// The switch accepts the command line that the p4lang tutorials use for simple_switch_grpc.
    #[test]
    fn the_command_line_of_the_tutorials_is_taken() {
        let matches = parsed(
            "-i 1@s1-eth1 -i 2@s1-eth2 --pcap /tmp/pcaps --nanolog ipc:///tmp/bm-0-log.ipc \
             --device-id 0 build/basic.json --log-console --thrift-port 9090 \
             -- --grpc-server-addr 0.0.0.0:50051 --cpu-port 510",
        );
        assert_eq!(program(&matches), Some(Path::new("build/basic.json")));
        assert_eq!(captures(&matches), Some(Path::new("/tmp/pcaps")));
        assert_eq!(matches.get_one::<u32>("cpu-port"), Some(&510));
        assert_eq!(thrift(&matches), "127.0.0.1:9090");
        let named = parsed("--no-p4 -- --grpc-server-addr localhost:50051");
        let address = named.get_one::<SocketAddr>("grpc-server-addr").expect("it has one");
        assert!(address.ip().is_loopback() && address.port() == 50051, "{address}");
    }

    fn thrift(matches: &ArgMatches) -> String {
        matches.get_one::<SocketAddr>("thrift-port").map(ToString::to_string).unwrap_or_default()
    }

    /// The value of `--thrift-port` is either a port, which p4-utils passes and which means a port
    /// of the loopback address, or an address. All other values are refused.
    #[test]
    fn the_thrift_port_is_listened_on() {
        assert_eq!(thrift(&parsed("--no-p4")), "");
        assert_eq!(thrift(&parsed("--thrift-port 9091 --no-p4")), "127.0.0.1:9091");
        assert_eq!(thrift(&parsed("--no-p4 --thrift-port=0.0.0.0:9091")), "0.0.0.0:9091");
        for wrong in ["here", "90900", "", "localhost"] {
            let words = ["switch", "--no-p4", "--thrift-port", wrong];
            let refused = command().try_get_matches_from(words).expect_err(wrong).to_string();
            assert!(refused.contains("--thrift-port"), "{refused}");
        }
    }

    /// A BMv2 flag that would have another meaning here is never ignored. It is refused, with a
    /// message that names its replacement.
    #[test]
    fn arguments_without_a_counterpart_are_refused_with_the_alternative() {
        for (line, instead) in [
            ("--no-p4 -- --use-files 5", "pcap:"),
            ("--no-p4 --packet-in ipc:///tmp/bmv2_packets_1.ipc", "-i 1@veth0"),
            ("--no-p4 --restore-state /tmp/state", "--state FILE"),
            ("--no-p4 --trace-dir /tmp", "--trace FILE"),
            ("--no-p4 -- --load-modules counter.so", "v1model"),
        ] {
            let refused = check(&parsed(line)).expect_err(line).to_string();
            let flag = line.split_whitespace().rev().nth(1).expect("it is there");
            assert!(refused.contains(flag) && refused.contains(instead), "{refused}");
        }
        let flag = check(&parsed("--no-p4 -- --egress-spec-init-to-drop")).expect_err("refused");
        assert!(flag.to_string().contains("mark_to_drop"), "{flag}");
    }

    #[test]
    fn settings_of_v1model_are_those_of_simple_switch() {
        assert_eq!(v1model(&parsed("--no-p4")), V1ModelSettings::default());
        let given = v1model(&parsed("--no-p4 -- --drop-port 510 --priority-queues 8"));
        assert_eq!(given, V1ModelSettings { drop_port: 510, priority_queues: 8 });
        let wide = command().try_get_matches_from(["switch", "--drop-port", "512"]);
        let wide = wide.expect_err("egress_spec has nine bits").to_string();
        assert!(wide.contains("512 is not in 0..=511"), "{wide}");
    }

    /// A TLS flag that would have no effect is refused, because the user relies on it.
    #[test]
    fn flags_of_tls_work_or_are_refused() {
        for (line, missing) in [
            ("--grpc-server-cert c.pem --grpc-server-key k.pem", "--grpc-server-ssl"),
            ("--grpc-server-key k.pem", "--grpc-server-ssl"),
            ("--grpc-server-with-client-auth --grpc-server-cacert a.pem", "--grpc-server-ssl"),
            ("--grpc-server-ssl --grpc-server-cacert a.pem", "--grpc-server-with-client-auth"),
        ] {
            let refused =
                check(&parsed(&format!("--no-p4 -- {line}"))).expect_err(line).to_string();
            assert!(refused.contains(missing), "{line}: {refused}");
        }
        let whole = "--no-p4 -- --grpc-server-ssl --grpc-server-cert c --grpc-server-key k \
                     --grpc-server-with-client-auth --grpc-server-cacert a";
        assert!(check(&parsed(whole)).is_ok());
    }

    /// By default, only this host can connect to the switch. If the address admits other hosts that
    /// need no certificate, a warning says so.
    #[test]
    fn a_server_that_anyone_can_reach_is_noted() {
        for (line, is_open) in [
            ("--no-p4", false),
            ("--no-p4 -- --grpc-server-addr localhost:1", false),
            ("--no-p4 -- --grpc-server-addr 0.0.0.0:9559", true),
            ("--no-p4 -- --grpc-server-addr 0.0.0.0:9559 --grpc-server-ssl", true),
            ("--no-p4 -- --grpc-server-addr 0.0.0.0:9559 --grpc-server-with-client-auth", false),
        ] {
            let note = exposure(&parsed(line));
            assert_eq!(note.is_some(), is_open, "{line}: {note:?}");
        }
    }

    #[test]
    fn a_program_beside_no_p4_is_passed_over() {
        assert_eq!(program(&parsed("--no-p4 build/basic.json")), None);
    }

    #[test]
    fn a_file_behind_pcap_is_the_program() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let matches = parsed(&format!("--pcap {file}"));
        assert_eq!(program(&matches), Some(Path::new(file)));
        assert_eq!(captures(&matches), Some(Path::new(".")));
        assert_eq!(captures(&parsed("--pcap --no-p4")), Some(Path::new(".")));
        assert_eq!(captures(&parsed("--pcap=here --no-p4")), Some(Path::new("here")));
    }
}
