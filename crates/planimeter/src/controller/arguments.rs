//! The arguments of `planimeter controller`, and its manual.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, value_parser};
use controllers::application::Application;
use controllers::openflow;
use controllers::p4runtime::{AnswerAfter, ServiceTime, Target};

use crate::parsers::{duration, one_of};

/// The width of the manual in columns, if the terminal is wide enough.
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

/// The arguments of the verb.
#[derive(Debug, Parser)]
#[command(
    name = "controller",
    about = ABOUT,
    long_about = LONG_ABOUT,
    after_help = "The manual, with examples: planimeter controller --help",
    after_long_help = [APPLICATIONS, EXAMPLES, EXIT_STATUS].join("\n\n"),
    max_term_width = WIDTH
)]
pub(crate) struct Arguments {
    /// What to do with packet-ins; see "Applications" in the manual
    #[arg(long, short, value_name = "NAME", default_value = "learning", value_parser = one_of([
        ("learning", Application::LearningSwitch),
        ("reactive", Application::ReactiveForwarding),
        ("paths", Application::Paths),
        ("null", Application::NullResponder),
    ]))]
    pub(super) application: Application,
    /// Protocol [default: p4runtime if switches are named, else openflow]
    #[arg(long, short, value_name = "NAME", value_parser = one_of([
        ("openflow", Protocol::OpenFlow),
        ("p4runtime", Protocol::P4Runtime),
    ]))]
    pub(super) protocol: Option<Protocol>,
    /// Threads that serve switches
    #[arg(
        long,
        short,
        value_name = "NUMBER",
        default_value = "1",
        value_parser = value_parser!(u16).range(1..=1024)
    )]
    pub(super) threads: u16,
    /// How long a rule stays without a packet that matches; 0 for ever
    #[arg(long, value_name = "SECONDS", default_value = "10")]
    pub(super) idle_timeout: u16,
    /// With paths: tell the topology and install rules over HTTP there, as os-ken and Ryu do
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        long_help = "With paths: tell the topology (GET /v1.0/topology/switches, /v1.0/topology/links) and the \
                     rules of a switch (GET /stats/flow/ID) over HTTP there, and install rules (POST \
                     /stats/flowentry/add), as the REST interfaces of os-ken and Ryu do: what probe \
                     --northbound ofctl:http://ADDRESS:PORT asks."
    )]
    pub(super) northbound: Option<SocketAddr>,
    /// Stand in for ONOS 2.5: learn of P4Runtime switches over its REST interface, on that address
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        conflicts_with_all = ["application", "northbound", "device", "devices", "first_port", "threads"],
        long_help = "Stand in for ONOS 2.5: learn of P4Runtime switches over its REST interface, on that address. \
                     Reactive forwarding answers each packet-in in the time that ONOS 2.5.0 took in the P4RCProbe paper \
                     (see --service-time), and what planimeter probe --onos-rest asks and tells is answered as ONOS 2.5.6 \
                     answers it: a device keeps the pipeconf that it had first, one that is known is dialled again after \
                     12 s, and netcfg that is deleted before its device leaves it damaged. It has the driver bmv2 and the \
                     pipeconfs org.onosproject.pipelines.basic and p4-tutorial-pipeconf, which are both the pipeline of \
                     this controller under another name; it tells of no hosts and no links, and has no OpenFlow."
    )]
    pub(super) onos: Option<SocketAddr>,
    // For the controllers that planimeter itself starts.
    #[arg(long, value_name = "PID", hide = true)]
    pub(super) parent: Option<u32>,
    /// Tell on standard error which switches come and go, and figures every 5 s
    #[arg(long, short)]
    pub(super) verbose: bool,
    #[command(flatten)]
    pub(super) openflow: OpenFlow,
    #[command(flatten)]
    pub(super) p4runtime: P4Runtime,
    #[command(flatten)]
    pub(super) tls: Tls,
}

/// The protocol that `--protocol` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    OpenFlow,
    P4Runtime,
}

/// The flags of OpenFlow controllers.
#[derive(Debug, Args)]
#[command(next_help_heading = "OpenFlow")]
pub(super) struct OpenFlow {
    /// Where switches connect; with port 0 the system chooses one and it is printed
    #[arg(long, short, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:6653")]
    pub(super) listen: SocketAddr,
    /// Offer this version alone [default: both]
    #[arg(long, value_name = "VERSION", value_parser = one_of([
        ("1.0", openflow::Version::V1_0),
        ("1.3", openflow::Version::V1_3),
    ]))]
    pub(super) openflow_version: Vec<openflow::Version>,
    /// How much of a packet that they keep switches send; 65535 for all of it
    #[arg(long, value_name = "BYTES", default_value = "128")]
    pub(super) miss_send_len: u16,
    /// With null: the same bytes for every packet-in, without packet or buffer
    #[arg(long)]
    pub(super) prepared: bool,
    /// With paths: be the active controller, and say so to those that stand by
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(super) beat: Option<SocketAddr>,
    /// With paths: stand by until the controller that beats there is gone
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "beat")]
    pub(super) standby_of: Option<SocketAddr>,
    /// How often it beats; one that is silent for three times this is gone
    #[arg(
        long,
        value_name = "MILLISECONDS",
        default_value = "100",
        value_parser = value_parser!(u64).range(1..=600_000)
    )]
    pub(super) beat_interval: u64,
}

