//! The bench on which OpenFlow requirements are tried. It is the controller of the switch, and
//! records the flows, groups and meters that it has installed.

use std::time::Duration;

use openflow::wire::MessageType;
use openflow::{ErrorReason, MacAddress, PortNumber, Version, v1_0, v1_3};

use super::session::{Frame, Session, name};
use crate::channel::Exchange;
use crate::demands::{Fault, Verdict, demand, lacks};

/// The Ethernet source that all flows of the bench match, so that they affect no other packets.
const SOURCE: MacAddress = MacAddress([0x02, 0x50, 0x4c, 0x41, 0x4e, 0x04]);
/// The cookie of the bench's flows, unless a requirement is about cookies.
pub(super) const COOKIE: u64 = 0x504c_414e_4a55_4447;
/// The priority of the bench's flows, which other flows are not likely to have.
pub(super) const PRIORITY: u16 = 0xe000;
/// The identifier of the bench's first group and of its first meter.
pub(super) const GROUP: u32 = 0x504c_4100;
pub(super) const METER: u32 = 61;
/// The time within which the switch must report a removed flow.
const NOTICE: Duration = Duration::from_millis(1500);

/// The commands of flow-mods, which have the same numbers in both versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Add = 0,
    Modify = 1,
    ModifyStrict = 2,
    Delete = 3,
    DeleteStrict = 4,
}

/// A flow-mod: an insertion, modification or deletion of flow entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub(super) command: Command,
    /// The last byte of the Ethernet destination that is matched; `None` for all flows of the
    /// bench.
    pub(super) flow: Option<u8>,
    pub(super) priority: u16,
    pub(super) cookie: u64,
    pub(super) cookie_mask: u64,
    /// The port to which the entry sends packets, or `None` to drop them.
    pub(super) output: Option<u16>,
    pub(super) out_port: Option<u16>,
    pub(super) idle: u16,
    pub(super) hard: u16,
    pub(super) flags: u16,
}

/// The flag of a flow-mod that requests a message when the flow entry is removed
/// (`OFPFF_SEND_FLOW_REM`).
pub(super) const SEND_FLOW_REM: u16 = 1;
/// The flag of a flow-mod that requests a check for overlapping entries (`OFPFF_CHECK_OVERLAP`).
pub(super) const CHECK_OVERLAP: u16 = 2;

impl Change {
    pub(super) fn new(command: Command, flow: impl Into<Option<u8>>) -> Self {
        Self {
            command,
            flow: flow.into(),
            priority: PRIORITY,
            cookie: COOKIE,
            cookie_mask: 0,
            output: None,
            out_port: None,
            idle: 0,
            hard: 0,
            flags: 0,
        }
    }
}

/// A flow entry that the switch reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The last byte of the Ethernet destination that the entry matches; `None` if it matches none.
    pub(super) flow: Option<u8>,
    pub(super) priority: u16,
    pub(super) cookie: u64,
    pub(super) idle: u16,
    pub(super) hard: u16,
    /// The ports to which the entry sends packets.
    pub(super) outputs: Vec<u32>,
}

pub(crate) struct Bench {
    pub(super) session: Session,
    /// Whether a requirement may have changed the role of this controller.
    has_role: bool,
    /// The switch's configuration before the first requirement, to which it is reset; `None` if the
    /// switch did not report it.
    config: Option<Vec<u8>>,
    is_lost: bool,
}

impl Bench {
    pub(super) fn new(session: Session) -> Self {
        let mut bench = Self { session, has_role: false, config: None, is_lost: false };
        let request = bench.session.frame(7, &[]);
        let answer = bench.session.ask(&request).unwrap_or_default();
        bench.config = answer.first().map(|frame| frame.body().to_vec());
        bench.clean();
        bench.session.take_exchanges();
        bench
    }

    pub(super) fn version(&self) -> Version {
        self.session.version()
    }

