//! PSA_Switch (Portable Switch Architecture, version 1.2, section 6): ingress parser, ingress,
//! ingress deparser, packet replication, egress parser, egress, egress deparser, output.
//!
//! PSA leaves open what user-defined metadata hold at first. As in BMv2's psa_switch
//! (`targets/psa_switch/psa_switch.cpp`), those of egress are what ingress left if both have one type
//! and the packet comes unicast or multicast, and zero otherwise.

use super::{
    Bound, Output, PSA_PORT_RECIRCULATE, PassBudget, bound_control, bound_parser, drop_packet,
    microseconds, output,
};
use crate::error::{LoadError, RunError};
use crate::layout::Layout;
use crate::machine::Machine;
use crate::trace::Event;
use crate::value::Value;
use p4lang::ir::{ControlId, Package, PackageValue, ParserId, Program, TypeId};
use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    ingress: Pipeline,
    egress: Pipeline,
}

#[derive(Clone, Debug)]
struct Pipeline {
    parser: Bound<ParserId>,
    control: Bound<ControlId>,
    deparser: Bound<ControlId>,
}

enum Pass {
    Ingress(Ingress),
    Egress(Egress),
}

struct Ingress {
    packet: Vec<u8>,
    port: u32,
    path: &'static str,
    resubmitted: Value,
    recirculated: Value,
    generation: u32,
}

struct Egress {
    packet: Vec<u8>,
    port: u32,
    path: &'static str,
    instance: u16,
    class_of_service: u128,
    /// User-defined metadata at first.
    metadata: Value,
    normal: Value,
    cloned_at_ingress: Value,
    cloned_at_egress: Value,
    generation: u32,
}

impl Blocks {
    pub(super) fn new(layout: &Layout) -> Result<Self, LoadError> {
        let program = &layout.program;
        let mut pipelines =
            program.main.arguments.iter().filter_map(|argument| match &argument.value {
                PackageValue::Package(package) => Some(package),
                _ => None,
            });
        let missing = |block| LoadError::MissingBlock { package: program.main.name.clone(), block };
        let ingress = pipelines.next().ok_or_else(|| missing("ingress"))?;
        let egress = pipelines.next().ok_or_else(|| missing("egress"))?;
        Ok(Self {
            ingress: Pipeline::new(program, ingress, [5, 4, 6])?,
            egress: Pipeline::new(program, egress, [6, 4, 6])?,
        })
    }

    pub(super) fn process(
        &self,
        machine: &mut Machine<'_>,
        port: u32,
        packet: &[u8],
    ) -> Result<Vec<Output>, RunError> {
        let parser = &self.ingress.parser.types;
        let first = Ingress {
            packet: packet.to_vec(),
            port,
            path: "NORMAL",
            resubmitted: initial(machine, parser, 3)?,
            recirculated: initial(machine, parser, 4)?,
            generation: 0,
        };
        let mut queue = VecDeque::from([Pass::Ingress(first)]);
        let mut outputs = Vec::new();
        let mut budget = PassBudget::default();
        while let Some(pass) = queue.pop_front() {
            match pass {
                Pass::Ingress(pass) => {
                    budget.take(pass.generation)?;
                    self.ingress(machine, pass, &mut queue)?;
                }
                Pass::Egress(pass) => {
                    budget.take(pass.generation)?;
                    self.egress(machine, pass, &mut queue, &mut outputs)?;
                }
            }
        }
        Ok(outputs)
    }