/// The flags of P4Runtime controllers.
#[derive(Debug, Args)]
#[command(next_help_heading = "P4Runtime")]
pub(super) struct P4Runtime {
    /// A switch to dial; may be given several times
    #[arg(long, short, value_name = "ID@HOST:PORT")]
    pub(super) device: Vec<Target>,
    /// A file with a switch per line, ID HOST:PORT, as probe --list-file writes it
    #[arg(long, value_name = "FILE")]
    pub(super) devices: Option<PathBuf>,
    /// Dial --count switches on ports from this one on, with ids from --first-device on
    #[arg(long, value_name = "PORT", value_parser = value_parser!(u16).range(1..))]
    pub(super) first_port: Option<u16>,
    /// How many
    #[arg(
        long,
        value_name = "NUMBER",
        default_value = "1",
        value_parser = value_parser!(u32).range(1..=65_535),
        requires = "first_port"
    )]
    pub(super) count: u32,
    /// Device id of the first
    #[arg(long, value_name = "ID", default_value = "1", requires = "first_port")]
    pub(super) first_device: u64,
    /// Where they are
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1", requires = "first_port")]
    pub(super) host: String,
    /// By which switches choose among controllers; the highest is primary
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub(super) election_id: u128,
    /// Stand by until no controller is primary that was, and be the next
    #[arg(long, conflicts_with = "election_id")]
    pub(super) standby: bool,
    /// Flooded packets leave by ports 1 to this one
    #[arg(
        long,
        value_name = "NUMBER",
        default_value = "48",
        value_parser = value_parser!(u16).range(1..=254)
    )]
    pub(super) flood_ports: u16,
    /// How long packet-ins gather before they are answered
    #[arg(
        long,
        value_name = "MICROSECONDS",
        default_value = "0",
        value_parser = value_parser!(u32).range(..=1_000_000),
        long_help = "How long packet-ins gather before they are answered. Several are answered at a \
                     time then, which takes less of the processor, most so if switches share \
                     addresses, and every answer comes later by up to this time."
    )]
    pub(super) gather: u32,
    /// Answer after this block: grpc, decoding or application
    #[arg(
        long,
        value_name = "BLOCK",
        default_value = "application",
        long_help = "Answer packet-ins after this block of the controller: grpc (nothing is read but \
                     the message), decoding (the metadata are read by the description of the pipeline) \
                     or application. The first two answer with the payload that came, and write no \
                     rules. For planimeter probe --paths, which finds out which block is the \
                     bottleneck."
    )]
    pub(super) answer_after: AnswerAfter,
    /// Read the description of the pipeline again for every packet
    #[arg(
        long,
        long_help = "Read the description of the pipeline (its P4Info) again for every packet that is \
                     decoded, as ONOS 2.5.0 did: a bottleneck to be found with planimeter probe --paths."
    )]
    pub(super) read_pipeline_per_packet: bool,
    /// Take so long for each packet-in, one after the other over all switches
    #[arg(
        long,
        value_name = "TIME",
        value_parser = service_time,
        long_help = "Take so long for each packet-in, such as 680us, one after the other over all switches, in the order in \
                     which they come and without dropping any: a controller whose limit is known. Nothing works in \
                     between, so that its CPU stays low. With --onos the time is otherwise that of the P4RCProbe paper: \
                     680us with one switch (1471/s, Table I), 1.9ms with several (526/s, Fig. 5), and 2.525ms while more \
                     than a hundred packet-ins wait (396/s, Fig. 7)."
    )]
    pub(super) service_time: Option<ServiceTime>,
    /// What a compiler made of programs/l2.p4, for switches that execute it
    #[arg(
        long,
        value_name = "FILE",
        long_help = "What a compiler made of programs/l2.p4, for switches that execute it, such as \
                     BMv2. Without this they are sent its source, which planimeter switch and the \
                     switches of --plan rfc8456 compile; other emulated switches take any."
    )]
    pub(super) device_config: Option<PathBuf>,
}

fn service_time(text: &str) -> Result<ServiceTime, String> {
    duration(text).map(ServiceTime::constant)
}

/// The files of TLS.
#[derive(Debug, Args)]
#[command(next_help_heading = "TLS, with PEM files")]
pub(super) struct Tls {
    /// Our certificate, followed by those of its issuers; with OpenFlow this enables TLS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(super) tls_certificate: Option<PathBuf>,
    /// The private key of the certificate
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub(super) tls_key: Option<PathBuf>,
    /// Authorities that switches' certificates must come from; with OpenFlow mutual TLS, with
    /// P4Runtime this enables TLS
    #[arg(long, value_name = "FILE")]
    pub(super) tls_ca: Option<PathBuf>,
    /// P4Runtime: the name in switches' certificates, if it is not the host
    #[arg(long, value_name = "NAME", requires = "tls_ca")]
    pub(super) tls_server_name: Option<String>,
}
