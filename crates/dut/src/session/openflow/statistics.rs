//! Reads the statistics that an OpenFlow switch reports about its flows, tables and ports.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use openflow::v1_3::{MultipartFlags, TableFeatures, TableId};
use openflow::wire::{Header, MessageType};
use openflow::{PortNumber, Version, Xid, v1_0, v1_3};

use super::replies::{Reply, refusal, refused};
use super::{LOOK, OpenFlowChannel};
use crate::error::DutError;
use crate::flows::{FlowEntry, FlowIdentity, PRIORITY, ReportedMatch};
use crate::window::TIMEOUT;

/// The time within which a switch must list the flows that it has accepted and no longer list those
/// that it has deleted.
const LISTED: Duration = Duration::from_secs(1);
/// The pause between two requests for the list of flows.
const PAUSE: Duration = Duration::from_millis(50);

/// A flow entry that the switch lists.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ReportedFlow {
    table: u8,
    pub(super) priority: u16,
    pub(super) matching: ReportedMatch,
    /// Whether the entry has no timeout, so that it stays until it is deleted.
    is_permanent: bool,
}

impl ReportedFlow {
    pub(super) fn identity(&self) -> FlowIdentity {
        FlowIdentity::of(self.table, self.priority, &self.matching)
    }
}

/// The largest number of parts that an answer may consist of. A part has at most 64 KiB, and a
/// switch with a million flows sends about 1,500 of them.
const MAX_PARTS: usize = 1 << 15;

/// One part of the answer to a request for statistics.
pub(super) enum Statistics {
    V1_0(v1_0::StatsReplyBody),
    V1_3(v1_3::MultipartReplyBody),
}

/// A request for statistics, as each OpenFlow version expresses it.
pub(super) struct Wanted {
    pub(super) what: &'static str,
    pub(super) v1_0: v1_0::StatsRequestBody,
    pub(super) v1_3: v1_3::MultipartRequestBody,
}

impl OpenFlowChannel {
    /// Returns the number of flows of this measurement that the switch accepted but does not list.
    /// The switch has a second to list them.
    pub(crate) fn missing(&mut self) -> Result<u64, DutError> {
        self.settled(u64::saturating_sub)
    }

    /// Returns by how many flows of this measurement the list of the switch is too long or too
    /// short. It is too long if the switch loses deletions. The switch has a second to update the
    /// list.
    pub(crate) fn wrong(&mut self) -> Result<u64, DutError> {
        self.settled(u64::abs_diff)
    }