    fn ingress(
        &self,
        machine: &mut Machine<'_>,
        pass: Ingress,
        queue: &mut VecDeque<Pass>,
    ) -> Result<(), RunError> {
        let Ingress { packet, port, path, resubmitted, recirculated, generation } = pass;
        let length = packet.len();
        machine.event(|_| Event::Pass { pipeline: "ingress", port, length, path });
        machine.begin_pass(length as u64)?;
        let Pipeline { parser, control, deparser } = &self.ingress;
        let layout = machine.layout;
        let forgets_port = machine.state.follows_psa_switch && path == "RESUBMIT";
        let path = path_number(layout, path);

        // psa_switch forgets the port; see `Switch::follow_psa_switch`.
        let shown_port = if forgets_port { 0 } else { u128::from(port) };
        let mut input = Fields::new(machine, &parser.types, 2)?;
        input.set("ingress_port", shown_port).set("packet_path", path);
        let headers = initial(machine, &parser.types, 0)?;
        let metadata = initial(machine, &parser.types, 1)?;
        machine.load_packet(packet.clone());
        let mut arguments = [headers, metadata, input.value, resubmitted, recirculated];
        let outcome = machine.run_parser(parser.id, &mut arguments)?;
        let [headers, metadata, ..] = arguments;

        let mut input = Fields::new(machine, &control.types, 2)?;
        input
            .set("ingress_port", shown_port)
            .set("packet_path", path)
            .set("ingress_timestamp", microseconds(machine))
            .set("parser_error", u128::from(outcome.error));
        let mut output = Fields::new(machine, &control.types, 3)?;
        output.set("drop", 1);
        let type_id = output.type_id;
        let mut arguments = [headers, metadata, input.value, output.value];
        machine.run_control(control.id, &mut arguments)?;
        let [headers, metadata, _, decisions] = arguments;
        let number = |field: &str| number(layout, &decisions, type_id, field);
        let (dropped, resubmit) = (number("drop") != 0, number("resubmit") != 0);
        let (clone, session) = (number("clone") != 0, number("clone_session_id") as u32);
        let class_of_service = number("class_of_service");
        let (group, destination) = (number("multicast_group"), number("egress_port"));

        let same_type = control.types.get(1) == self.egress.parser.types.get(1);
        let kept = same_type.then(|| metadata.clone());
        let mut arguments = [
            initial(machine, &deparser.types, 0)?,
            initial(machine, &deparser.types, 1)?,
            initial(machine, &deparser.types, 2)?,
            headers,
            metadata,
            decisions,
        ];
        machine.run_control(deparser.id, &mut arguments)?;
        let [cloned_meta, resubmit_meta, normal_meta, ..] = arguments;
        let mut modified = machine.take_emitted();
        modified.extend_from_slice(machine.payload());

        if clone && let Some(config) = machine.state.clone_sessions.get(&session).cloned() {
            machine.event(|_| Event::Copy { kind: "clone from ingress to egress" });
            let mut copy = packet.clone();
            copy.truncate(most(config.packet_length));
            for replica in replicas(machine, &config) {
                let mut pass = self.egress_pass(machine, copy.clone(), "CLONE_I2E", generation)?;
                pass.port = replica.port;
                pass.instance = replica.instance;
                pass.class_of_service = u128::from(config.class_of_service);
                pass.cloned_at_ingress.clone_from(&cloned_meta);
                pass.generation += 1;
                queue.push_back(Pass::Egress(pass));
            }
        }
        if dropped {
            drop_packet(machine, "at the end of ingress");
        } else if resubmit {
            machine.event(|_| Event::Copy { kind: "resubmit" });
            let recirculated = initial(machine, &parser.types, 4)?;
            queue.push_back(Pass::Ingress(Ingress {
                packet,
                port,
                path: "RESUBMIT",
                resubmitted: resubmit_meta,
                recirculated,
                generation: generation + 1,
            }));
        } else if group != 0 {
            let replicas = machine.state.replicas(group as u32).to_vec();
            if replicas.is_empty() {
                drop_packet(machine, "the multicast group has no members");
            }
            for replica in replicas {
                let path = "NORMAL_MULTICAST";
                let mut pass = self.egress_pass(machine, modified.clone(), path, generation)?;
                pass.port = replica.port;
                pass.instance = replica.instance;
                pass.class_of_service = class_of_service;
                pass.normal.clone_from(&normal_meta);
                if let Some(kept) = &kept {
                    pass.metadata.clone_from(kept);
                }
                queue.push_back(Pass::Egress(pass));
            }
        } else {
            let mut pass = self.egress_pass(machine, modified, "NORMAL_UNICAST", generation)?;
            pass.port = destination as u32;
            pass.class_of_service = class_of_service;
            pass.normal = normal_meta;
            if let Some(kept) = kept {
                pass.metadata = kept;
            }
            queue.push_back(Pass::Egress(pass));
        }
        Ok(())
    }

    fn egress_pass(
        &self,
        machine: &Machine<'_>,
        packet: Vec<u8>,
        path: &'static str,
        generation: u32,
    ) -> Result<Egress, RunError> {
        let types = &self.egress.parser.types;
        Ok(Egress {
            packet,
            port: 0,
            path,
            instance: 0,
            class_of_service: 0,
            metadata: initial(machine, types, 1)?,
            normal: initial(machine, types, 3)?,
            cloned_at_ingress: initial(machine, types, 4)?,
            cloned_at_egress: initial(machine, types, 5)?,
            generation,
        })
    }

