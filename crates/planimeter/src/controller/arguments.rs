//! The arguments of `planimeter controller`, and its manual.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, value_parser};
use controllers::application::Application;
use controllers::model::Variant;
use controllers::openflow;
use controllers::p4runtime::{AnswerAfter, ServiceTime, Target};

use crate::parsers::{duration, one_of};

/// The maximum width in columns of the manual. On a narrower terminal, it is as wide as the
/// terminal.
const WIDTH: usize = 100;
const ABOUT: &str = "Run a reference controller";

const LONG_ABOUT: &str = "\
Run a reference controller.

The controller runs one of several small applications over OpenFlow or P4Runtime. As an OpenFlow \
controller it listens, and speaks 1.0 or 1.3 with each switch, whichever that switch negotiates. As \
a P4Runtime controller it dials the named switches and retries until they answer, becomes their \
primary, pushes its pipeline (Ethernet forwarding, programs/l2.p4) unless a switch already reports \
the cookie of that pipeline, and answers packet-ins.

When it is ready, it prints one line, such as

  listening on 127.0.0.1:6653 (OpenFlow 1.0, 1.3), learning switch

and when it is interrupted, it prints another line that counts what it did.";

const APPLICATIONS: &str = "\
Applications:
  learning  A learning switch. It learns the port behind which each Ethernet address is. A frame to
            a known address leaves by that port, and a rule for ingress port, source and destination
            makes the switch forward the frames that follow. Any other frame is flooded.
  reactive  Reactive forwarding, as the application fwd of ONOS does it. It installs rules for IPv4
            only, and answers every ARP packet itself. Each packet-in gets a rule of its own;
            learning, in contrast, writes a rule only once over P4Runtime, where rules do not expire.
  paths     Path provisioning over all switches. It discovers links by LLDP, learns where hosts are,
            and installs a shortest path for every pair of hosts that communicates, with a rule on
            each switch of the path. When a link or switch fails, it installs another path. Loops in
            the topology are safe. It runs on one thread.
  null      Returns every packet by the port that it arrived at, as fast as possible, and installs
            no rules. It shows how much load the benchmark itself can generate.
  No application forwards discovery frames (LLDP, BDDP). Only paths knows the topology: under the
  others, a loop of links between switches makes broadcasts circulate.";

const EXAMPLES: &str = "\
Examples:
  A learning switch for OpenFlow switches of this host, and for those of others:
    planimeter controller
    planimeter controller --listen 0.0.0.0:6653 --threads 4 --verbose

  The highest rate of the probe itself over OpenFlow, with real and with prepared answers:
    planimeter controller -a null --listen 127.0.0.1:6653
    planimeter controller -a null --prepared --listen 127.0.0.1:6653

  A hundred emulated P4Runtime switches, from which planimeter probe wrote the list:
    planimeter probe -p p4runtime -n 100 --list-file switches.txt &
    planimeter controller -a reactive --devices switches.txt

  The same switches without a list, and a single switch:
    planimeter controller -a null --first-port 50001 --count 100
    planimeter controller --device 1@127.0.0.1:9559

  Path provisioning that also accepts paths over HTTP, for planimeter probe --plan rfc8456:5.1.5:
    planimeter controller -a paths --idle-timeout 0 --northbound 127.0.0.1:8080

  A stand-in for ONOS, and fifty switches that send it more than it can answer:
    planimeter controller --onos 127.0.0.1:8181 &
    planimeter probe --config examples/onos/saturated.toml

  BMv2, with the pipeline compiled for it:
    p4c --target bmv2 --arch v1model --std p4-16 -o build programs/l2.p4
    planimeter controller --device 1@127.0.0.1:9559 --device-config build/l2.json";

const EXIT_STATUS: &str = "\
Exit status:
  0  the controller was interrupted, as it normally ends
  1  the system refused a thread or a socket
  2  an argument or a file that it names is wrong, or the address cannot be listened on";

