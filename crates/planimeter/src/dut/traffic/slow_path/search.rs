//! Searches for packets that take the slow path, by processing candidates on the reference
//! interpreter.

use std::time::Duration;

use ::dut::slow_path::Route;
use ir::TableId;
use ir::bits::Bits;
use p4runtime::packet_io::{ByteString, PacketInLayout, PacketOutLayout};
use p4runtime::proto::v1;
use pipeline::{ActionCall, EntryAction, Switch, TableEntry};

use super::super::{Entering, Leaving, TAG, Trial};

/// The number of PSA's CPU port, `PSA_PORT_CPU`, through which packets of any PSA program go to the
/// controller.
const PSA_PORT_CPU: u32 = 0xffff_fffd;

/// The entries of a switch, and a default action of one of its tables.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) entries: Vec<(TableId, TableEntry)>,
    pub(super) default: Option<(TableId, ActionCall)>,
}

impl State {
    fn with(&self, table: TableId, entry: &TableEntry) -> Self {
        let mut state = self.clone();
        state.entries.push((table, entry.clone()));
        state
    }
}

/// Packets that reach the controller.
#[derive(Debug, Default)]
pub(super) struct Arriving {
    /// The entries and the default action with which the packets reach the controller.
    pub(super) state: State,
    pub(super) route: Option<Route>,
    pub(super) table: Option<TableId>,
    pub(super) flows: Vec<Forwarded>,
}

/// A flow whose packets reach the controller until an entry for the flow is written. Then the
/// switch forwards them.
#[derive(Debug)]
pub(super) struct Forwarded {
    pub(super) packet: Vec<u8>,
    pub(super) before: Option<TableEntry>,
    pub(super) entry: TableEntry,
    pub(super) egress: u32,
}

/// A search for packets that take the slow path.
pub(super) struct Search<'a> {
    pub(super) trial: &'a Trial<'a>,
    pub(super) cpu_port: u32,
    pub(super) packet_in: Option<&'a PacketInLayout>,
}

