//! The arguments of `planimeter controller`, and its manual.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, value_parser};
use controllers::p4runtime::{AnswerAfter, Target};

use crate::words::duration;

/// Columns of the manual, where the terminal has as many.
const WIDTH: usize = 100;
const ABOUT: &str = "Run a reference controller";

const LONG_ABOUT: &str = "\
Run a reference controller.

Small applications over two protocols. As an OpenFlow controller it listens, and speaks 1.0 or \
1.3 with each switch as that asks for. As a P4Runtime controller it dials the switches that are \
named, again and again until they are there, becomes primary, gives each its pipeline (Ethernet \
forwarding, programs/l2.p4) unless the switch reports its cookie already, and answers.

When it is ready it prints one line, such as

  listening on 127.0.0.1:6653 (OpenFlow 1.0, 1.3), learning switch

and when it is interrupted another one with what it has done.";

const APPLICATIONS: &str = "\
Applications:
  learning  A learning switch. It learns behind which port an Ethernet address is. A frame to a
            known address goes to its port, and a rule for ingress port, source and destination
            makes the switch forward what follows; any other frame is flooded.
  reactive  Reactive forwarding, as the application fwd of ONOS does it: rules for IPv4 alone, and
            ARP stays with the controller. Every packet gets its rule; over P4Runtime, where rules
            do not expire by themselves, learning writes a rule once.
  paths     Path provisioning over all switches. It discovers links by LLDP, learns where hosts are
            and gives every pair of hosts that talks a shortest path, with a rule at each of its
            switches; when a link or switch goes, another path. Loops are no danger. One thread.
  null      Returns every packet by the port that it came in by, as fast as possible, and installs
            no rules. For finding out how much a benchmark itself can do.
  Discovery frames (LLDP, BDDP) are not forwarded. All but paths know no topology: a loop of links
  between switches makes broadcasts circle.";

const EXAMPLES: &str = "\
Examples:
  A learning switch for OpenFlow switches of this host, and for those of others:
    planimeter controller
    planimeter controller --listen 0.0.0.0:6653 --threads 4 --verbose

  The ceiling of the probe over OpenFlow, with packets and with a flood of prepared ones:
    planimeter controller -a null --listen 127.0.0.1:6653
    planimeter controller -a null --prepared --listen 127.0.0.1:6653

  A hundred emulated P4Runtime switches, from which planimeter probe wrote the list:
    planimeter probe -p p4runtime -n 100 --list-file switches.txt &
    planimeter controller -a reactive --devices switches.txt

  The same without a list, and a single switch:
    planimeter controller -a null --first-port 50001 --count 100
    planimeter controller --device 1@127.0.0.1:9559

  Path provisioning that is told of paths as well, as planimeter probe --plan rfc8456:5.1.5 does:
    planimeter controller -a paths --idle-timeout 0 --northbound 127.0.0.1:8080

  A stand-in for ONOS, and fifty switches that ask it for more than it can answer:
    planimeter controller --onos 127.0.0.1:8181 &
    planimeter probe --config examples/onos/saturated.toml

  BMv2, with the pipeline compiled for it:
    p4c --target bmv2 --arch v1model --std p4-16 -o build programs/l2.p4
    planimeter controller --device 1@127.0.0.1:9559 --device-config build/l2.json";

const EXIT_STATUS: &str = "\
Exit status:
  0  interrupted, as controllers end
  1  the system refuses threads or sockets
  2  the arguments, or a file that they name, are wrong, or an address cannot be listened on";

/// The verb with all its flags.
pub(crate) fn command() -> Command {
    Command::new("controller")
        .about(ABOUT)
        .long_about(LONG_ABOUT)
        .after_help("The manual, with examples: planimeter controller --help")
        .after_long_help([APPLICATIONS, EXAMPLES, EXIT_STATUS].join("\n\n"))
        .max_term_width(WIDTH)
        .args(general())
        .args(openflow_arguments())
        .args(p4runtime_arguments())
        .args(tls_arguments())
}

