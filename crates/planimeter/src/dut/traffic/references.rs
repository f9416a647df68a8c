//! Orders entries for switches that check references between entries (`@refers_to`).
//!
//! Such a switch refuses an entry that refers to a missing one. Entries must therefore be written
//! in the order of their references, and entries whose target does not exist must be left out. Both
//! are found by trial, with the check of `planimeter switch --check-references`.

use ::dut::Operation;
use ::dut::live::{Flow, Traffic};
use ir::Program;
use p4runtime::p4info::Schema;
use p4runtime::proto::config::P4Info;
use p4runtime::proto::v1;

use super::own::Plane;
use super::shape;
use crate::failure::Failure;

/// Orders the entries outside the table under test so that a switch which checks references accepts
/// them, and removes the flows that need an entry which the switch would refuse. If no flow would
/// remain, the traffic is returned unchanged with a remark. Packets enter at `port`.
///
/// # Errors
/// Returns an error if references form a cycle.
pub(super) fn ordered(
    program: &Program,
    mut traffic: Traffic,
    port: u32,
) -> Result<Traffic, Failure> {
    if !has_references(&traffic.p4info) {
        return Ok(traffic);
    }
    let given = traffic.clone();
    let schema = Schema::new(traffic.p4info.clone()).map_err(Failure::input)?;
    let wires = traffic.wires.clone();
    let mut plane = Plane::new(program.clone(), &schema, &wires, port)?;
    plane.check_references().map_err(Failure::input)?;
    let mut pending = std::mem::take(&mut traffic.beside);
    let mut why = String::new();
    loop {
        let before = pending.len();
        let mut refused = Vec::new();
        for entry in pending {
            match plane.write(Operation::Insert, &entry) {
                Ok(()) => traffic.beside.push(entry),
                Err(reason) => {
                    why = reason;
                    refused.push(entry);
                }
            }
        }
        pending = refused;
        if pending.is_empty() || pending.len() == before {
            break;
        }
    }
    for flow in std::mem::take(&mut traffic.flows) {
        match accepted(&mut plane, flow) {
            Ok(Some(flow)) => {
                if traffic.flows.first().is_none_or(|first| shape(first) == shape(&flow)) {
                    traffic.flows.push(flow);
                }
            }
            Ok(None) => {}
            Err(reason) => why = reason,
        }
    }
    if traffic.flows.is_empty() {
        let mut traffic = given;
        traffic.notes.push(format!(
            "Packets need entries that refer to those of table {}, so a switch that checks references refuses them: {why}.",
            traffic.table
        ));
        return Ok(traffic);
    }
    if !pending.is_empty() {
        traffic.notes.push(format!(
            "Of the entries of other tables {} were left out, which a switch refuses that checks references: {why}.",
            pending.len()
        ));
    }
    Ok(traffic)
}

/// Checks that the packet of a flow has the same outcome as before once the flow's entry is
/// written, and returns the flow. If the program refuses the modification of the entry, the flow is
/// returned without it. Returns `None` if the outcome differs, and an error, with the reason, if
/// the entry is refused.
fn accepted(
    plane: &mut Plane<'_>,
    mut flow: Flow<v1::TableEntry>,
) -> Result<Option<Flow<v1::TableEntry>>, String> {
    plane.write(Operation::Insert, &flow.first)?;
    let inserted = plane.outcome(&flow.packet);
    let modified = flow.second.as_ref().map(|second| plane.write(Operation::Modify, second));
    if modified.is_some_and(|modified| modified.is_err()) {
        flow.second = None;
        flow.modified = flow.inserted.clone();
    }
    plane.write(Operation::Delete, &flow.first)?;
    Ok((inserted.as_ref() == Some(&flow.inserted)).then_some(flow))
}

/// Returns whether any keys or parameters of a program refer to entries.
fn has_references(p4info: &P4Info) -> bool {
    let fields = p4info.tables.iter().flat_map(|table| &table.match_fields);
    let params = p4info.actions.iter().flat_map(|action| &action.params);
    let annotations = fields.flat_map(|field| &field.annotations);
    let mut annotations = annotations.chain(params.flat_map(|param| &param.annotations));
    annotations.any(|annotation| annotation.starts_with("@refers_to"))
}
