//! Flows of a file that the user has given, which a measurement uses instead of generated ones.

use std::collections::{HashMap, HashSet};
use std::net::Ipv4Addr;

use openflow::v1_0::PortNo;
use openflow::v1_3::{GroupId, Instruction, MatchKey, MeterId, Oxm, QueueId, TableId, VlanVid};
use openflow::{MacAddress, PortNumber, Version, v1_0, v1_3};

use super::ReportedMatch;
use super::frame::{Frame, Treatment};
use super::text::{Field, FlowAction, Masked, Transport, WrittenFlow, flow_of};
use crate::entries::MakerError;
use crate::entry_number::EntryNumber;

/// The number of the first flow of a user's file. Generated flows have lower numbers.
const FIRST: u64 = 1 << 63;

/// The flows of a user's file, which is in the syntax of `ovs-ofctl`.
#[derive(Debug)]
pub struct OwnFlows {
    file: String,
    flows: Vec<OwnFlow>,
}

#[derive(Debug)]
struct OwnFlow {
    /// The number of the line in the file, counted from 1.
    line: usize,
    text: String,
    written: WrittenFlow,
    /// The position of the flow whose actions this one gets by its modification: the next flow of
    /// the file with other actions. `None` if all flows have the same actions.
    second: Option<usize>,
}

/// A flow whose insertion and deletion can be observed with packets.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) number: EntryNumber,
    pub(crate) frame: Frame,
    /// The flow whose actions this flow has after its modification.
    pub(crate) second: EntryNumber,
    pub(crate) inserted: Treatment,
    /// The treatment of packets after the flow's modification; `None` if packets cannot distinguish
    /// it from the treatment before the modification, or if it cannot be predicted.
    pub(crate) modified: Option<Treatment>,
}

impl Shown {
    /// Returns whether the switch drops packets of this flow and of `other` in the same states of
    /// their entries: while an entry is absent, inserted or modified.
    fn is_like(&self, other: &Self) -> bool {
        let states = |one: &Self| {
            let is_seen = |treatment: &Treatment| *treatment != Treatment::Dropped;
            (is_seen(&one.inserted), one.modified.as_ref().map(is_seen), one.frame.is_from_made())
        };
        states(self) == states(other)
    }

    /// Returns whether the flow's packets fall through to the catch-all entry of the measurement
    /// when the flow is not there.
    pub(crate) fn is_above_rest(&self) -> bool {
        self.frame.is_from_made()
    }
}

/// The match and the actions of a flow in one OpenFlow version. The error says what that version
/// cannot express.
type Converted<M, A> = Result<(M, Vec<A>), String>;

/// The identity of a flow in a switch. Flows with equal identities replace each other. Bits that a
/// match does not compare, and the order of its fields, do not count.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FlowIdentity {
    table: u8,
    priority: u16,
    matching: Canonical,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Canonical {
    V1_0(Box<v1_0::Match>),
    V1_3(MatchKey),
}

impl FlowIdentity {
    pub(crate) fn of(table: u8, priority: u16, matching: &ReportedMatch) -> Self {
        let matching = match matching {
            ReportedMatch::V1_0(one) => Canonical::V1_0(Box::new(canonical(one))),
            ReportedMatch::V1_3(one) => Canonical::V1_3(one.key()),
        };
        Self { table, priority, matching }
    }
}

