//! The controller's side of the connection to a measured OpenFlow switch: flow entries and
//! barriers.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use controllers::openflow::{SwitchConnection, SwitchConnectionError};
use openflow::v1_3::VlanVid;
use openflow::wire::{Header, MessageType};
use openflow::{MacAddress, PortNumber, Version, Xid, v1_0, v1_3};

use super::super::conduct::BenchError;
use super::super::function::{ActionKind, MatchKind};
use super::super::rule::{Rule, rules};
use super::super::task::Task;
use super::super::traffic::{IPV4_TYPE, Subject, VLAN_TYPE, value};
use super::wire::{self, Device};

/// The longest time that the switch may take to connect or to answer.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The interval at which [`TIMEOUT`] is checked while this controller waits for the switch.
const LOOK: Duration = Duration::from_millis(10);

/// A measured switch that has connected to this controller.
#[derive(Debug)]
pub(super) struct OpenFlowSwitch {
    connection: SwitchConnection,
    ports: [u32; 2],
    next_xid: u32,
}

impl OpenFlowSwitch {
    /// Waits until the switch connects, and returns it when the OpenFlow handshake is complete.
    pub(super) fn accept(
        listener: &TcpListener,
        version: Version,
        ports: [u32; 2],
    ) -> Result<Self, BenchError> {
        let never = AtomicBool::new(false);
        let connection = SwitchConnection::accept(listener, &[version], None, TIMEOUT, &never);
        let connection = connection.map_err(|error| broken(&error))?;
        Ok(Self { connection, ports, next_xid: SwitchConnection::FIRST_XID })
    }

    /// Reads messages of the switch until one of them answers the request with the transaction id
    /// `xid`. Returns an error if the switch sends an error message, or no answer within
    /// [`TIMEOUT`].
    fn until_answered(&mut self, xid: Xid) -> Result<(), BenchError> {
        let begin = Instant::now();
        let mut done = false;
        let mut refused = Ok(());
        while !done {
            let received = self.connection.receive(&mut |frame| {
                if refused.is_ok() {
                    refused = refusal(frame);
                }
                done |= Header::new_checked(frame).is_ok_and(|header| header.xid() == xid);
            });
            let has_read = received.map_err(|error| broken(&error))?;
            std::mem::replace(&mut refused, Ok(()))?;
            if !has_read && !done {
                if begin.elapsed() > TIMEOUT {
                    return Err(failed("it did not answer a barrier in time".to_owned()));
                }
                self.connection.wait(LOOK).map_err(|error| broken(&error))?;
                self.connection.flush().map_err(|error| broken(&error))?;
            }
        }
        Ok(())
    }

    fn xid(&mut self) -> Xid {
        self.next_xid += 1;
        Xid(self.next_xid)
    }

    /// Sends messages to the switch, followed by a barrier request, and waits until the switch has
    /// processed them.
    fn carry_out(&mut self, mut bytes: Vec<u8>) -> Result<(), BenchError> {
        let xid = self.xid();
        let encoded = match self.connection.version() {
            Version::V1_0 => v1_0::Message::BarrierRequest.encode(xid, &mut bytes),
            Version::V1_3 => v1_3::Message::BarrierRequest.encode(xid, &mut bytes),
        };
        encoded.map_err(|error| failed(error.to_string()))?;
        self.connection.out().append(&mut bytes);
        self.connection.flush().map_err(|error| broken(&error))?;
        self.until_answered(xid)
    }
}

