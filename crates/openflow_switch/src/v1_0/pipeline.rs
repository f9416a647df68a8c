//! The processing of a packet by the flow table: OpenFlow 1.0.0, 3.3 and 3.4.

use openflow::PortNumber;
use openflow::v1_0::{Action, PacketOut, PortNo};
use openflow::v1_3::{NO_COOKIE, OxmField};

use super::super::flow_key::FlowKey;
use super::super::packet::Packet;
use super::super::passage::{ACTION, NO_MATCH, Passage, ToController};
use super::{Personality, SwitchOptions, rank};

const VLAN_TYPE: u16 = 0x8100;

impl Personality {
    /// Passes a packet through the flow table. If no entry matches, `miss_send_len` bytes of the
    /// packet go to the controller.
    pub(in super::super) fn process(
        &mut self,
        options: &SwitchOptions,
        miss_send_len: u16,
        in_port: u16,
        frame: &[u8],
        now: u64,
        passage: &mut Passage,
    ) {
        let mut packet = std::mem::take(&mut self.packet);
        packet.load(frame);
        let key = FlowKey::v1_0(&packet, in_port);
        match self.flows.hit(0, &key, frame.len(), now) {
            Some(entry) => {
                let priority = rank(entry.priority, &entry.rule);
                let mut walk =
                    Walk { options, in_port, packet: &mut packet, key, priority, passage };
                walk.apply(&entry.instructions);
            }
            // A packet that matches no entry is sent to the controller (OpenFlow 1.0.0, 3.4).
            None => {
                let bytes = packet.bytes().to_vec();
                let missed = ToController { reason: NO_MATCH, ..to_controller(key, bytes) };
                passage.to_controller.push(ToController { max_len: miss_send_len, ..missed });
            }
        }
        self.packet = packet;
    }

    /// Executes the actions of a packet-out (OpenFlow 1.0.0, 5.3.6). Each output to
    /// [`PortNumber::TABLE`] sends the packet through the table, with the changes that earlier
    /// actions have made to it. The actions after such an output continue with the packet as it was
    /// before the table.
    ///
    /// `direct` receives the packets that the actions themselves send to ports, and `passage`
    /// receives those that the table sends. All packets for the controller are in `passage`. If all
    /// actions only send to ports, nothing is executed unless `direct` stores packets.
    pub(in super::super) fn process_packet_out(
        &mut self,
        options: &SwitchOptions,
        miss_send_len: u16,
        PacketOut { in_port, actions, data, .. }: &PacketOut,
        now: u64,
        passage: &mut Passage,
        direct: &mut Passage,
    ) {
        let in_port = in_port.0;
        let sends_to = |action: &Action, wanted: PortNumber| {
            matches!(action, Action::Output { port, .. }
                if PortNumber::from_v1_0(port.0) == wanted)
        };
        let to_table = |action: &Action| sends_to(action, PortNumber::TABLE);
        let beyond_ports =
            |action: &Action| to_table(action) || sends_to(action, PortNumber::CONTROLLER);
        if !direct.keeps && !actions.iter().any(beyond_ports) {
            return;
        }
        let mut packet = Packet::default();
        packet.load(data);
        for actions in actions.split_inclusive(to_table) {
            let (own, table) = match actions.split_last() {
                Some((last, before)) if to_table(last) => (before, true),
                _ => (actions, false),
            };
            let key = FlowKey::v1_0(&packet, in_port);
            let mut walk =
                Walk { options, in_port, packet: &mut packet, key, priority: 0, passage: direct };
            walk.apply(own);
            passage.to_controller.append(&mut direct.to_controller);
            if table && passage.spend_action() {
                self.process(options, miss_send_len, in_port, packet.bytes(), now, passage);
            }
        }
    }
}

/// Returns a packet that an action sends to the controller, with table 0 and without a cookie,
/// since OpenFlow 1.0 reports neither.
fn to_controller(key: FlowKey, bytes: Vec<u8>) -> ToController {
    ToController {
        reason: ACTION,
        table_id: 0,
        priority: 0,
        cookie: NO_COOKIE,
        max_len: u16::MAX,
        may_buffer: true,
        metadata: 0,
        key,
        bytes,
    }
}

/// A packet to which an entry's actions are applied.
struct Walk<'a> {
    options: &'a SwitchOptions,
    in_port: u16,
    packet: &'a mut Packet,
    key: FlowKey,
    /// The priority of the entry whose actions are applied.
    priority: u32,
    passage: &'a mut Passage,
}

impl Walk<'_> {
    /// Applies actions to the packet in order (OpenFlow 1.0.0, 3.3).
    fn apply(&mut self, actions: &[Action]) {
        for action in actions {
            if !self.passage.spend_action() {
                return;
            }
            match action {
                Action::Output { port, max_len } => self.output(*port, *max_len),
                Action::Enqueue { port, .. } => self.output(*port, u16::MAX),
                Action::SetVlanVid(vid) => {
                    self.tag();
                    self.packet.set(OxmField::VLAN_VID, (*vid).into());
                }
                Action::SetVlanPcp(priority) => {
                    self.tag();
                    self.packet.set(OxmField::VLAN_PCP, (*priority).into());
                }
                Action::StripVlan => self.packet.pop_vlan(),
                Action::SetDlSrc(address) => self.set(OxmField::ETH_SRC, address.to_bits()),
                Action::SetDlDst(address) => self.set(OxmField::ETH_DST, address.to_bits()),
                Action::SetNwSrc(address) => self.set(OxmField::IPV4_SRC, address.to_bits().into()),
                Action::SetNwDst(address) => self.set(OxmField::IPV4_DST, address.to_bits().into()),
                Action::SetNwTos(tos) => self.set(OxmField::IP_DSCP, (tos >> 2).into()),
                Action::SetTpSrc(port) => {
                    self.set(OxmField::TCP_SRC, (*port).into());
                    self.set(OxmField::UDP_SRC, (*port).into());
                }
                Action::SetTpDst(port) => {
                    self.set(OxmField::TCP_DST, (*port).into());
                    self.set(OxmField::UDP_DST, (*port).into());
                }
                Action::Vendor { .. } | Action::Other { .. } => {}
            }
        }
    }

    /// Adds a VLAN tag to the packet if it has none (OpenFlow 1.0.0, table 5).
    fn tag(&mut self) {
        if !self.packet.is_tagged() {
            self.packet.push_vlan(VLAN_TYPE);
        }
    }

    fn set(&mut self, field: OxmField, value: u64) {
        self.packet.set(field, value.into());
    }

    fn output(&mut self, port: PortNo, max_len: u16) {
        let ports = self.options.ports;
        self.passage.output(PortNumber::from_v1_0(port.0), self.packet.bytes());
        self.passage.forwarded |= match PortNumber::from_v1_0(port.0) {
            PortNumber::CONTROLLER => {
                let bytes = self.packet.bytes().to_vec();
                let packet = to_controller(self.key, bytes);
                let priority = self.priority;
                self.passage.to_controller.push(ToController { max_len, priority, ..packet });
                false
            }
            PortNumber::IN_PORT | PortNumber::LOCAL => true,
            PortNumber::FLOOD | PortNumber::ALL | PortNumber::NORMAL => {
                ports > u16::from((1..=ports).contains(&self.in_port))
            }
            // A packet leaves by its ingress port only through the reserved port IN_PORT (OpenFlow
            // 1.0.0, 5.2.4).
            _ => (1..=ports).contains(&port.0) && port.0 != self.in_port,
        };
    }
}