impl OwnFlows {
    /// Parses flows in the syntax of `ovs-ofctl`, one per line. `file` is the name of the file.
    ///
    /// # Errors
    /// Returns an error if a line is not a flow, if flows belong to several tables, or if there are
    /// no flows.
    pub fn parse(file: &str, text: &str) -> Result<Self, MakerError> {
        let mut flows: Vec<OwnFlow> = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            let wrong = |why| MakerError::Line { file: file.to_owned(), line: number, why };
            let Some(written) = flow_of(line).map_err(wrong)? else { continue };
            if let Some(first) = flows.first().filter(|one| one.written.table != written.table) {
                return Err(wrong(format!(
                    "it is of table {}, but the flow in line {} is of table {}; a measurement is about one table",
                    written.table, first.line, first.written.table
                )));
            }
            let text = line.trim().to_owned();
            flows.push(OwnFlow { line: number, text, written, second: None });
        }
        if flows.is_empty() {
            return Err(MakerError::File {
                file: file.to_owned(),
                why: "it has no flows".to_owned(),
            });
        }
        let count = flows.len();
        let mut next = None;
        // The list is passed through twice from its end, so that the second time the next
        // different flow is also known where it comes after the last one.
        for at in (0..2 * count - 1).rev() {
            let [this, after] =
                [at, at + 1].map(|at| flows.get(at % count).map(|one| &one.written.actions));
            if this != after {
                next = Some((at + 1) % count);
            }
            if let Some(flow) = flows.get_mut(at) {
                flow.second = next;
            }
        }
        Ok(Self { file: file.to_owned(), flows })
    }

    /// Checks that the OpenFlow version can express all flows, and that no flow replaces another.
    ///
    /// # Errors
    /// Returns an error that names the line of the first flow that fails the check.
    pub(crate) fn check(&self, version: Version) -> Result<(), MakerError> {
        let mut lines: HashMap<FlowIdentity, usize> = HashMap::new();
        for (flow, number) in self.flows.iter().zip(self.numbers()) {
            let wrong = |why| MakerError::Line { file: self.file.clone(), line: flow.line, why };
            if version == Version::V1_0 && flow.written.table != 0 {
                return Err(wrong("OpenFlow 1.0 cannot choose a table other than 0".to_owned()));
            }
            let expressed = match version {
                Version::V1_0 => self.v1_0(number).map(|_| ()),
                Version::V1_3 => self.v1_3(number).map(|_| ()),
            };
            expressed.map_err(wrong)?;
            let Some(identity) = self.identity(version, number) else { continue };
            if let Some(before) = lines.insert(identity, flow.line) {
                return Err(wrong(format!(
                    "it has the match and the priority of the flow in line {before}, which it would replace"
                )));
            }
        }
        Ok(())
    }

    /// Returns the name of the file.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// Returns the table to which all flows belong.
    pub(crate) fn table(&self) -> u8 {
        self.flows.first().map_or(0, |flow| flow.written.table)
    }

    /// Returns the numbers of the flows, in the order of the file.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = EntryNumber> + use<> {
        (FIRST..FIRST + self.flows.len() as u64).map(EntryNumber)
    }

    /// Returns whether a number stands for a flow of a user's file rather than a generated one.
    pub(crate) fn has(number: EntryNumber) -> bool {
        number.0 >= FIRST
    }

    /// Returns whether at least two flows have different actions, so that a modification has an
    /// effect.
    pub(crate) fn is_modifiable(&self) -> bool {
        self.flows.iter().any(|flow| flow.second.is_some())
    }

    /// Returns the flow whose actions a flow gets by its modification: the next flow of the file
    /// with other actions, or the flow itself if all flows have the same actions.
    pub(crate) fn second(&self, number: EntryNumber) -> EntryNumber {
        let second = self.get(number).and_then(|flow| flow.second);
        second.map_or(number, |at| EntryNumber(FIRST + at as u64))
    }

    /// Returns the priority of a flow.
    pub(crate) fn priority(&self, number: EntryNumber) -> u16 {
        self.get(number).map_or(0, |flow| flow.written.priority)
    }

    /// Returns the position of a flow in the file, and the flow's text.
    pub(crate) fn quote(&self, number: EntryNumber) -> Option<String> {
        let flow = self.get(number)?;
        Some(format!("line {} of {}: {}", flow.line, self.file, flow.text))
    }

    /// Returns the identity of a flow; `None` if the OpenFlow version cannot express the flow.
    pub(crate) fn identity(&self, version: Version, number: EntryNumber) -> Option<FlowIdentity> {
        let matching = match version {
            Version::V1_0 => ReportedMatch::V1_0(Box::new(self.v1_0(number).ok()?.0)),
            Version::V1_3 => ReportedMatch::V1_3(self.v1_3(number).ok()?.0),
        };
        Some(FlowIdentity::of(self.table(), self.priority(number), &matching))
    }

    /// Returns the priority of an entry that ranks below all flows of the file.
    pub(crate) fn beneath(&self) -> u16 {
        let least = self.flows.iter().map(|flow| flow.written.priority).min();
        least.map_or(0, |least| least.saturating_sub(1))
    }

    /// Returns up to `count` flows whose effect packets can show. Each comes with a packet that
    /// none of the other returned flows matches. A packet enters by `in_port` unless its flow
    /// matches another port; flows whose port `is_wired` rejects are left out.
    ///
    /// # Errors
    /// If there is no such flow, returns the reason for the first flow of the file.
    pub(crate) fn shown(
        &self,
        in_port: u32,
        is_wired: &dyn Fn(u32) -> bool,
        count: usize,
    ) -> Result<Vec<Shown>, String> {
        let mut found: Vec<(Shown, &WrittenFlow)> = Vec::new();
        let mut why = None;
        for number in self.numbers() {
            if found.len() >= count {
                break;
            }
            let Some(flow) = self.get(number) else { continue };
            match self.one_shown(number, in_port, is_wired) {
                Err(reason) => {
                    why.get_or_insert(format!("line {}: {reason}", flow.line));
                }
                Ok(shown) => {
                    let is_alone = found.iter().all(|(other, written)| {
                        !shown.frame.selected_by(written) && !other.frame.selected_by(&flow.written)
                    });
                    if is_alone && found.first().is_none_or(|(first, _)| first.is_like(&shown)) {
                        found.push((shown, &flow.written));
                    }
                }
            }
        }
        match (found.is_empty(), why) {
            (true, Some(why)) => Err(why),
            (true, None) => Err("there are no flows".to_owned()),
            (false, _) => Ok(found.into_iter().map(|(shown, _)| shown).collect()),
        }
    }

    fn one_shown(
        &self,
        number: EntryNumber,
        in_port: u32,
        is_wired: &dyn Fn(u32) -> bool,
    ) -> Result<Shown, String> {
        let flow = &self.get(number).ok_or("there is no such flow")?.written;
        let frame = Frame::of(flow, in_port)?;
        if !is_wired(frame.in_port) {
            return Err(format!(
                "packets enter by port {}, which is not among --port",
                frame.in_port
            ));
        }
        let seen = |treatment| match treatment {
            Treatment::Leaves { port, .. } if !is_wired(port) => Treatment::Dropped,
            other => other,
        };
        let inserted = seen(frame.treated_by(flow)?);
        let second = self.second(number);
        let after = self.get(second).ok_or("there is no such flow")?;
        // If the outcome of the second actions is not known, only insertion and deletion are
        // observed.
        let modified = frame.treated_by(&after.written).ok().map(seen);
        let modified = modified.filter(|modified| *modified != inserted);
        if inserted == Treatment::Dropped && !frame.is_from_made() {
            return Err("its packets leave by no connected port".to_owned());
        }
        Ok(Shown { number, frame, second, inserted, modified })
    }

    /// Returns a flow's match and actions in OpenFlow 1.0.
    pub(super) fn v1_0(&self, number: EntryNumber) -> Converted<v1_0::Match, v1_0::Action> {
        let flow = &self.get(number).ok_or("there is no such flow")?.written;
        let matching =
            flow.fields.iter().try_fold(v1_0::Match::any(), |all, field| add_v1_0(all, *field))?;
        let actions = flow.actions.iter().map(|action| action_v1_0(*action));
        Ok((matching, actions.collect::<Result<_, _>>()?))
    }

    /// Returns a flow's match and instructions in OpenFlow 1.3.
    pub(super) fn v1_3(&self, number: EntryNumber) -> Converted<v1_3::Match, Instruction> {
        let flow = &self.get(number).ok_or("there is no such flow")?.written;
        let packets = Packets::of(&flow.fields);
        let fields = flow.fields.iter().map(|field| packets.condition(*field));
        let matching: v1_3::Match =
            fields.collect::<Result<Vec<Oxm>, String>>()?.into_iter().collect();
        Ok((matching, packets.instructions(&flow.actions)?))
    }

    fn get(&self, number: EntryNumber) -> Option<&OwnFlow> {
        self.flows.get(usize::try_from(number.0.checked_sub(FIRST)?).ok()?)
    }

    /// Returns the numbers of the flows whose identities are in `present`.
    pub(crate) fn among(
        &self,
        version: Version,
        present: &HashSet<FlowIdentity>,
    ) -> Vec<EntryNumber> {
        let is_there = |number: &EntryNumber| {
            self.identity(version, *number).is_some_and(|identity| present.contains(&identity))
        };
        self.numbers().filter(is_there).collect()
    }
}