fn general() -> [Arg; 8] {
    [
        Arg::new("application")
            .short('a')
            .long("application")
            .value_name("NAME")
            .value_parser(PossibleValuesParser::new(["learning", "reactive", "paths", "null"]))
            .default_value("learning")
            .help("What to do with packet-ins; see \"Applications\" in the manual"),
        Arg::new("protocol")
            .short('p')
            .long("protocol")
            .value_name("NAME")
            .value_parser(PossibleValuesParser::new(["openflow", "p4runtime"]))
            .help("Protocol [default: p4runtime if switches are named, else openflow]"),
        Arg::new("threads")
            .short('t')
            .long("threads")
            .value_name("NUMBER")
            .value_parser(value_parser!(u16).range(1..=1024))
            .default_value("1")
            .help("Threads that serve switches"),
        Arg::new("idle-timeout")
            .long("idle-timeout")
            .value_name("SECONDS")
            .value_parser(value_parser!(u16))
            .default_value("10")
            .help("How long a rule stays without a packet that matches; 0 for ever"),
        Arg::new("northbound")
            .long("northbound")
            .value_name("ADDRESS:PORT")
            .value_parser(value_parser!(SocketAddr))
            .help("With paths: tell the topology and install rules over HTTP there, as os-ken and Ryu do")
            .long_help(
                "With paths: tell the topology (GET /v1.0/topology/switches, /v1.0/topology/links) and the \
                 rules of a switch (GET /stats/flow/ID) over HTTP there, and install rules (POST \
                 /stats/flowentry/add), as the REST interfaces of os-ken and Ryu do: what probe \
                 --northbound ofctl:http://ADDRESS:PORT asks.",
            ),
        Arg::new("onos")
            .long("onos")
            .value_name("ADDRESS:PORT")
            .value_parser(value_parser!(SocketAddr))
            .conflicts_with_all(["application", "northbound", "device", "devices", "first-port", "threads"])
            .help("Stand in for ONOS 2.5: learn of P4Runtime switches over its REST interface, on that address")
            .long_help(
                "Stand in for ONOS 2.5: learn of P4Runtime switches over its REST interface, on that address. \
                 Reactive forwarding answers each packet-in in the time that ONOS 2.5.0 took in the P4RCProbe paper \
                 (see --service-time), and what planimeter probe --onos-rest asks and tells is answered as ONOS 2.5.6 \
                 answers it: a device keeps the pipeconf that it had first, one that is known is dialled again after \
                 12 s, and netcfg that is deleted before its device leaves it damaged. It has the driver bmv2 and the \
                 pipeconfs org.onosproject.pipelines.basic and p4-tutorial-pipeconf, which are both the pipeline of \
                 this controller under another name; it tells of no hosts and no links, and has no OpenFlow.",
            ),
        // For the controllers that planimeter itself starts.
        Arg::new("parent")
            .long("parent")
            .value_name("PID")
            .value_parser(value_parser!(u32))
            .hide(true),
        Arg::new("verbose")
            .short('v')
            .long("verbose")
            .action(ArgAction::SetTrue)
            .help("Tell on standard error which switches come and go, and figures every 5 s"),
    ]
}

fn openflow_arguments() -> [Arg; 7] {
    let heading = "OpenFlow";
    [
        Arg::new("listen")
            .short('l')
            .long("listen")
            .value_name("ADDRESS:PORT")
            .value_parser(value_parser!(SocketAddr))
            .default_value("127.0.0.1:6653")
            .help_heading(heading)
            .help("Where switches connect; with port 0 the system chooses one and it is printed"),
        Arg::new("openflow-version")
            .long("openflow-version")
            .value_name("VERSION")
            .value_parser(PossibleValuesParser::new(["1.0", "1.3"]))
            .action(ArgAction::Append)
            .help_heading(heading)
            .help("Offer this version alone [default: both]"),
        Arg::new("miss-send-len")
            .long("miss-send-len")
            .value_name("BYTES")
            .value_parser(value_parser!(u16))
            .default_value("128")
            .help_heading(heading)
            .help("How much of a packet that they keep switches send; 65535 for all of it"),
        Arg::new("prepared")
            .long("prepared")
            .action(ArgAction::SetTrue)
            .help_heading(heading)
            .help("With null: the same bytes for every packet-in, without packet or buffer"),
        Arg::new("beat")
            .long("beat")
            .value_name("ADDRESS:PORT")
            .value_parser(value_parser!(SocketAddr))
            .help_heading(heading)
            .help("With paths: be the active controller, and say so to those that stand by"),
        Arg::new("standby-of")
            .long("standby-of")
            .value_name("ADDRESS:PORT")
            .value_parser(value_parser!(SocketAddr))
            .conflicts_with("beat")
            .help_heading(heading)
            .help("With paths: stand by until the controller that beats there is gone"),
        Arg::new("beat-interval")
            .long("beat-interval")
            .value_name("MILLISECONDS")
            .value_parser(value_parser!(u64).range(1..=600_000))
            .default_value("100")
            .help_heading(heading)
            .help("How often it beats; one that is silent for three times this is gone"),
    ]
}