    pub(super) fn is_v1_0(&self) -> bool {
        self.version() == Version::V1_0
    }

    /// Tries a requirement, and returns the verdict on it.
    pub(super) fn attempt(&mut self, attempt: super::Attempt) -> Verdict {
        if self.is_lost {
            return Verdict::Untried { why: "the connection was lost before".to_owned() };
        }
        match attempt(self) {
            Ok(()) => Verdict::Met,
            Err(fault) => {
                self.is_lost = matches!(fault, Fault::Lost(_));
                fault.into()
            }
        }
    }

    /// Removes what a requirement has left in the switch. Returns a description of what could not
    /// be removed. These messages are not added to the record.
    pub(super) fn clean(&mut self) -> Vec<String> {
        let exchanges = self.session.take_exchanges();
        let mut left = Vec::new();
        if !self.is_lost {
            if std::mem::take(&mut self.has_role) {
                let request = self.role(1, 0);
                let _ = self.session.ask(&request);
            }
            let all = self.flow_mod(&Change::new(Command::Delete, None));
            let _ = self.session.ask(&all);
            if !self.is_v1_0() {
                for number in 0..4 {
                    let group = self.group_mod(2, 0, GROUP + number, &[]);
                    let _ = self.session.ask(&group);
                    let meter = self.meter_mod(2, METER + number, &[]);
                    let _ = self.session.ask(&meter);
                }
            }
            if let Some(config) = self.config.clone() {
                let request = self.session.frame(9, &config);
                let _ = self.session.ask(&request);
            }
            match self.flows() {
                Ok(flows) if flows.is_empty() => {}
                Ok(flows) => left.push(format!("{} flow entries of the requirements", flows.len())),
                Err(_) => left.push("the flow entries of the requirements".to_owned()),
            }
            self.session.forget();
        }
        self.session.take_exchanges();
        self.session.restore_exchanges(exchanges);
        left
    }

    pub(super) fn take_exchanges(&mut self) -> Vec<Exchange> {
        self.session.take_exchanges()
    }

    /// Sends a message and returns the answers to it.
    pub(super) fn ask(&mut self, frame: &[u8]) -> Result<Vec<Frame>, Fault> {
        self.session.ask(frame).map_err(|lost| Fault::Lost(lost.0))
    }

    /// Sends a message, and demands that the switch answers with a message of type `kind`.
    pub(super) fn answered(&mut self, frame: &[u8], kind: u8) -> Result<Frame, Fault> {
        let answers = self.ask(frame)?;
        let found = answers.iter().find(|answer| answer.kind() == kind);
        found.cloned().ok_or_else(|| {
            Fault::Broken(match answers.iter().find_map(Frame::error) {
                Some(error) => format!("the switch answered {}", name(self.version(), error)),
                None => format!("the switch sent no answer of type {kind}"),
            })
        })
    }

    /// Sends a message, and demands that the switch answers without an error.
    pub(super) fn accept(&mut self, frame: &[u8]) -> Result<(), Fault> {
        let answers = self.ask(frame)?;
        match answers.iter().find_map(Frame::error) {
            None => Ok(()),
            Some(error) => Err(Fault::Broken(format!(
                "the switch refused a valid message with {}",
                name(self.version(), error)
            ))),
        }
    }

    /// Sends a message, and demands that the switch answers with one of these errors.
    pub(super) fn refuse(&mut self, frame: &[u8], reasons: &[ErrorReason]) -> Result<(), Fault> {
        let version = self.version();
        let found = self.ask(frame)?.iter().find_map(Frame::error);
        let is_wanted =
            |error: (u16, u16)| reasons.iter().any(|reason| reason.codes(version) == Some(error));
        demand(found.is_some_and(is_wanted), || {
            let names: Vec<_> = reasons.iter().map(ToString::to_string).collect();
            let found = found.map_or_else(|| "no error".to_owned(), |error| name(version, error));
            format!("the switch answered {found} where {} is demanded", names.join(" or "))
        })
    }