/// Returns a match of OpenFlow 1.0 with all wildcarded fields and bits set to zero, so that equal
/// matches compare as equal.
fn canonical(one: &v1_0::Match) -> v1_0::Match {
    let mut made = v1_0::Match::any();
    made = one.in_port().map_or(made, |port| made.with_in_port(port));
    made = one.dl_src().map_or(made, |mac| made.with_dl_src(mac));
    made = one.dl_dst().map_or(made, |mac| made.with_dl_dst(mac));
    made = one.dl_vlan().map_or(made, |vlan| made.with_dl_vlan(vlan));
    made = one.dl_vlan_pcp().map_or(made, |priority| made.with_dl_vlan_pcp(priority));
    made = one.dl_type().map_or(made, |kind| made.with_dl_type(kind));
    made = one.nw_tos().map_or(made, |tos| made.with_nw_tos(tos));
    made = one.nw_proto().map_or(made, |protocol| made.with_nw_proto(protocol));
    let prefix = |(address, length): (Ipv4Addr, u32)| {
        let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
        (Ipv4Addr::from(u32::from(address) & mask), length)
    };
    made = one.nw_src().map(prefix).map_or(made, |(net, bits)| made.with_nw_src(net, bits));
    made = one.nw_dst().map(prefix).map_or(made, |(net, bits)| made.with_nw_dst(net, bits));
    made = one.tp_src().map_or(made, |port| made.with_tp_src(port));
    one.tp_dst().map_or(made, |port| made.with_tp_dst(port))
}

