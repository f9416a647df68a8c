//! Generates the packets and entries with which `planimeter dut` measures the slow path of a
//! P4Runtime switch, from the program of the switch.
//!
//! The reference interpreter processes packets to find out three things: which packets reach the
//! controller, which entry then makes the switch forward them, and with which metadata a packet
//! from the controller leaves by a port.

mod search;

use ::dut::live::Wire;
use ::dut::slow_path::{Packets, ReactiveFlow, Route, Traffic};
use ir::Program;
use p4runtime::packet_io::{ByteString, PacketInLayout, PacketOutLayout};
use p4runtime::proto::v1;
use pipeline::{EntryAction, TableEntry};
use throughput::traffic::Wanted;

use self::search::{Arriving, Search};
use super::{PACKET_SIZE, Trial, ingress, workload};
use crate::failure::Failure;

/// The number of flows whose packets are tried.
const FLOWS: usize = 32;

/// The table whose entries forward packets, and the port that leads to the controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// The name of the table, or `None` for the table whose entries forward the most flows.
    pub(crate) table: Option<&'a str>,
    /// The port through which packets go to the controller and come from it.
    pub(crate) cpu_port: u32,
}

/// Generates packets and entries for a program. The result names the parts of the test for which
/// the program yields none.
pub(crate) fn make(
    program: Program,
    wires: Vec<Wire>,
    place: Place<'_>,
) -> Result<Traffic, Failure> {
    let config = p4lang::device_config::to_pipeline_config(&program).map_err(Failure::input)?;
    let p4info = config.p4info.unwrap_or_default();
    let schema = p4runtime::p4info::Schema::new(p4info.clone()).map_err(Failure::input)?;
    let wanted = Wanted { flows: FLOWS, packet_size: PACKET_SIZE, seed: crate::environment::SEED };
    let made = ir::with_large_stack(|| workload(program, wanted, place.table));
    let workload = made.map_err(Failure::run)?.map_err(Failure::input)?;
    let trial = Trial { workload: &workload, schema: schema.objects(), wires: &wires };
    let packet_in = PacketInLayout::from_schema(&schema, ByteString::Canonical);
    let packet_out = PacketOutLayout::from_schema(&schema, ByteString::Canonical);
    let (cpu_port, packet_in) = (place.cpu_port, packet_in.as_ref());
    let search = Search { trial: &trial, cpu_port, packet_in };
    let mut lacks = Vec::new();
    let arriving = to_controller(&search, place.table, &mut lacks);
    let leaving = from_controller(&search, packet_out.as_ref(), &arriving, &mut lacks);
    let (from_controller, metadata) = leaving.unzip();
    let Some(Messages { beside, default_entry, flows }) = search.messages(&arriving) else {
        return Err(Failure::input(
            "packets of this program need entries whose actions are in an action profile; leave slow-path out of --plan",
        ));
    };
    Ok(Traffic {
        beside,
        default_entry,
        packets: Packets { to_controller: arriving.route, from_controller, flows },
        metadata: metadata.unwrap_or_default(),
        lacks,
        p4info,
        wires,
    })
}

/// Returns the packets that reach the controller. Adds a sentence to `lacks` for each part of the
/// test that is not possible.
fn to_controller(search: &Search<'_>, table: Option<&str>, lacks: &mut Vec<String>) -> Arriving {
    if search.packet_in.is_none() {
        lacks.push(
            "The program has no header packet_in, so packets to the controller were not measured."
                .to_owned(),
        );
        return Arriving::default();
    }
    if let Err(unconnected) = ingress(search.trial.workload, search.trial.wires) {
        lacks.push(format!("{unconnected}, so packets to the controller were not measured."));
        return Arriving::default();
    }
    let Some(arriving) = search.arriving(table) else {
        lacks.push(format!(
            "No packet of the program reaches the controller by port {}, neither by a default action nor by an entry, so packets \
             to the controller were not measured.",
            search.cpu_port
        ));
        return Arriving::default();
    };
    if arriving.flows.is_empty() {
        lacks.push(
            "No entry forwards packets that reach the controller without it, so the reaction was not measured."
                .to_owned(),
        );
    }
    arriving
}

/// Returns a packet from the controller that leaves by a port, with its metadata. If there is none,
/// adds the reason to `lacks`.
fn from_controller(
    search: &Search<'_>,
    layout: Option<&PacketOutLayout>,
    arriving: &Arriving,
    lacks: &mut Vec<String>,
) -> Option<(Route, Vec<v1::PacketMetadata>)> {
    let Some(layout) = layout else {
        lacks.push(
            "The program has no header packet_out, so packets of the controller were not measured."
                .to_owned(),
        );
        return None;
    };
    let leaving = search.leaving(layout, &arriving.state);
    if leaving.is_none() {
        lacks.push(
            "No metadata makes a packet of the controller leave by a port of --port, so packets of the controller were not \
             measured."
                .to_owned(),
        );
    }
    leaving
}

/// The entries and the default action that the test needs, as messages of P4Runtime.
struct Messages {
    beside: Vec<v1::TableEntry>,
    default_entry: Option<v1::TableEntry>,
    flows: Vec<ReactiveFlow<v1::TableEntry>>,
}

impl Search<'_> {
    /// Converts the entries of the packets that were found to messages of P4Runtime. Returns `None`
    /// if an entry has its action in an action profile.
    fn messages(&self, arriving: &Arriving) -> Option<Messages> {
        let entries = arriving.state.entries.iter();
        let beside = entries.map(|(table, entry)| self.trial.message(*table, entry));
        let default_entry = match &arriving.state.default {
            Some((table, call)) => {
                let action = EntryAction::Action(call.clone());
                let entry =
                    TableEntry { matches: Vec::new(), priority: 0, action, idle_timeout: None };
                let message = self.trial.message(*table, &entry)?;
                Some(v1::TableEntry { is_default_action: true, ..message })
            }
            None => None,
        };
        let flows = arriving.flows.iter().map(|flow| {
            let message = |entry| self.trial.message(arriving.table?, entry);
            let before = match &flow.before {
                Some(before) => Some(message(before)?),
                None => None,
            };
            let entry = message(&flow.entry)?;
            let port = self.trial.workload.port();
            let (packet, egress) = (flow.packet.clone(), flow.egress);
            Some(ReactiveFlow { port, packet, before, entry, egress })
        });
        let (beside, flows) = (beside.collect::<Option<_>>()?, flows.collect::<Option<_>>()?);
        Some(Messages { beside, default_entry, flows })
    }
}

#[cfg(test)]
mod tests;