    /// Sends a flow-mod, and demands that the switch accepts it.
    pub(super) fn change(&mut self, change: &Change) -> Result<(), Fault> {
        let frame = self.flow_mod(change);
        self.accept(&frame)
    }

    /// Adds a flow entry, and demands that the switch accepts it.
    pub(super) fn add(&mut self, flow: u8) -> Result<(), Fault> {
        self.change(&Change { output: Some(1), ..Change::new(Command::Add, flow) })
    }

    /// Returns the flow-mod message for a change.
    pub(super) fn flow_mod(&mut self, change: &Change) -> Vec<u8> {
        let destination = change.flow.map(|flow| MacAddress([2, 0x50, 0x4c, 0x41, 0x4e, flow]));
        let mut frame = Vec::new();
        let xid = openflow::Xid(self.session.take_xid());
        // The values of a change can all be encoded, so there is no error to handle.
        let _ = match self.version() {
            Version::V1_0 => {
                let any = v1_0::Match::any().with_dl_src(SOURCE);
                let port = |port: Option<u16>| port.map_or(v1_0::PortNo::NONE, v1_0::PortNo);
                v1_0::Message::FlowMod(v1_0::FlowMod {
                    match_fields: destination.map_or(any, |address| any.with_dl_dst(address)),
                    cookie: change.cookie,
                    command: v1_0::FlowModCommand(change.command as u16),
                    idle_timeout: change.idle,
                    hard_timeout: change.hard,
                    priority: change.priority,
                    out_port: port(change.out_port),
                    flags: v1_0::FlowModFlags(change.flags),
                    actions: change
                        .output
                        .map(|port| v1_0::Action::output(v1_0::PortNo(port)))
                        .into_iter()
                        .collect(),
                    ..v1_0::FlowMod::default()
                })
                .encode(xid, &mut frame)
            }
            Version::V1_3 => {
                let any = v1_3::Match::any().with_eth_src(SOURCE);
                let matching = match destination {
                    Some(address) => any.with_eth_dst(address),
                    None => any,
                };
                let output = change.output.map(|port| {
                    let action = v1_3::Action::output(PortNumber(port.into()));
                    v1_3::Instruction::ApplyActions(vec![action])
                });
                v1_3::Message::FlowMod(v1_3::FlowMod {
                    cookie: change.cookie,
                    cookie_mask: change.cookie_mask,
                    command: v1_3::FlowModCommand(change.command as u8),
                    idle_timeout: change.idle,
                    hard_timeout: change.hard,
                    priority: change.priority,
                    out_port: change
                        .out_port
                        .map_or(PortNumber::ANY, |port| PortNumber(port.into())),
                    flags: v1_3::FlowModFlags(change.flags),
                    ..v1_3::FlowMod::add(matching, output.into_iter().collect())
                })
                .encode(xid, &mut frame)
            }
        };
        frame
    }