    fn egress(
        &self,
        machine: &mut Machine<'_>,
        pass: Egress,
        queue: &mut VecDeque<Pass>,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let Egress { packet, port, path, generation, .. } = pass;
        let length = packet.len();
        machine.event(|_| Event::Pass { pipeline: "egress", port, length, path });
        machine.begin_pass(length as u64)?;
        let Pipeline { parser, control, deparser } = &self.egress;
        let layout = machine.layout;
        let path = path_number(layout, path);

        let mut input = Fields::new(machine, &parser.types, 2)?;
        input.set("egress_port", u128::from(port)).set("packet_path", path);
        let headers = initial(machine, &parser.types, 0)?;
        let metadata = pass.metadata;
        machine.load_packet(packet);
        let (normal, at_ingress) = (pass.normal, pass.cloned_at_ingress);
        let mut arguments =
            [headers, metadata, input.value, normal, at_ingress, pass.cloned_at_egress];
        let outcome = machine.run_parser(parser.id, &mut arguments)?;
        let [headers, metadata, ..] = arguments;

        let mut input = Fields::new(machine, &control.types, 2)?;
        input
            .set("class_of_service", pass.class_of_service)
            .set("egress_port", u128::from(port))
            .set("packet_path", path)
            .set("instance", u128::from(pass.instance))
            .set("egress_timestamp", microseconds(machine))
            .set("parser_error", u128::from(outcome.error));
        let decisions = Fields::new(machine, &control.types, 3)?;
        let type_id = decisions.type_id;
        let mut arguments = [headers, metadata, input.value, decisions.value];
        machine.run_control(control.id, &mut arguments)?;
        let [headers, metadata, _, decisions] = arguments;
        let number = |field: &str| number(layout, &decisions, type_id, field);
        let (dropped, clone) = (number("drop") != 0, number("clone") != 0);
        let session = number("clone_session_id") as u32;

        let mut input = Fields::new(machine, &deparser.types, 5)?;
        input.set("egress_port", u128::from(port));
        let mut arguments = [
            initial(machine, &deparser.types, 0)?,
            initial(machine, &deparser.types, 1)?,
            headers,
            metadata,
            decisions,
            input.value,
        ];
        machine.run_control(deparser.id, &mut arguments)?;
        let [cloned_meta, recirculated_meta, ..] = arguments;
        let mut modified = machine.take_emitted();
        modified.extend_from_slice(machine.payload());

        if clone && let Some(config) = machine.state.clone_sessions.get(&session).cloned() {
            machine.event(|_| Event::Copy { kind: "clone from egress to egress" });
            let mut copy = modified.clone();
            copy.truncate(most(config.packet_length));
            for replica in replicas(machine, &config) {
                let mut pass = self.egress_pass(machine, copy.clone(), "CLONE_E2E", generation)?;
                pass.port = replica.port;
                pass.instance = replica.instance;
                pass.class_of_service = u128::from(config.class_of_service);
                pass.cloned_at_egress.clone_from(&cloned_meta);
                pass.generation += 1;
                queue.push_back(Pass::Egress(pass));
            }
        }
        if dropped {
            drop_packet(machine, "at the end of egress");
        } else if u64::from(port) == PSA_PORT_RECIRCULATE {
            machine.event(|_| Event::Copy { kind: "recirculate" });
            let resubmitted = initial(machine, &self.ingress.parser.types, 3)?;
            queue.push_back(Pass::Ingress(Ingress {
                packet: modified,
                port,
                path: "RECIRCULATE",
                resubmitted,
                recirculated: recirculated_meta,
                generation: generation + 1,
            }));
        } else {
            output(machine, outputs, port, modified, generation);
        }
        Ok(())
    }
}

impl Pipeline {
    fn new(
        program: &Program,
        package: &Package,
        parameters: [usize; 3],
    ) -> Result<Self, LoadError> {
        let [parser, control, deparser] = parameters;
        Ok(Self {
            parser: bound_parser(program, package, 0, "parser", parser)?,
            control: bound_control(program, package, 1, "control", control)?,
            deparser: bound_control(program, package, 2, "deparser", deparser)?,
        })
    }
}

/// A metadata struct that is filled field by field.
struct Fields<'l> {
    layout: &'l Layout,
    type_id: TypeId,
    value: Value,
}

impl<'l> Fields<'l> {
    fn new(machine: &Machine<'l>, types: &[TypeId], position: usize) -> Result<Self, RunError> {
        let type_id = *types.get(position).ok_or(RunError::Malformed("parameters of a block"))?;
        Ok(Self { layout: machine.layout, type_id, value: machine.initial(type_id)? })
    }

    fn set(&mut self, field: &str, number: u128) -> &mut Self {
        self.layout.set_field(&mut self.value, self.type_id, field, number);
        self
    }
}

fn initial(machine: &Machine<'_>, types: &[TypeId], position: usize) -> Result<Value, RunError> {
    machine.initial(*types.get(position).ok_or(RunError::Malformed("parameters of a block"))?)
}

fn number(layout: &Layout, value: &Value, type_id: TypeId, field: &str) -> u128 {
    let field = layout.field(value, type_id, field).and_then(Value::to_pattern);
    field.and_then(|bits| bits.to_u128()).unwrap_or(0)
}

fn path_number(layout: &Layout, path: &str) -> u128 {
    u128::from(layout.enum_position("PSA_PacketPath_t", path).unwrap_or(0))
}

fn most(packet_length: Option<u64>) -> usize {
    packet_length.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX)
}

fn replicas(
    machine: &Machine<'_>,
    session: &crate::state::CloneSession,
) -> Vec<crate::state::Replica> {
    let group = session.multicast_group.map_or(&[][..], |group| machine.state.replicas(group));
    session.replicas.iter().chain(group).copied().collect()
}