/// Returns the message that OpenFlow 1.0 cannot express something.
fn not_in_v1_0(what: &str) -> String {
    format!("OpenFlow 1.0 has no {what}; let the switch speak 1.3")
}

fn port_v1_0(port: PortNumber) -> Result<PortNo, String> {
    PortNo::try_from(port).map_err(|_| not_in_v1_0("port with so great a number"))
}

fn add_v1_0(all: v1_0::Match, field: Field) -> Result<v1_0::Match, String> {
    let mac = |masked: Masked<MacAddress>| match masked.mask {
        None => Ok(masked.value),
        Some(mask) if mask == MacAddress::BROADCAST => Ok(masked.value),
        Some(_) => Err(not_in_v1_0("masks of Ethernet addresses")),
    };
    let network = |masked: Masked<Ipv4Addr>| {
        let mask = masked.mask.map_or(u32::MAX, u32::from);
        match mask.leading_ones() + mask.trailing_zeros() {
            // All bits after the leading ones are zeros.
            u32::BITS => Ok((Ipv4Addr::from(u32::from(masked.value) & mask), mask.leading_ones())),
            _ => Err(not_in_v1_0("masks of addresses that are no prefix")),
        }
    };
    Ok(match field {
        Field::InPort(port) => all.with_in_port(port_v1_0(port)?),
        Field::EthSrc(address) => all.with_dl_src(mac(address)?),
        Field::EthDst(address) => all.with_dl_dst(mac(address)?),
        Field::EthType(kind) => all.with_dl_type(kind),
        Field::Untagged => all.with_dl_vlan(v1_0::Match::VLAN_NONE),
        Field::Vlan(id) => all.with_dl_vlan(id),
        Field::VlanPriority(priority) => all.with_dl_vlan_pcp(priority),
        Field::Dscp(tos) => all.with_nw_tos(tos),
        Field::Protocol(protocol) => all.with_nw_proto(protocol),
        Field::Source(address) => {
            let (address, prefix) = network(address)?;
            all.with_nw_src(address, prefix)
        }
        Field::Destination(address) => {
            let (address, prefix) = network(address)?;
            all.with_nw_dst(address, prefix)
        }
        Field::Ipv6Source(_) | Field::Ipv6Destination(_) => {
            return Err(not_in_v1_0("IPv6 addresses"));
        }
        Field::SourcePort(port) => all.with_tp_src(port),
        Field::DestinationPort(port) => all.with_tp_dst(port),
        Field::IcmpType(kind) => all.with_tp_src(kind.into()),
        Field::IcmpCode(code) => all.with_tp_dst(code.into()),
    })
}