    /// Returns the flow entries of the bench in table 0 of the switch, ordered by their destination
    /// and priority.
    pub(super) fn flows(&mut self) -> Result<Vec<Found>, Fault> {
        let mut frame = Vec::new();
        let xid = openflow::Xid(self.session.take_xid());
        let mut found = Vec::new();
        match self.version() {
            Version::V1_0 => {
                let request = v1_0::FlowStatsRequest {
                    match_fields: v1_0::Match::any().with_dl_src(SOURCE),
                    table_id: 0xff,
                    out_port: v1_0::PortNo::NONE,
                };
                let body = v1_0::StatsRequestBody::Flow(request);
                let _ = v1_0::Message::StatsRequest(body.into()).encode(xid, &mut frame);
                for answer in self.ask(&frame)? {
                    let Ok((_, v1_0::Message::StatsReply(reply))) =
                        v1_0::Message::decode(answer.bytes())
                    else {
                        return Err(no_flows());
                    };
                    if let v1_0::StatsReplyBody::Flow(flows) = reply.body {
                        found.extend(flows.iter().map(of_v1_0));
                    }
                }
            }
            Version::V1_3 => {
                let request = v1_3::FlowStatsRequest {
                    match_fields: v1_3::Match::any().with_eth_src(SOURCE),
                    ..v1_3::FlowStatsRequest::all()
                };
                let body = v1_3::MultipartRequestBody::Flow(request);
                let _ = v1_3::Message::MultipartRequest(body.into()).encode(xid, &mut frame);
                for answer in self.ask(&frame)? {
                    let Ok((_, v1_3::Message::MultipartReply(reply))) =
                        v1_3::Message::decode(answer.bytes())
                    else {
                        return Err(no_flows());
                    };
                    if let v1_3::MultipartReplyBody::Flow(flows) = reply.body {
                        found.extend(flows.iter().map(of_v1_3));
                    }
                }
            }
        }
        found.sort_by_key(|flow| (flow.flow, flow.priority));
        Ok(found)
    }

    /// Demands that the bench's flow entries in the switch are exactly those with these destination
    /// bytes.
    pub(super) fn has_flows(&mut self, wanted: &[u8]) -> Result<Vec<Found>, Fault> {
        let flows = self.flows()?;
        let found: Vec<u8> = flows.iter().filter_map(|flow| flow.flow).collect();
        demand(found == wanted, || {
            format!("the switch has the flows {found:?} afterwards where {wanted:?} are demanded")
        })?;
        Ok(flows)
    }

    /// Returns the next flow-removed message, or `None` if none arrives in time.
    pub(super) fn removed(&mut self) -> Result<Option<Frame>, Fault> {
        let notice = self.session.notification(MessageType::FLOW_REMOVED.0, NOTICE);
        notice.map_err(|lost| Fault::Lost(lost.0))
    }

    /// Returns a group-mod message of OpenFlow 1.3 with this command, group type and group number.
    /// Each bucket sends packets to one of `ports`.
    pub(super) fn group_mod(
        &mut self,
        command: u16,
        kind: u8,
        group: u32,
        ports: &[u32],
    ) -> Vec<u8> {
        let mut body = command.to_be_bytes().to_vec();
        body.extend([kind, 0]);
        body.extend(group.to_be_bytes());
        for port in ports {
            // A bucket of 32 bytes. Only select groups (OFPGT_SELECT, 1) have weights.
            body.extend(32_u16.to_be_bytes());
            body.extend(u16::from(kind == 1).to_be_bytes());
            body.extend(PortNumber::ANY.0.to_be_bytes());
            body.extend(u32::MAX.to_be_bytes());
            body.extend([0; 4]);
            body.extend(output_v1_3(*port));
        }
        // OFPT_GROUP_MOD.
        self.session.frame(15, &body)
    }

    /// Returns a meter-mod message of OpenFlow 1.3 with this command and meter number. Each band
    /// drops packets above one of `rates`, in kbit/s.
    pub(super) fn meter_mod(&mut self, command: u16, meter: u32, rates: &[u32]) -> Vec<u8> {
        let mut body = command.to_be_bytes().to_vec();
        // The flag OFPMF_KBPS: rates are in kbit/s.
        body.extend(1_u16.to_be_bytes());
        body.extend(meter.to_be_bytes());
        for rate in rates {
            // A band of type OFPMBT_DROP (1) and length 16.
            body.extend([0, 1, 0, 16]);
            body.extend(rate.to_be_bytes());
            body.extend([0; 8]);
        }
        // OFPT_METER_MOD.
        self.session.frame(29, &body)
    }

    /// Returns a role request of OpenFlow 1.3.
    pub(super) fn role(&mut self, role: u32, generation: u64) -> Vec<u8> {
        self.has_role = true;
        let mut body = role.to_be_bytes().to_vec();
        body.extend([0; 4]);
        body.extend(generation.to_be_bytes());
        // OFPT_ROLE_REQUEST.
        self.session.frame(24, &body)
    }