    /// Compares the number of flows that the switch accepted with the number that it lists, with
    /// the function `difference`. Repeats this for a second unless the difference is zero. Returns
    /// the last difference.
    fn settled(&mut self, difference: fn(u64, u64) -> u64) -> Result<u64, DutError> {
        let begin = Instant::now();
        loop {
            let found = difference(self.accepted, self.own()?);
            if found == 0 || begin.elapsed() > LISTED {
                return Ok(found);
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Returns the number of flows of this measurement that the switch lists.
    fn own(&mut self) -> Result<u64, DutError> {
        if self.version() == Version::V1_0 {
            // OpenFlow 1.0 cannot select flows by their cookie.
            let flows = self.flows()?;
            return Ok(self.own_of(&flows).count() as u64);
        }
        let selected = v1_3::FlowStatsRequest {
            cookie: self.maker.cookie,
            cookie_mask: u64::MAX,
            ..v1_3::FlowStatsRequest::all()
        };
        let wanted = Wanted {
            what: "aggregate statistics",
            v1_0: v1_0::StatsRequestBody::Aggregate(v1_0::FlowStatsRequest::default()),
            v1_3: v1_3::MultipartRequestBody::Aggregate(selected),
        };
        let mut count = 0;
        self.statistics(wanted, &mut |part| {
            if let Statistics::V1_3(v1_3::MultipartReplyBody::Aggregate(sums)) = part {
                count += u64::from(sums.flow_count);
            }
        })?;
        Ok(count)
    }

    /// Returns those of `flows` that this measurement has inserted.
    fn own_of<'a>(&'a self, flows: &'a [ReportedFlow]) -> impl Iterator<Item = &'a ReportedFlow> {
        let maker = &self.maker;
        flows.iter().filter(move |flow| {
            let is_made = flow.priority == PRIORITY && maker.value_of(&flow.matching).is_some()
                || flow.priority == PRIORITY - 1 && maker.is_rest(&flow.matching);
            let is_made = is_made
                || maker.own().is_some_and(|own| own.beneath() == flow.priority)
                    && maker.is_rest(&flow.matching);
            let is_own =
                || !self.identities.is_empty() && self.identities.contains(&flow.identity());
            (is_made || is_own()) && !self.before.contains(*flow)
        })
    }

    /// Returns the number of flows of the measurement that are still in the switch. If there are
    /// none, returns the negated number of permanent flows that have disappeared since the
    /// measurement began.
    ///
    /// The switch has a second to delete flows, since a barrier reply may come before the deletion
    /// takes effect.
    pub(crate) fn difference(&mut self) -> Result<i64, DutError> {
        let begin = Instant::now();
        loop {
            let after = self.flows()?;
            let left = self.own_of(&after).count() as i64;
            let after: HashSet<&ReportedFlow> = after.iter().collect();
            let is_gone = |flow: &&ReportedFlow| flow.is_permanent && !after.contains(flow);
            let gone = self.before.iter().filter(is_gone).count() as i64;
            if left == 0 || begin.elapsed() > LISTED {
                return Ok(if left > 0 { left } else { -gone });
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Reads all flows of the switch, and returns their number.
    pub(crate) fn read(&mut self) -> Result<usize, DutError> {
        let mut count = 0;
        self.statistics(all_flows(), &mut |part| {
            count += match part {
                Statistics::V1_0(v1_0::StatsReplyBody::Flow(flows)) => flows.len(),
                Statistics::V1_3(v1_3::MultipartReplyBody::Flow(flows)) => flows.len(),
                Statistics::V1_0(_) | Statistics::V1_3(_) => 0,
            };
        })?;
        Ok(count)
    }

    /// Returns all flows of the switch.
    pub(super) fn flows(&mut self) -> Result<Vec<ReportedFlow>, DutError> {
        let mut found = Vec::new();
        self.statistics(all_flows(), &mut |part| match part {
            Statistics::V1_0(v1_0::StatsReplyBody::Flow(flows)) => {
                found.extend(flows.into_iter().map(|flow| ReportedFlow {
                    table: flow.table_id,
                    priority: flow.priority,
                    matching: ReportedMatch::V1_0(Box::new(flow.match_fields)),
                    is_permanent: (flow.idle_timeout, flow.hard_timeout) == (0, 0),
                }));
            }
            Statistics::V1_3(v1_3::MultipartReplyBody::Flow(flows)) => {
                found.extend(flows.into_iter().map(|flow| ReportedFlow {
                    table: flow.table_id.0,
                    priority: flow.priority,
                    matching: ReportedMatch::V1_3(flow.match_fields),
                    is_permanent: (flow.idle_timeout, flow.hard_timeout) == (0, 0),
                }));
            }
            Statistics::V1_0(_) | Statistics::V1_3(_) => {}
        })?;
        Ok(found)
    }

    /// Requests the statistics of a flow entry.
    pub(crate) fn ask_packets(&mut self, entry: FlowEntry) -> Result<CountRequest, DutError> {
        let (version, xid, table) = (self.version(), self.take_xid(), self.table());
        let failed = |error: &dyn std::fmt::Display| malformed("flow statistics", error);
        let reported =
            self.maker.reported(version, entry.selects).map_err(|error| failed(&error))?;
        let priority = self.maker.priority(entry.selects);
        let identity = FlowIdentity::of(table, priority, &reported);
        let out = self.connection.out();
        let encoded = match reported {
            ReportedMatch::V1_0(matching) => {
                let asked = v1_0::FlowStatsRequest {
                    match_fields: *matching,
                    table_id: table,
                    ..v1_0::FlowStatsRequest::default()
                };
                v1_0::Message::StatsRequest(v1_0::StatsRequestBody::Flow(asked).into())
                    .encode(xid, out)
            }
            ReportedMatch::V1_3(match_fields) => {
                let asked = v1_3::FlowStatsRequest {
                    match_fields,
                    table_id: TableId(table),
                    ..v1_3::FlowStatsRequest::all()
                };
                v1_3::Message::MultipartRequest(v1_3::MultipartRequestBody::Flow(asked).into())
                    .encode(xid, out)
            }
        };
        encoded.map_err(|error| failed(&error))?;
        self.flush()?;
        Ok(CountRequest { xid, identity, packets: None })
    }

    /// Checks once whether the request is answered, and returns the number of packets that the flow
    /// entry has counted. Returns `None` if the answer has not arrived.
    ///
    /// # Errors
    /// Returns an error if the switch refuses the request, or does not list the flow entry.
    pub(crate) fn look_for_packets(
        &mut self,
        request: &mut CountRequest,
    ) -> Result<Option<u64>, DutError> {
        const WHAT: &str = "flow statistics";
        self.flush()?;
        let version = self.version();
        let Self { connection, confirmed, .. } = self;
        let mut outcome = Ok(false);
        connection.receive(&mut |frame| {
            let Ok(header) = Header::new_checked(frame) else { return };
            if header.xid() != request.xid {
                Reply::of(version, frame).iter().for_each(|reply| confirmed.note(reply));
            } else if header.message_type() == MessageType::ERROR {
                outcome = Err(refused(WHAT, &refusal(version, &header)));
            } else if matches!(outcome, Ok(false)) {
                outcome = part(version, frame, WHAT).map(|(statistics, is_last)| {
                    request.note(&statistics);
                    is_last
                });
            }
        })?;
        match (outcome?, request.packets) {
            (false, _) => Ok(None),
            (true, Some(packets)) => Ok(Some(packets)),
            (true, None) => Err(DutError::Malformed {
                what: WHAT,
                cause: "the flow entry is not listed".to_owned(),
            }),
        }
    }

    /// Requests the number of entries that the table can hold, and waits for it.
    pub(super) fn ask_size(&mut self) -> Result<Option<u64>, DutError> {
        let (mut size, own) = (None, self.table());
        let wanted = Wanted {
            what: "table statistics",
            v1_0: v1_0::StatsRequestBody::Table,
            v1_3: v1_3::MultipartRequestBody::TableFeatures(Vec::new()),
        };
        self.statistics(wanted, &mut |part| {
            let found = match part {
                Statistics::V1_0(v1_0::StatsReplyBody::Table(tables)) => {
                    tables.iter().find(|table| table.table_id == own).map(|table| table.max_entries)
                }
                Statistics::V1_3(v1_3::MultipartReplyBody::TableFeatures(tables)) => {
                    let is_own = |table: &&TableFeatures| table.table_id == TableId(own);
                    tables.iter().find(is_own).map(|table| table.max_entries)
                }
                Statistics::V1_0(_) | Statistics::V1_3(_) => None,
            };
            size = size.or(found);
        })?;
        Ok(size.map(u64::from).filter(|size| *size > 0))
    }

    pub(super) fn ask_description(&mut self) -> Result<Option<String>, DutError> {
        let mut description = None;
        let wanted = Wanted {
            what: "description",
            v1_0: v1_0::StatsRequestBody::Desc,
            v1_3: v1_3::MultipartRequestBody::Desc,
        };
        self.statistics(wanted, &mut |part| {
            description = match part {
                Statistics::V1_0(v1_0::StatsReplyBody::Desc(desc)) => {
                    Some([desc.mfr_desc, desc.hw_desc, desc.sw_desc].map(|text| text.to_string()))
                }
                Statistics::V1_3(v1_3::MultipartReplyBody::Desc(desc)) => {
                    Some([desc.mfr_desc, desc.hw_desc, desc.sw_desc].map(|text| text.to_string()))
                }
                Statistics::V1_0(_) | Statistics::V1_3(_) => None,
            };
        })?;
        // Whatever a switch calls itself is one line of the report.
        let plain = |text: String| text.chars().filter(|one| !one.is_control()).collect();
        Ok(description.map(|parts| plain(parts.join(", "))))
    }

    /// Requests the numbers of the switch's ports, and waits for them.
    pub(super) fn ask_ports(&mut self) -> Result<Vec<u32>, DutError> {
        let mut ports: Vec<PortNumber> = Vec::new();
        match self.version() {
            Version::V1_0 => {
                let xid = self.take_xid();
                let encoded = v1_0::Message::FeaturesRequest.encode(xid, self.connection.out());
                encoded.map_err(|error| malformed("features", &error))?;
                self.exchange("features", xid, &mut |frame| {
                    let (_, message) = v1_0::Message::decode(frame)
                        .map_err(|error| malformed("features", &error))?;
                    if let v1_0::Message::FeaturesReply(features) = message {
                        ports.extend(
                            features.ports.iter().map(|port| PortNumber::from(port.port_no)),
                        );
                    }
                    Ok(true)
                })?;
            }
            Version::V1_3 => {
                let wanted = Wanted {
                    what: "port descriptions",
                    v1_0: v1_0::StatsRequestBody::Desc,
                    v1_3: v1_3::MultipartRequestBody::PortDesc,
                };
                self.statistics(wanted, &mut |part| {
                    if let Statistics::V1_3(v1_3::MultipartReplyBody::PortDesc(found)) = part {
                        ports.extend(found.iter().map(|port| port.port_no));
                    }
                })?;
            }
        }
        let mut numbers: Vec<u32> =
            ports.into_iter().filter(|port| *port < PortNumber::MAX).map(|port| port.0).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    pub(super) fn take_xid(&mut self) -> Xid {
        let xid = Xid(self.next_xid);
        self.next_xid += 1;
        xid
    }

    /// Requests statistics, and passes each part of the answer to `take`. Waits until the answer is
    /// complete.
    pub(super) fn statistics(
        &mut self,
        wanted: Wanted,
        take: &mut dyn FnMut(Statistics),
    ) -> Result<(), DutError> {
        let (version, xid, what) = (self.version(), self.take_xid(), wanted.what);
        let out = self.connection.out();
        let encoded = match version {
            Version::V1_0 => v1_0::Message::StatsRequest(wanted.v1_0.into()).encode(xid, out),
            Version::V1_3 => v1_3::Message::MultipartRequest(wanted.v1_3.into()).encode(xid, out),
        };
        encoded.map_err(|error| malformed(what, &error))?;
        let mut parts = 0;
        self.exchange(what, xid, &mut |frame| {
            parts += 1;
            if parts > MAX_PARTS {
                return Err(malformed(what, &format!("it has more than {MAX_PARTS} parts")));
            }
            let (statistics, is_last) = part(version, frame, what)?;
            take(statistics);
            Ok(is_last)
        })
    }

    /// Sends what is still unsent, and passes each message with the transaction id `xid` to `take`
    /// until `take` returns true.
    fn exchange(
        &mut self,
        what: &'static str,
        xid: Xid,
        take: &mut dyn FnMut(&[u8]) -> Result<bool, DutError>,
    ) -> Result<(), DutError> {
        self.flush()?;
        let version = self.version();
        let mut heard = Instant::now();
        let mut outcome = Ok(false);
        loop {
            let Self { connection, confirmed, .. } = self;
            let has_read = connection.receive(&mut |frame| {
                let Ok(header) = Header::new_checked(frame) else { return };
                let is_error = header.message_type() == MessageType::ERROR;
                if header.xid() != xid {
                    Reply::of(version, frame).iter().for_each(|reply| confirmed.note(reply));
                } else if matches!(outcome, Ok(false)) {
                    heard = Instant::now();
                    outcome = match is_error {
                        true => Err(refused(what, &refusal(version, &header))),
                        false => take(frame),
                    };
                }
            })?;
            match std::mem::replace(&mut outcome, Ok(false)) {
                Ok(true) => return Ok(()),
                Err(error) => return Err(error),
                Ok(false) if heard.elapsed() > TIMEOUT => {
                    return Err(DutError::NoAnswer { what, patience: TIMEOUT });
                }
                Ok(false) if has_read => {}
                Ok(false) => {
                    self.connection.wait(LOOK)?;
                    self.flush()?;
                }
            }
        }
    }
}

/// An unanswered request for the packet count of a flow entry.
pub(crate) struct CountRequest {
    xid: Xid,
    identity: FlowIdentity,
    /// The packet count of the flow entry, once a part of the answer contains it.
    packets: Option<u64>,
}

impl CountRequest {
    fn note(&mut self, part: &Statistics) {
        match part {
            Statistics::V1_0(v1_0::StatsReplyBody::Flow(flows)) => {
                for flow in flows {
                    let matching = ReportedMatch::V1_0(Box::new(flow.match_fields));
                    self.take(flow.table_id, flow.priority, &matching, flow.packet_count);
                }
            }
            Statistics::V1_3(v1_3::MultipartReplyBody::Flow(flows)) => {
                for flow in flows {
                    let matching = ReportedMatch::V1_3(flow.match_fields.clone());
                    self.take(flow.table_id.0, flow.priority, &matching, flow.packet_count);
                }
            }
            Statistics::V1_0(_) | Statistics::V1_3(_) => {}
        }
    }

    fn take(&mut self, table: u8, priority: u16, matching: &ReportedMatch, packets: u64) {
        if FlowIdentity::of(table, priority, matching) == self.identity {
            self.packets = Some(packets);
        }
    }
}

/// Parses a part of an answer. Also returns whether it is the last part.
fn part(
    version: Version,
    frame: &[u8],
    what: &'static str,
) -> Result<(Statistics, bool), DutError> {
    match version {
        Version::V1_0 => match v1_0::Message::decode(frame) {
            Ok((_, v1_0::Message::StatsReply(reply))) => {
                let is_last = !reply.flags.contains(v1_0::StatsReplyFlags::MORE);
                Ok((Statistics::V1_0(reply.body), is_last))
            }
            Ok(_) => Err(malformed(what, &"another message")),
            Err(error) => Err(malformed(what, &error)),
        },
        Version::V1_3 => match v1_3::Message::decode(frame) {
            Ok((_, v1_3::Message::MultipartReply(reply))) => {
                let is_last = !reply.flags.contains(MultipartFlags::MORE);
                Ok((Statistics::V1_3(reply.body), is_last))
            }
            Ok(_) => Err(malformed(what, &"another message")),
            Err(error) => Err(malformed(what, &error)),
        },
    }
}

/// Returns the request for all flows of all tables.
fn all_flows() -> Wanted {
    Wanted {
        what: "flow statistics",
        v1_0: v1_0::StatsRequestBody::Flow(v1_0::FlowStatsRequest::default()),
        v1_3: v1_3::MultipartRequestBody::Flow(v1_3::FlowStatsRequest::all()),
    }
}

fn malformed(what: &'static str, cause: &dyn std::fmt::Display) -> DutError {
    DutError::Malformed { what, cause: cause.to_string() }
}