impl Device for OpenFlowSwitch {
    fn configure(&mut self, task: &Task) -> Result<(), BenchError> {
        let subject = task.rule().ok_or_else(|| wire::runs_no_programs("OpenFlow switch"))?;
        let [in_port, out_port] = self.ports;
        let mut bytes = Vec::new();
        let (version, delete) = (self.connection.version(), self.xid());
        let encoded = match version {
            Version::V1_0 => {
                let flow = v1_0::FlowMod {
                    command: v1_0::FlowModCommand::DELETE,
                    ..v1_0::FlowMod::default()
                };
                v1_0::Message::FlowMod(flow).encode(delete, &mut bytes)
            }
            Version::V1_3 => {
                let flow = v1_3::FlowMod::delete(v1_3::Match::any());
                v1_3::Message::FlowMod(flow).encode(delete, &mut bytes)
            }
        };
        encoded.map_err(|error| failed(error.to_string()))?;
        for rule in rules(subject, in_port) {
            let xid = self.xid();
            let encoded = match version {
                Version::V1_0 => v1_0::Message::FlowMod(v1_0::FlowMod {
                    match_fields: match_1_0(subject.matched, &rule),
                    actions: actions_1_0(subject.action, out_port),
                    ..v1_0::FlowMod::default()
                })
                .encode(xid, &mut bytes),
                Version::V1_3 => {
                    let actions = actions_1_3(subject.action, out_port);
                    let flow = v1_3::FlowMod::add(
                        match_1_3(subject, &rule),
                        vec![v1_3::Instruction::ApplyActions(actions)],
                    );
                    v1_3::Message::FlowMod(flow).encode(xid, &mut bytes)
                }
            };
            encoded.map_err(|error| failed(error.to_string()))?;
        }
        self.carry_out(bytes)
    }
}

/// Returns an error if the OpenFlow message is an error message, with which the switch refuses a
/// request.
fn refusal(frame: &[u8]) -> Result<(), BenchError> {
    let Ok(header) = Header::new_checked(frame) else { return Ok(()) };
    match (header.message_type(), header.body()) {
        // Both versions have type and code at these offsets.
        (MessageType::ERROR, [a, b, c, d, ..]) => {
            let [kind, code] = [[*a, *b], [*c, *d]].map(u16::from_be_bytes);
            Err(failed(format!("it refuses a rule: error type {kind}, code {code}")))
        }
        _ => Ok(()),
    }
}

fn match_1_0(matched: MatchKind, rule: &Rule) -> v1_0::Match {
    let any = v1_0::Match::any();
    let udp = any.with_dl_type(IPV4_TYPE).with_nw_proto(value::NW_PROTO);
    let five_tuple = udp
        .with_nw_src(Ipv4Addr::from(rule.nw_src), 32)
        .with_nw_dst(Ipv4Addr::from(rule.nw_dst), 32)
        .with_tp_src(value::TP_SRC)
        .with_tp_dst(rule.tp_dst);
    let port = v1_0::PortNo(rule.in_port as u16);
    match matched {
        MatchKind::Port => any.with_in_port(port),
        MatchKind::TpDst => udp.with_tp_dst(rule.tp_dst),
        MatchKind::DlDst => any.with_dl_dst(mac(rule.dl_dst)),
        MatchKind::MaskedNwDst => any
            .with_dl_type(IPV4_TYPE)
            .with_nw_dst(Ipv4Addr::from(rule.nw_dst), value::NW_DST_PREFIX),
        MatchKind::FiveTuple => five_tuple,
        MatchKind::All => five_tuple
            .with_in_port(port)
            .with_nw_tos(value::NW_TOS)
            .with_dl_src(MacAddress(value::DL_SRC))
            .with_dl_dst(mac(rule.dl_dst)),
    }
}