fn action_v1_0(action: FlowAction) -> Result<v1_0::Action, String> {
    use v1_0::Action;

    Ok(match action {
        FlowAction::Output(PortNumber::CONTROLLER) => {
            Action::Output { port: PortNo::CONTROLLER, max_len: u16::MAX }
        }
        FlowAction::Output(port) => Action::output(port_v1_0(port)?),
        FlowAction::SetEthSrc(address) => Action::SetDlSrc(address),
        FlowAction::SetEthDst(address) => Action::SetDlDst(address),
        FlowAction::SetSource(address) => Action::SetNwSrc(address),
        FlowAction::SetDestination(address) => Action::SetNwDst(address),
        FlowAction::SetSourcePort(_, port) => Action::SetTpSrc(port),
        FlowAction::SetDestinationPort(_, port) => Action::SetTpDst(port),
        FlowAction::SetVlan(id) => Action::SetVlanVid(id),
        FlowAction::SetVlanPriority(priority) => Action::SetVlanPcp(priority),
        FlowAction::StripVlan => Action::StripVlan,
        FlowAction::SetTos(tos) => Action::SetNwTos(tos),
        FlowAction::PushVlan(_) => return Err(not_in_v1_0("push_vlan")),
        FlowAction::DecrementTtl => return Err(not_in_v1_0("dec_ttl")),
        FlowAction::SetQueue(_) => return Err(not_in_v1_0("set_queue")),
        FlowAction::Group(_) => return Err(not_in_v1_0("groups")),
        FlowAction::GotoTable(_) => return Err(not_in_v1_0("goto_table")),
        FlowAction::Meter(_) => return Err(not_in_v1_0("meters")),
    })
}

/// The kind of packets that a flow matches. It decides to which OpenFlow field a condition, for
/// example on a port, is translated (OpenFlow 1.3.5, section 7.2.3.8).
#[derive(Clone, Copy, Debug)]
struct Packets {
    kind: Option<u16>,
    protocol: Option<u8>,
}

impl Packets {
    fn of(fields: &[Field]) -> Self {
        let kind = fields
            .iter()
            .find_map(|field| if let Field::EthType(kind) = field { Some(*kind) } else { None });
        let protocol = fields.iter().find_map(|field| {
            if let Field::Protocol(number) = field { Some(*number) } else { None }
        });
        Self { kind, protocol }
    }

    fn is_arp(self) -> bool {
        self.kind == Some(0x0806)
    }

    fn condition(self, field: Field) -> Result<Oxm, String> {
        Ok(match field {
            Field::InPort(port) => Oxm::InPort(port),
            Field::EthSrc(address) => Oxm::EthSrc(oxm(address)),
            Field::EthDst(address) => Oxm::EthDst(oxm(address)),
            Field::EthType(kind) => Oxm::EthType(kind),
            Field::Untagged => Oxm::VlanVid(VlanVid::UNTAGGED.into()),
            Field::Vlan(id) => Oxm::VlanVid(VlanVid::tagged(id).into()),
            Field::VlanPriority(priority) => Oxm::VlanPcp(priority),
            Field::Dscp(tos) => Oxm::IpDscp(tos >> 2),
            Field::Protocol(opcode) if self.is_arp() => Oxm::ArpOp(opcode.into()),
            Field::Protocol(protocol) => Oxm::IpProto(protocol),
            Field::Source(address) if self.is_arp() => Oxm::ArpSpa(oxm(address)),
            Field::Source(address) => Oxm::Ipv4Src(oxm(address)),
            Field::Destination(address) if self.is_arp() => Oxm::ArpTpa(oxm(address)),
            Field::Destination(address) => Oxm::Ipv4Dst(oxm(address)),
            Field::Ipv6Source(address) => Oxm::Ipv6Src(oxm(address)),
            Field::Ipv6Destination(address) => Oxm::Ipv6Dst(oxm(address)),
            Field::SourcePort(port) => self.source_port(port)?,
            Field::DestinationPort(port) => self.destination_port(port)?,
            Field::IcmpType(kind) if self.kind == Some(0x86dd) => Oxm::Icmpv6Type(kind),
            Field::IcmpType(kind) => Oxm::Icmpv4Type(kind),
            Field::IcmpCode(code) if self.kind == Some(0x86dd) => Oxm::Icmpv6Code(code),
            Field::IcmpCode(code) => Oxm::Icmpv4Code(code),
        })
    }