/// The arguments of `planimeter controller`.
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
    /// The application that answers packet-ins; see "Applications" in the manual
    #[arg(long, short, value_name = "NAME", default_value = "learning", value_parser = one_of([
        ("learning", Application::LearningSwitch),
        ("reactive", Application::ReactiveForwarding),
        ("paths", Application::Paths),
        ("null", Application::NullResponder),
    ]))]
    pub(super) application: Application,
    /// The protocol [default: p4runtime if switches are named, else openflow]
    #[arg(long, short, value_name = "NAME", value_parser = one_of([
        ("openflow", Protocol::OpenFlow),
        ("p4runtime", Protocol::P4Runtime),
    ]))]
    pub(super) protocol: Option<Protocol>,
    /// The number of threads that serve switches
    #[arg(
        long,
        short,
        value_name = "NUMBER",
        default_value = "1",
        value_parser = value_parser!(u16).range(1..=1024)
    )]
    pub(super) threads: u16,
    /// Remove a rule after this time without a matching packet; 0 keeps it forever
    #[arg(long, value_name = "SECONDS", default_value = "10")]
    pub(super) idle_timeout: u16,
    /// With paths: serve the REST interface of os-ken and Ryu at this address
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        long_help = "With paths: serve the REST interface of os-ken and Ryu at this address. It reports the topology \
                     (GET /v1.0/topology/switches, /v1.0/topology/links) and the rules of a switch (GET \
                     /stats/flow/ID), and installs rules (POST /stats/flowentry/add). This is the interface that \
                     planimeter probe --northbound ofctl:http://ADDRESS:PORT uses."
    )]
    pub(super) northbound: Option<SocketAddr>,
    /// Stand in for ONOS 2.5: serve its REST interface for P4Runtime switches at this address
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        conflicts_with_all = ["application", "northbound", "device", "devices", "first_port", "threads"],
        long_help = "Stand in for ONOS 2.5: serve its REST interface for P4Runtime switches at this address, and dial the \
                     switches that are registered there. Reactive forwarding answers each packet-in in the time that \
                     ONOS 2.5.0 took in the P4RCProbe paper (see --service-time). Requests of planimeter probe --onos-rest \
                     are answered as ONOS 2.5.6 answers them: a device keeps its first pipeconf, a known device is dialled \
                     again after 12 s, and deleting the netcfg of a device before the device itself leaves the device \
                     damaged. There is one driver, bmv2, and there are two pipeconfs, org.onosproject.pipelines.basic and \
                     p4-tutorial-pipeconf, which are both the pipeline of this controller. The stand-in reports no hosts \
                     and no links, and does not speak OpenFlow."
    )]
    pub(super) onos: Option<SocketAddr>,
    /// Answer as late as the controller that this TOML file models
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["service_time", "onos"],
        long_help = "Answer as late as the controller that this TOML file models: the stages that a packet-in passes over \
                     each protocol, and the time that each takes. examples/paths/paper.toml is a model of the controller \
                     in the P4RCProbe paper, and explains the keys. Times are waited for, so they take no processor \
                     time. Goes with the applications learning and reactive."
    )]
    pub(super) model: Option<PathBuf>,
    /// The variant of the controller that --model describes
    #[arg(long, value_name = "VARIANT", default_value = "original", requires = "model", value_parser = one_of([
        ("original", Variant::Original),
        ("enhanced", Variant::Enhanced),
    ]))]
    pub(super) model_variant: Variant,
    // This flag is only for the controllers that planimeter itself starts.
    #[arg(long, value_name = "PID", hide = true)]
    pub(super) parent: Option<u32>,
    /// Report on standard error each switch that connects or leaves, and counts and rates every 5 s
    #[arg(long, short)]
    pub(super) verbose: bool,
    #[command(flatten)]
    pub(super) openflow: OpenFlow,
    #[command(flatten)]
    pub(super) p4runtime: P4Runtime,
    #[command(flatten)]
    pub(super) tls: Tls,
}

/// The protocol between controller and switches that `--protocol` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    OpenFlow,
    P4Runtime,
}

/// The flags that apply only to OpenFlow controllers.
#[derive(Debug, Args)]
#[command(next_help_heading = "OpenFlow")]
pub(super) struct OpenFlow {
    /// The address to listen on; with port 0 the system chooses a port, which is printed
    #[arg(long, short, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:6653")]
    pub(super) listen: SocketAddr,
    /// Offer only this version [default: both]
    #[arg(long, value_name = "VERSION", value_parser = one_of([
        ("1.0", openflow::Version::V1_0),
        ("1.3", openflow::Version::V1_3),
    ]))]
    pub(super) openflow_version: Vec<openflow::Version>,
    /// The bytes that switches send of a packet that they buffer; 65535 for the whole packet
    #[arg(long, value_name = "BYTES", default_value = "128")]
    pub(super) miss_send_len: u16,
    /// With null: answer every packet-in with the same prepared bytes, without a packet or buffer
    /// id
    #[arg(long)]
    pub(super) prepared: bool,
    /// With paths: be the active controller, and serve its heartbeat at this address
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(super) beat: Option<SocketAddr>,
    /// With paths: stand by until the heartbeat at this address stops
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "beat")]
    pub(super) standby_of: Option<SocketAddr>,
    /// The interval of the heartbeat; a controller that is silent for three of them has failed
    #[arg(
        long,
        value_name = "MILLISECONDS",
        default_value = "100",
        value_parser = value_parser!(u64).range(1..=600_000)
    )]
    pub(super) beat_interval: u64,
}