fn p4runtime_arguments() -> [Arg; 14] {
    let argument = |name: &'static str| Arg::new(name).long(name).help_heading("P4Runtime");
    [
        argument("device")
            .short('d')
            .value_name("ID@HOST:PORT")
            .value_parser(|text: &str| text.parse::<Target>())
            .action(ArgAction::Append)
            .help("A switch to dial; may be given several times"),
        argument("devices")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help("A file with a switch per line, ID HOST:PORT, as probe --list-file writes it"),
        argument("first-port").value_name("PORT").value_parser(value_parser!(u16).range(1..)).help(
            "Dial --count switches on ports from this one on, with ids from --first-device on",
        ),
        argument("count")
            .value_name("NUMBER")
            .value_parser(value_parser!(u32).range(1..=65_535))
            .default_value("1")
            .requires("first-port")
            .help("How many"),
        argument("first-device")
            .value_name("ID")
            .value_parser(value_parser!(u64))
            .default_value("1")
            .requires("first-port")
            .help("Device id of the first"),
        argument("host")
            .value_name("HOST")
            .default_value("127.0.0.1")
            .requires("first-port")
            .help("Where they are"),
        argument("election-id")
            .value_name("NUMBER")
            .value_parser(value_parser!(u128))
            .default_value("1")
            .help("By which switches choose among controllers; the highest is primary"),
        argument("standby")
            .action(ArgAction::SetTrue)
            .conflicts_with("election-id")
            .help("Stand by until no controller is primary that was, and be the next"),
        argument("flood-ports")
            .value_name("NUMBER")
            .value_parser(value_parser!(u16).range(1..=254))
            .default_value("48")
            .help("Flooded packets leave by ports 1 to this one"),
        argument("gather")
            .value_name("MICROSECONDS")
            .value_parser(value_parser!(u32).range(..=1_000_000))
            .default_value("0")
            .help("How long packet-ins gather before they are answered")
            .long_help(
                "How long packet-ins gather before they are answered. Several are answered at a \
                 time then, which takes less of the processor, most so if switches share \
                 addresses, and every answer comes later by up to this time.",
            ),
        argument("answer-after")
            .value_name("BLOCK")
            .value_parser(|text: &str| text.parse::<AnswerAfter>())
            .default_value("application")
            .help("Answer after this block: grpc, decoding or application")
            .long_help(
                "Answer packet-ins after this block of the controller: grpc (nothing is read but \
                 the message), decoding (the metadata are read by the description of the pipeline) \
                 or application. The first two answer with the payload that came, and write no \
                 rules. For planimeter probe --paths, which finds out which block is the \
                 bottleneck.",
            ),
        argument("read-pipeline-per-packet")
            .action(ArgAction::SetTrue)
            .help("Read the description of the pipeline again for every packet")
            .long_help(
                "Read the description of the pipeline (its P4Info) again for every packet that is \
                 decoded, as ONOS 2.5.0 did: a bottleneck to be found with planimeter probe --paths.",
            ),
        argument("service-time")
            .value_name("TIME")
            .value_parser(duration)
            .help("Take so long for each packet-in, one after the other over all switches")
            .long_help(
                "Take so long for each packet-in, such as 680us, one after the other over all switches, in the order in \
                 which they come and without dropping any: a controller whose limit is known. Nothing works in \
                 between, so that its CPU stays low. With --onos the time is otherwise that of the P4RCProbe paper: \
                 680us with one switch (1471/s, Table I), 1.9ms with several (526/s, Fig. 5), and 2.525ms while more \
                 than a hundred packet-ins wait (396/s, Fig. 7).",
            ),
        argument("device-config")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help("What a compiler made of programs/l2.p4, for switches that execute it")
            .long_help(
                "What a compiler made of programs/l2.p4, for switches that execute it, such as \
                 BMv2. Without this they are sent its source, which planimeter switch and the \
                 switches of --plan rfc8456 compile; other emulated switches take any.",
            ),
    ]
}

fn tls_arguments() -> [Arg; 4] {
    let argument = |name: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help_heading("TLS, with PEM files")
    };
    [
        argument("tls-certificate").requires("tls-key").help(
            "Our certificate, followed by those of its issuers; with OpenFlow this enables TLS",
        ),
        argument("tls-key").requires("tls-certificate").help("The private key of the certificate"),
        argument("tls-ca").help(
            "Authorities that switches' certificates must come from; with OpenFlow mutual TLS, \
             with P4Runtime this enables TLS",
        ),
        argument("tls-server-name")
            .value_name("NAME")
            .value_parser(value_parser!(String))
            .requires("tls-ca")
            .help("P4Runtime: the name in switches' certificates, if it is not the host"),
    ]
}
