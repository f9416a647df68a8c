//! The demo's question about switches: how fast do packets travel through the control channel of
//! this switch, to the controller and back?

use std::time::Duration;

use ::device::export::{MessageService, Server};
use ::dut::live::Wire;
use ::dut::slow_path::{Crossing, Direction, Measured, Settings, Traffic, measure_through};
use ::dut::{Device, Protocol};
use packetio::{Port, memory};
use report::page::document::Section;
use softswitch::{
    DeviceConfig, Durability, GivenNumbers, Log, Options, Pushes, Segments, Switch, SwitchLimits,
    V1ModelSettings,
};

use super::controller::PACKET_BYTES;
use super::{Environment, Known, Part};
use crate::dut::slow_path as report_of;
use crate::dut::traffic::slow_path as traffic;
use crate::failure::Failure;

/// The file name and the source of the switch's program, which forwards by Ethernet addresses and
/// has packet-ins and packet-outs.
const PROGRAM: (&str, &str) = ("l2.p4", include_str!("../../../../programs/l2.p4"));
/// The port number that stands for the controller in the program.
const CPU_PORT: u32 = 255;
/// The number of packets for which a connection in memory has room in each direction.
const LINE: usize = 1 << 12;

pub(super) fn part(environment: &Environment<'_>, known: &mut Known) -> Result<Part, Failure> {
    let Started { switch, traffic, ports } = started()?;
    let device = Device { address: switch.address().to_string(), device_id: 0, tls: None };
    let settings = match environment.quick {
        true => Settings { rounds: 3, time: Duration::from_millis(200), window: 8, reactions: 5 },
        false => Settings { rounds: 5, time: Duration::from_secs(1), window: 8, reactions: 20 },
    };
    let measured = measure_through(&device, &traffic, ports, &settings, environment.interrupt)
        .map_err(Failure::run)?;
    let crossing = |direction: Direction| {
        let mut crossings = measured.crossings.iter();
        server(crossings.find(|crossing| crossing.direction == direction)?)
    };
    known.slow_path = crossing(Direction::PacketIn).zip(crossing(Direction::PacketOut));
    Ok(Part { findings: findings(&measured), notes: Vec::new(), section: section(&measured) })
}

/// A running switch, the packets that are sent through its slow path, and the far ends of the
/// in-memory connections to its ports.
struct Started {
    switch: Switch,
    traffic: Traffic,
    ports: Vec<(u32, Port)>,
}

/// Starts a switch with two ports in memory.
fn started() -> Result<Started, Failure> {
    let (name, source) = PROGRAM;
    let program = crate::program::embedded(name, source)?;
    let pipeline = p4lang::device_config::to_pipeline_config(&program).map_err(Failure::run)?;
    let wire = |number: u32| format!("{number}@memory{number}").parse().map(Wire);
    let wires: Result<Vec<Wire>, _> = [1, 2].into_iter().map(wire).collect();
    let place = traffic::Place { table: None, cpu_port: CPU_PORT };
    let traffic = traffic::make(program, wires.map_err(Failure::run)?, place)?;
    let lines = [1, 2].map(|number| (number, memory::line(&format!("memory{number}"), LINE)));
    let (far, near) =
        lines.map(|(number, [far, near])| ((number, far), (number, near))).into_iter().unzip();
    let device = DeviceConfig {
        id: 0,
        cpu_port: CPU_PORT,
        path: softswitch::Path::Compiled,
        v1model: V1ModelSettings::default(),
        pipeline: Some(pipeline),
        updates: Vec::new(),
        state: None,
        durability: Durability::default(),
        queues: queues::Configuration::default(),
        check_references: false,
        takes_injections: false,
        ports: near,
    };
    let options = Options {
        address: ([127, 0, 0, 1], 0).into(),
        tls: None,
        workers: 1,
        metrics: None,
        thrift: None,
        limits: SwitchLimits::default(),
        log: Log::off(),
        segments: Segments::default(),
        pushes: Pushes::default(),
        numbers: GivenNumbers::new(),
    };
    let switch = Switch::start(options, vec![device]).map_err(Failure::run)?;
    Ok(Started { switch, traffic, ports: far })
}

/// Returns a server for network calculus that stands for one direction of the slow path. It has the
/// highest load at which no packet was lost, and the longest delay at that load. Returns `None` if
/// packets were lost at every load.
fn server(crossing: &Crossing) -> Option<Server> {
    let without_loss =
        crossing.loads.iter().filter(|load| load.counts.lost == 0 && load.updates.is_none());
    let loads = without_loss.filter_map(|load| {
        let longest = load.delays.iter().filter_map(|round| round.last()).max()?;
        Some((load.rate, u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX)))
    });
    let kind = match crossing.direction {
        Direction::PacketIn => "packet-ins",
        Direction::PacketOut => "packet-outs",
    };
    let service = MessageService::at_highest(loads, PACKET_BYTES, kind)?;
    let what = format!(
        "The slow path of a switch on ports in memory, {kind} of {} B, of which ones of {PACKET_BYTES} B take no longer.",
        crossing.length
    );
    Some(Server::of_messages(crossing.direction.name(), &service, &what))
}

fn findings(measured: &Measured) -> Vec<String> {
    report_of::findings(measured).into_iter().map(|text| format!("Switch: {text}")).collect()
}

fn section(measured: &Measured) -> Section {
    let mut section = report_of::section(measured, &Protocol::P4Runtime { version: None });
    section.id = "switch".to_owned();
    section.title = "How fast is the slow path of this switch?".to_owned();
    section.text.insert(
        0,
        format!(
            "A switch of this program runs {} as machine code on ports in memory. Packets without an entry go to its \
             controller over P4Runtime; the controller sends packets back, and writes entries.",
            PROGRAM.0
        ),
    );
    section.commands = vec![
        (
            "Your P4Runtime switch, as root, with interfaces that are connected to its ports 1 and 2:".to_owned(),
            "planimeter dut 127.0.0.1:9559 --plan slow-path --program programs/l2.p4 --port 1@veth1 --port 2@veth3".to_owned(),
        ),
        (
            "Your OpenFlow switch, which connects to this address:".to_owned(),
            "planimeter dut --openflow 127.0.0.1:6653 --plan slow-path --port 1@veth1 --port 2@veth3".to_owned(),
        ),
    ];
    section
}