/// The flags that apply only to P4Runtime controllers.
#[derive(Debug, Args)]
#[command(next_help_heading = "P4Runtime")]
pub(super) struct P4Runtime {
    /// A switch to dial; may be given several times
    #[arg(long, short, value_name = "ID@HOST:PORT")]
    pub(super) device: Vec<Target>,
    /// A file with a line ID HOST:PORT for each switch, as planimeter probe --list-file writes it
    #[arg(long, value_name = "FILE")]
    pub(super) devices: Option<PathBuf>,
    /// Dial --count switches at consecutive ports from this one, with ids from --first-device
    #[arg(long, value_name = "PORT", value_parser = value_parser!(u16).range(1..))]
    pub(super) first_port: Option<u16>,
    /// The number of switches to dial from --first-port
    #[arg(
        long,
        value_name = "NUMBER",
        default_value = "1",
        value_parser = value_parser!(u32).range(1..=65_535),
        requires = "first_port"
    )]
    pub(super) count: u32,
    /// The device id of the switch at --first-port
    #[arg(long, value_name = "ID", default_value = "1", requires = "first_port")]
    pub(super) first_device: u64,
    /// The host of the switches from --first-port
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1", requires = "first_port")]
    pub(super) host: String,
    /// The election id of this controller; switches make the controller with the highest one
    /// primary
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub(super) election_id: u128,
    /// Stand by until the primary controller has gone, and become the next primary
    #[arg(long, conflicts_with = "election_id")]
    pub(super) standby: bool,
    /// Flood packets to ports 1 to this one
    #[arg(
        long,
        value_name = "NUMBER",
        default_value = "48",
        value_parser = value_parser!(u16).range(1..=254)
    )]
    pub(super) flood_ports: u16,
    /// Collect packet-ins for this time, and answer them together
    #[arg(
        long,
        value_name = "MICROSECONDS",
        default_value = "0",
        value_parser = value_parser!(u32).range(..=1_000_000),
        long_help = "Collect packet-ins for this time, and answer them together. This takes less processor time, above \
                     all if switches share addresses, and delays each answer by up to this time."
    )]
    pub(super) gather: u32,
    /// Answer packet-ins after this block: grpc, decoding or application
    #[arg(
        long,
        value_name = "BLOCK",
        default_value = "application",
        long_help = "Answer packet-ins after this block of the controller: grpc (only the message is read), decoding \
                     (the metadata are decoded with the P4Info of the pipeline), or application. The first two answer \
                     with the payload of the packet-in and write no rules. planimeter probe --paths uses them to find \
                     the block that is the bottleneck."
    )]
    pub(super) answer_after: AnswerAfter,
    /// Read the P4Info of the pipeline again for every packet
    #[arg(
        long,
        long_help = "Read the P4Info of the pipeline again for every packet that is decoded, as ONOS 2.5.0 did. This is \
                     a bottleneck for planimeter probe --paths to find."
    )]
    pub(super) read_pipeline_per_packet: bool,
    /// Take this time for each packet-in, one after the other over all switches
    #[arg(
        long,
        value_name = "TIME",
        value_parser = service_time,
        long_help = "Take this time, such as 680us, for each packet-in. Packet-ins of all switches are answered one after \
                     the other in their order of arrival, and none is dropped, so that the limit of the controller is \
                     known. The controller sleeps for the time, so that its processor time stays low. With --onos the \
                     default is the time in the P4RCProbe paper: 680us with one switch (1471/s, Table I), 1.9ms with \
                     several (526/s, Fig. 5), and 2.525ms while more than a hundred packet-ins wait (396/s, Fig. 7)."
    )]
    pub(super) service_time: Option<ServiceTime>,
    /// The compiled form of programs/l2.p4, for switches such as BMv2
    #[arg(
        long,
        value_name = "FILE",
        long_help = "The output of a compiler for programs/l2.p4, for switches that need it, such as BMv2. Without this \
                     flag the controller pushes the source, which planimeter switch and the switches of planimeter probe \
                     --plan rfc8456 compile. Other emulated switches accept any device config."
    )]
    pub(super) device_config: Option<PathBuf>,
}

fn service_time(text: &str) -> Result<ServiceTime, String> {
    duration(text).map(ServiceTime::constant)
}

/// The flags that name the files with certificates and keys for TLS.
#[derive(Debug, Args)]
#[command(next_help_heading = "TLS, with PEM files")]
pub(super) struct Tls {
    /// The certificate of the controller and those of its issuers; enables TLS with OpenFlow
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(super) tls_certificate: Option<PathBuf>,
    /// The private key of the certificate
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub(super) tls_key: Option<PathBuf>,
    /// The authorities that issue switches' certificates; enables mutual TLS with OpenFlow, and TLS
    /// with P4Runtime
    #[arg(long, value_name = "FILE")]
    pub(super) tls_ca: Option<PathBuf>,
    /// The name in switches' certificates, if it is not the host; for P4Runtime
    #[arg(long, value_name = "NAME", requires = "tls_ca")]
    pub(super) tls_server_name: Option<String>,
}