    /// Returns a multipart request of OpenFlow 1.3 or a statistics request of OpenFlow 1.0.
    pub(super) fn statistics(&mut self, kind: u16, body: &[u8]) -> Vec<u8> {
        // OFPT_STATS_REQUEST of 1.0, or OFPT_MULTIPART_REQUEST of 1.3.
        let (message, padding) = if self.is_v1_0() { (16, 0) } else { (18, 4) };
        let mut bytes = kind.to_be_bytes().to_vec();
        bytes.extend([0, 0]);
        bytes.extend(vec![0; padding]);
        bytes.extend(body);
        self.session.frame(message, &bytes)
    }

    /// Demands that the switch supports meters. Otherwise, the requirement is not applicable.
    pub(super) fn has_meters(&mut self) -> Result<(), Fault> {
        // OFPMP_METER_FEATURES, answered with OFPT_MULTIPART_REPLY (1.3.5, section 7.3.5.14).
        let request = self.statistics(11, &[]);
        let answers = self.ask(&request)?;
        let most = answers.iter().find(|answer| answer.kind() == 19).and_then(|answer| {
            answer.body().get(8..12).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes)
        });
        if most.unwrap_or(0) < METER + 4 { Err(lacks("meters")) } else { Ok(()) }
    }

    /// Adds the bench's first group, of the type that sends packets to all buckets. If the switch
    /// does not support groups, the requirement is not applicable.
    pub(super) fn first_group(&mut self) -> Result<(), Fault> {
        // OFPGC_ADD of a group of type OFPGT_ALL.
        let request = self.group_mod(0, 0, GROUP, &[1]);
        let answers = self.ask(&request)?;
        match answers.iter().find_map(Frame::error) {
            None => Ok(()),
            Some(error) if ErrorReason::BadRequestBadType.codes(self.version()) == Some(error) => {
                Err(lacks("groups"))
            }
            Some(error) => Err(Fault::Broken(format!(
                "the switch refused a valid group with {}",
                name(self.version(), error)
            ))),
        }
    }
}

/// Returns the bytes of an action that sends packets to a port, in OpenFlow 1.3.
pub(super) fn output_v1_3(port: u32) -> Vec<u8> {
    let mut action = vec![0, 0, 0, 16];
    action.extend(port.to_be_bytes());
    action.extend([0xff, 0xff, 0, 0, 0, 0, 0, 0]);
    action
}

/// Returns the fault of a switch that answers a request for its flows with a message of another
/// kind.
fn no_flows() -> Fault {
    Fault::Broken("the switch does not return its flows".to_owned())
}

fn of_v1_0(flow: &v1_0::FlowStats) -> Found {
    let outputs = flow.actions.iter().filter_map(|action| match action {
        v1_0::Action::Output { port, .. } => Some(u32::from(port.0)),
        _ => None,
    });
    Found {
        flow: flow.match_fields.dl_dst().map(|address| address.0[5]),
        priority: flow.priority,
        cookie: flow.cookie,
        idle: flow.idle_timeout,
        hard: flow.hard_timeout,
        outputs: outputs.collect(),
    }
}

fn of_v1_3(flow: &v1_3::FlowStats) -> Found {
    let actions = flow.instructions.iter().flat_map(|instruction| match instruction {
        v1_3::Instruction::ApplyActions(actions) => actions.as_slice(),
        _ => &[],
    });
    let outputs = actions.filter_map(|action| match action {
        v1_3::Action::Output { port, .. } => Some(port.0),
        _ => None,
    });
    Found {
        flow: flow.match_fields.eth_dst().map(|address| address.value.0[5]),
        priority: flow.priority,
        cookie: flow.cookie,
        idle: flow.idle_timeout,
        hard: flow.hard_timeout,
        outputs: outputs.collect(),
    }
}