    fn source_port(self, port: u16) -> Result<Oxm, String> {
        match self.protocol {
            Some(6) => Ok(Oxm::TcpSrc(port)),
            Some(17) => Ok(Oxm::UdpSrc(port)),
            Some(132) => Ok(Oxm::SctpSrc(port)),
            Some(_) | None => Err("a port needs tcp, udp or sctp beside it".to_owned()),
        }
    }

    fn destination_port(self, port: u16) -> Result<Oxm, String> {
        match self.protocol {
            Some(6) => Ok(Oxm::TcpDst(port)),
            Some(17) => Ok(Oxm::UdpDst(port)),
            Some(132) => Ok(Oxm::SctpDst(port)),
            Some(_) | None => Err("a port needs tcp, udp or sctp beside it".to_owned()),
        }
    }

    /// Returns the instructions of a flow with these actions. The meter comes first and the next
    /// table last.
    fn instructions(self, actions: &[FlowAction]) -> Result<Vec<Instruction>, String> {
        let (mut meter, mut next, mut applied) = (None, None, Vec::new());
        for action in actions {
            match *action {
                FlowAction::Meter(number) => meter = Some(Instruction::Meter(MeterId(number))),
                FlowAction::GotoTable(table) => next = Some(Instruction::GotoTable(TableId(table))),
                other => applied.push(self.applied(other)?),
            }
        }
        let applied = (!applied.is_empty()).then_some(Instruction::ApplyActions(applied));
        Ok(meter.into_iter().chain(applied).chain(next).collect())
    }

    fn applied(self, action: FlowAction) -> Result<v1_3::Action, String> {
        use v1_3::Action;

        Ok(match action {
            FlowAction::Output(port) => Action::output(port),
            FlowAction::SetEthSrc(address) => Action::SetField(Oxm::EthSrc(address.into())),
            FlowAction::SetEthDst(address) => Action::SetField(Oxm::EthDst(address.into())),
            FlowAction::SetSource(address) => Action::SetField(Oxm::Ipv4Src(address.into())),
            FlowAction::SetDestination(address) => Action::SetField(Oxm::Ipv4Dst(address.into())),
            FlowAction::SetSourcePort(of, port) => {
                Action::SetField(self.sent(of).source_port(port)?)
            }
            FlowAction::SetDestinationPort(of, port) => {
                Action::SetField(self.sent(of).destination_port(port)?)
            }
            FlowAction::SetVlan(id) => Action::SetField(Oxm::VlanVid(VlanVid::tagged(id).into())),
            FlowAction::SetVlanPriority(priority) => Action::SetField(Oxm::VlanPcp(priority)),
            FlowAction::StripVlan => Action::PopVlan,
            FlowAction::PushVlan(kind) => Action::PushVlan(kind),
            FlowAction::SetTos(tos) => Action::SetField(Oxm::IpDscp(tos >> 2)),
            FlowAction::DecrementTtl => Action::DecNwTtl,
            FlowAction::SetQueue(queue) => Action::SetQueue(QueueId(queue)),
            FlowAction::Group(group) => Action::Group(GroupId(group)),
            FlowAction::GotoTable(_) | FlowAction::Meter(_) => {
                return Err("an instruction is no action".to_owned());
            }
        })
    }

    /// Returns the kind of packets to which an action that sets a port applies.
    fn sent(self, of: Transport) -> Self {
        match of {
            Transport::OfMatch => self,
            Transport::Tcp => Self { protocol: Some(6), ..self },
            Transport::Udp => Self { protocol: Some(17), ..self },
        }
    }
}

fn oxm<T>(masked: Masked<T>) -> v1_3::Masked<T> {
    v1_3::Masked { value: masked.value, mask: masked.mask }
}