impl Search<'_> {
    /// Returns packets that reach the controller. Prefers packets that the switch forwards once it
    /// has an entry for them, and packets that need as few changes of the switch as possible: none,
    /// another default action of a table, or entries. Returns `None` if no packet reaches the
    /// controller.
    pub(super) fn arriving(&self, table: Option<&str>) -> Option<Arriving> {
        let tables = self.trial.workload.program().tables.iter().enumerate();
        let names = self.trial.workload.entries_by_table();
        let tables = tables.filter(|(_, one)| {
            names.contains_key(one.name.as_str())
                && table
                    .is_none_or(|name| one.name == name || one.name.ends_with(&format!(".{name}")))
        });
        let tables: Vec<TableId> = tables.map(|(number, _)| TableId(number as u32)).collect();
        let by_default = self.defaults();
        let best = |found: &mut dyn Iterator<Item = Arriving>| {
            let found = found.filter(|one| !one.flows.is_empty());
            // The first of several equal ones changes the least.
            found.reduce(|best, one| if one.flows.len() > best.flows.len() { one } else { best })
        };
        let forwarded = best(&mut tables.iter().flat_map(|table| {
            by_default.iter().map(|default| self.without_entry(*table, default.clone()))
        }));
        let forwarded =
            forwarded.or_else(|| best(&mut tables.iter().map(|table| self.with_entry(*table))));
        forwarded.or_else(|| {
            let all: Vec<(TableId, TableEntry)> = self.entries().collect();
            let states = by_default.iter().flat_map(|default| {
                [Vec::new(), all.clone()].map(|entries| State { entries, default: default.clone() })
            });
            let mut found = states.filter_map(|state| {
                let switch = self.switch(&state)?;
                let packet =
                    self.packets().find(|packet| self.is_to_controller(&switch, packet))?;
                let route = Some(self.route(packet));
                Some(Arriving { state, route, ..Arriving::default() })
            });
            found.next()
        })
    }

    /// Finds packets that reach the controller because a table has no entry for them. The switch
    /// has all entries of the other tables and, optionally, another default action. The result has
    /// no flows if no packet reaches the controller.
    fn without_entry(&self, table: TableId, default: Option<(TableId, ActionCall)>) -> Arriving {
        let state = State { default, ..self.beside(table) };
        let nothing = Arriving::default();
        let Some(bare) = self.switch(&state) else { return nothing };
        let arriving: Vec<&[u8]> =
            self.packets().filter(|packet| self.is_to_controller(&bare, packet)).collect();
        let Some(first) = arriving.first() else { return nothing };
        let own = self.entries().filter(|(of, _)| *of == table);
        let flows = own.filter_map(|(_, entry)| {
            let switch = self.switch(&state.with(table, &entry))?;
            let mut left = arriving
                .iter()
                .filter_map(|packet| Some((packet.to_vec(), self.left(&switch, packet)?)));
            let (packet, egress) = left.next()?;
            Some(Forwarded { packet, before: None, entry, egress })
        });
        let flows = flows.collect();
        Arriving { route: Some(self.route(first)), table: Some(table), state, flows }
    }

    /// Finds packets that reach the controller by an entry of a table, and are forwarded once that
    /// entry has its own action. The entry of one further flow stays in the switch.
    fn with_entry(&self, table: TableId) -> Arriving {
        let mut state = self.beside(table);
        let calls = self.calls(table, "defaultonly");
        let own = self.entries().filter(|(of, _)| *of == table);
        let flows = own.filter_map(|(_, entry)| {
            let forwarding = self.switch(&state.with(table, &entry))?;
            let mut found = calls.iter().filter_map(|call| {
                let action = EntryAction::Action(call.clone());
                let before = TableEntry { action, ..entry.clone() };
                let switch = self.switch(&state.with(table, &before))?;
                let mut packets = self.packets().filter_map(|packet| {
                    let egress = self.left(&forwarding, packet)?;
                    self.is_to_controller(&switch, packet).then(|| (packet.to_vec(), egress))
                });
                let (packet, egress) = packets.next()?;
                Some(Forwarded { packet, before: Some(before), entry: entry.clone(), egress })
            });
            found.next()
        });
        let mut flows: Vec<Forwarded> = flows.collect();
        let Some(Forwarded { packet, before: Some(before), .. }) = flows.pop() else {
            return Arriving::default();
        };
        state.entries.push((table, before));
        Arriving { route: Some(self.route(&packet)), table: Some(table), state, flows }
    }

    /// Returns a packet from the controller that leaves by a port, with its metadata. Each metadata
    /// field that is wide enough is tried as the number of the port, alone and with one other field
    /// set to one.
    pub(super) fn leaving(
        &self,
        layout: &PacketOutLayout,
        state: &State,
    ) -> Option<(Route, Vec<v1::PacketMetadata>)> {
        let switch = self.switch(state)?;
        let payload = self.trial.workload.packets().get(0)?;
        let ingress = self.trial.workload.port();
        let numbers = || self.trial.wires.iter().map(|wire| wire.0.number);
        let ports = numbers().filter(|port| *port != ingress).chain(numbers());
        let ports: Vec<u32> = ports.collect();
        let metadata = |port: u32, place: usize, flag: Option<usize>| {
            let fields = layout.fields().iter().enumerate().map(|(at, field)| {
                let number = match at {
                    _ if at == place => port,
                    _ if Some(at) == flag => 1,
                    _ => 0,
                };
                let fits = field.bits().is_none_or(|bits| bits >= 32 - number.leading_zeros());
                let value = field.value(number, ByteString::Canonical);
                fits.then(|| v1::PacketMetadata { metadata_id: field.id(), value })
            });
            fields.collect::<Option<Vec<_>>>()
        };
        let places = 0..layout.fields().len();
        // The fields without a flag come first.
        let flags = || std::iter::once(None).chain(places.clone().map(Some));
        let choices = flags().flat_map(|flag| places.clone().map(move |place| (place, flag)));
        let choices: Vec<(usize, Option<usize>)> =
            choices.filter(|(place, flag)| Some(*place) != *flag).collect();
        ports.iter().find_map(|port| {
            choices.iter().find_map(|(place, flag)| {
                let metadata = metadata(*port, *place, *flag)?;
                let mut framed = layout.header(&metadata, None)?;
                framed.extend_from_slice(payload);
                let left = self
                    .trial
                    .leaving(&switch, Entering { port: self.cpu_port, packet: &framed })?;
                let route = Route { port: *port, packet: payload.to_vec() };
                let leaves =
                    matches!(left, Leaving::By { port: by, packet: Some(_) } if by == *port);
                leaves.then_some((route, metadata))
            })
        })
    }

    /// Returns the default actions to try: none, and then each that may send packets to the
    /// controller.
    fn defaults(&self) -> Vec<Option<(TableId, ActionCall)>> {
        let tables = self.trial.workload.program().tables.iter().enumerate();
        let open = tables
            .filter(|(_, table)| !table.default_action_is_const && table.implementation.is_none());
        let changed = open.flat_map(|(number, _)| {
            let table = TableId(number as u32);
            self.calls(table, "tableonly").into_iter().map(move |call| Some((table, call)))
        });
        std::iter::once(None).chain(changed).collect()
    }

    /// Returns calls of the actions of a table, except those with the annotation `excluded`. For
    /// each parameter of an action, there is a call in which this parameter is the port of the
    /// controller, and the others are zero.
    fn calls(&self, table: TableId, excluded: &str) -> Vec<ActionCall> {
        let program = self.trial.workload.program();
        let Some(table) = program.tables.get(table.index()) else { return Vec::new() };
        let Some(switch) = self.switch(&State::default()) else { return Vec::new() };
        let actions = table.actions.iter().filter(|one| !one.has_annotation(excluded));
        let calls = actions.flat_map(|one| {
            let declared = program.actions.get(one.action.index());
            let count = declared.map_or(0, |action| action.control_plane_parameters().count());
            let arguments = |place: usize| {
                let value = |at| if at == place { self.cpu_port.into() } else { 0 };
                (0..count).map(|at| Bits::unsigned(32, value(at))).collect::<Vec<Bits>>()
            };
            let places = 0..count.max(1);
            let calls =
                places.filter_map(|place| switch.action_call(one.action, &arguments(place)).ok());
            calls.collect::<Vec<ActionCall>>()
        });
        calls.collect()
    }

    fn packets(&self) -> impl Iterator<Item = &[u8]> {
        self.trial.workload.packets().iter()
    }

    fn entries(&self) -> impl Iterator<Item = (TableId, TableEntry)> {
        self.trial.workload.entries().map(|(table, entry)| (table, entry.clone()))
    }

    /// Returns a state with all entries except those of one table.
    fn beside(&self, table: TableId) -> State {
        let entries = self.entries().filter(|(of, _)| *of != table).collect();
        State { entries, default: None }
    }

    fn route(&self, packet: &[u8]) -> Route {
        Route { port: self.trial.workload.port(), packet: packet.to_vec() }
    }

    /// Returns a switch with the entries and the default action of a state, or `None` if it refuses
    /// one of them.
    fn switch(&self, state: &State) -> Option<Switch> {
        let switch = Switch::new(self.trial.workload.program().clone()).ok()?;
        for (table, entry) in &state.entries {
            switch.add_entry(*table, entry.clone(), Duration::ZERO).ok()?;
        }
        if let Some((table, call)) = &state.default {
            switch.set_default_action(*table, Some(call.clone())).ok()?;
        }
        Some(switch)
    }

    /// Returns whether a packet reaches the controller as a packet-in: the header in front of it
    /// names the port at which it arrived, or the packet after the header is unchanged.
    fn is_to_controller(&self, switch: &Switch, packet: &[u8]) -> bool {
        let ingress = self.trial.workload.port();
        let left = self.trial.leaving(switch, Entering { port: ingress, packet });
        let Some(Leaving::By { port, packet: Some(left) }) = left else { return false };
        let is_cpu = port == self.cpu_port || port == PSA_PORT_CPU;
        let parts =
            self.packet_in.and_then(|layout| Some((layout, layout.split(left.into(), None).ok()?)));
        parts.is_some_and(|(layout, (metadata, payload))| {
            let body =
                |packet: &[u8]| packet.len().checked_sub(TAG).map(|end| packet[..end].to_vec());
            let names_port = layout.read_ingress_port(&metadata) == Some(ingress);
            is_cpu && (names_port || body(&payload) == body(packet))
        })
    }

    /// Returns the port by which a packet leaves the switch, or `None` if this machine is not
    /// connected to that port.
    fn left(&self, switch: &Switch, packet: &[u8]) -> Option<u32> {
        let entering = Entering { port: self.trial.workload.port(), packet };
        let left = self.trial.leaving(switch, entering)?;
        let Leaving::By { port, packet: Some(_) } = left else { return None };
        self.trial.wires.iter().any(|wire| wire.0.number == port).then_some(port)
    }
}