/// Builds the OpenFlow 1.3 match of a rule. It includes the prerequisites of the rule's fields and
/// actions: an Ethernet type, a protocol or a tag (OpenFlow 1.3.5, sections 7.2.3.6 and 7.2.5).
fn match_1_3(subject: Subject, rule: &Rule) -> v1_3::Match {
    let Subject { matched, action, .. } = subject;
    let transport = matches!(matched, MatchKind::TpDst | MatchKind::FiveTuple | MatchKind::All)
        || action == ActionKind::SetTpSrc;
    let network = transport
        || matched == MatchKind::MaskedNwDst
        || matches!(action, ActionKind::SetNwSrc | ActionKind::SetNwTos);
    let mut demanded = v1_3::Match::any();
    if action == ActionKind::StripVlan {
        demanded = demanded.with_vlan_vid((VlanVid::PRESENT, VlanVid::PRESENT));
    }
    if network {
        demanded = demanded.with_eth_type(IPV4_TYPE);
    }
    if transport {
        demanded = demanded.with_ip_proto(value::NW_PROTO);
    }
    let five_tuple = |demanded: v1_3::Match| {
        demanded
            .with_ipv4_src(Ipv4Addr::from(rule.nw_src))
            .with_ipv4_dst(Ipv4Addr::from(rule.nw_dst))
            .with_udp_src(value::TP_SRC)
            .with_udp_dst(rule.tp_dst)
    };
    let port = PortNumber(rule.in_port);
    match matched {
        MatchKind::Port => demanded.with_in_port(port),
        MatchKind::TpDst => demanded.with_udp_dst(rule.tp_dst),
        MatchKind::DlDst => demanded.with_eth_dst(mac(rule.dl_dst)),
        MatchKind::MaskedNwDst => {
            let mask = Ipv4Addr::from(u32::MAX << (32 - value::NW_DST_PREFIX));
            let network = Ipv4Addr::from(rule.nw_dst & u32::from(mask));
            demanded.with_ipv4_dst((network, mask))
        }
        MatchKind::FiveTuple => five_tuple(demanded),
        MatchKind::All => five_tuple(demanded)
            .with_in_port(port)
            .with_ip_dscp(value::NW_TOS >> 2)
            .with_eth_src(MacAddress(value::DL_SRC))
            .with_eth_dst(mac(rule.dl_dst)),
    }
}

fn actions_1_0(action: ActionKind, out_port: u32) -> Vec<v1_0::Action> {
    use v1_0::Action;
    let does = match action {
        ActionKind::Output => None,
        ActionKind::SetDlSrc => Some(Action::SetDlSrc(MacAddress(value::SET_DL_SRC))),
        ActionKind::StripVlan => Some(Action::StripVlan),
        ActionKind::SetVlanId => Some(Action::SetVlanVid(value::SET_VLAN)),
        ActionKind::SetNwSrc => Some(Action::SetNwSrc(value::SET_NW_SRC.into())),
        ActionKind::SetNwTos => Some(Action::SetNwTos(value::SET_NW_TOS)),
        ActionKind::SetTpSrc => Some(Action::SetTpSrc(value::SET_TP_SRC)),
    };
    let output = Action::output(v1_0::PortNo(out_port as u16));
    does.into_iter().chain([output]).collect()
}

fn actions_1_3(action: ActionKind, out_port: u32) -> Vec<v1_3::Action> {
    use v1_3::{Action, Oxm};
    let set = |field: Oxm| vec![Action::SetField(field)];
    let does = match action {
        ActionKind::Output => Vec::new(),
        ActionKind::SetDlSrc => set(Oxm::EthSrc(MacAddress(value::SET_DL_SRC).into())),
        ActionKind::StripVlan => vec![Action::PopVlan],
        ActionKind::SetVlanId => vec![
            Action::PushVlan(VLAN_TYPE),
            Action::SetField(Oxm::VlanVid(VlanVid::tagged(value::SET_VLAN).into())),
        ],
        ActionKind::SetNwSrc => set(Oxm::Ipv4Src(Ipv4Addr::from(value::SET_NW_SRC).into())),
        ActionKind::SetNwTos => set(Oxm::IpDscp(value::SET_NW_TOS >> 2)),
        ActionKind::SetTpSrc => set(Oxm::UdpSrc(value::SET_TP_SRC)),
    };
    does.into_iter().chain([Action::output(PortNumber(out_port))]).collect()
}

fn mac(number: u64) -> MacAddress {
    let [_, _, address @ ..] = number.to_be_bytes();
    MacAddress(address)
}

/// Opens the socket on which the controller accepts the connection of the switch.
pub(super) fn listen(address: SocketAddr) -> Result<TcpListener, BenchError> {
    SwitchConnection::listen(address)
        .map_err(|source| BenchError::System { what: format!("listening on {address}"), source })
}

fn broken(error: &SwitchConnectionError) -> BenchError {
    failed(error.to_string())
}

fn failed(problem: String) -> BenchError {
    BenchError::Device { device: "OpenFlow switch".to_owned(), problem }
}
