//! The controller's side of the connection to a measured OpenFlow switch: flow entries and
//! barriers.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use openflow::framing::Framer;
use openflow::handshake::{Event, Handshake};
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
const PATIENCE: Duration = Duration::from_secs(30);
/// The interval at which the controller's sockets are polled.
const LOOK: Duration = Duration::from_millis(10);

/// A measured switch that has connected to this controller.
#[derive(Debug)]
pub(super) struct OpenFlowSwitch {
    stream: TcpStream,
    framer: Framer,
    handshake: Handshake,
    version: Version,
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
        let address = listener.local_addr().ok();
        let begin = Instant::now();
        listener.set_nonblocking(true).map_err(system("listening"))?;
        let stream = loop {
            match listener.accept() {
                Ok((stream, _)) => break stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if begin.elapsed() > PATIENCE {
                        let to =
                            address.map_or_else(String::new, |address| format!(" to {address}"));
                        return Err(failed(format!("no switch connects{to}")));
                    }
                    std::thread::sleep(LOOK);
                }
                Err(source) => return Err(system("listening")(source)),
            }
        };
        stream.set_nonblocking(false).map_err(system("a connection"))?;
        stream.set_nodelay(true).map_err(system("a connection"))?;
        stream.set_read_timeout(Some(LOOK)).map_err(system("a connection"))?;
        let config = v1_0::SwitchConfig::default();
        let handshake = Handshake::controller(&[version], config);
        let mut switch = Self {
            stream,
            framer: Framer::new(),
            handshake,
            version,
            ports,
            // The transaction ids of the handshake are smaller.
            next_xid: 1 << 16,
        };
        let mut out = Vec::new();
        switch.handshake.start(&mut out);
        switch.write(&out)?;
        switch
            .until("the session did not open in time", |switch, _| switch.handshake.is_ready())?;
        Ok(switch)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), BenchError> {
        self.stream.write_all(bytes).map_err(|error| failed(format!("writing to it: {error}")))
    }

    /// Reads and answers messages of the switch until `happened` returns true for one of them.
    fn until(
        &mut self,
        what: &str,
        mut happened: impl FnMut(&Self, &[u8]) -> bool,
    ) -> Result<(), BenchError> {
        let begin = Instant::now();
        let mut chunk = [0; 16 << 10];
        loop {
            let count = match self.stream.read(&mut chunk) {
                Ok(0) => return Err(failed("it closed the connection".to_owned())),
                Ok(count) => count,
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    if begin.elapsed() > PATIENCE {
                        let diagnosis = self.handshake.diagnosis();
                        return Err(failed(format!("{what}: {diagnosis}")));
                    }
                    0
                }
                Err(error) => return Err(failed(format!("reading from it: {error}"))),
            };
            let read = chunk.get(..count).unwrap_or_default();
            let frames: Vec<Vec<u8>> = self
                .framer
                .frames(read)
                .map(|frame| frame.map(<[u8]>::to_vec))
                .collect::<Result<_, _>>()
                .map_err(|error| failed(error.to_string()))?;
            let mut out = Vec::new();
            let mut done = false;
            for frame in frames {
                let event = self.handshake.receive(&frame, &mut out);
                let event = event.map_err(|error| failed(error.to_string()))?;
                if event == Event::Message {
                    refusal(&frame)?;
                }
                done |= happened(self, &frame);
            }
            if !out.is_empty() {
                self.write(&out)?;
            }
            if done {
                return Ok(());
            }
        }
    }

    fn xid(&mut self) -> Xid {
        self.next_xid += 1;
        Xid(self.next_xid)
    }

    /// Sends messages to the switch, followed by a barrier request, and waits until the switch has
    /// processed them.
    fn carry_out(&mut self, mut bytes: Vec<u8>) -> Result<(), BenchError> {
        let xid = self.xid();
        let encoded = match self.version {
            Version::V1_0 => v1_0::Message::BarrierRequest.encode(xid, &mut bytes),
            Version::V1_3 => v1_3::Message::BarrierRequest.encode(xid, &mut bytes),
        };
        encoded.map_err(|error| failed(error.to_string()))?;
        self.write(&bytes)?;
        let answer = xid.0.to_be_bytes();
        self.until("it did not answer a barrier in time", |_, frame| {
            frame.get(4..8) == Some(&answer)
        })
    }
}

impl Device for OpenFlowSwitch {
    fn configure(&mut self, task: &Task) -> Result<(), BenchError> {
        let subject = task.rule().ok_or_else(|| wire::runs_no_programs("OpenFlow switch"))?;
        let [in_port, out_port] = self.ports;
        let mut bytes = Vec::new();
        let (version, delete) = (self.version, self.xid());
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

/// Returns an error if the OpenFlow message is an error message of the switch.
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
    TcpListener::bind(address).map_err(system(&format!("listening on {address}")))
}

fn failed(problem: String) -> BenchError {
    BenchError::Device { device: "OpenFlow switch".to_owned(), problem }
}

fn system(what: &str) -> impl Fn(std::io::Error) -> BenchError {
    let what = what.to_owned();
    move |source| BenchError::System { what: what.clone(), source }
}
