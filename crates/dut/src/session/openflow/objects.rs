//! Reads and changes the meters and groups of an OpenFlow 1.3 switch.

use std::time::Instant;

use openflow::v1_3::{GroupDesc, Message, MeterConfig, MeterId, MultipartReplyBody};
use openflow::wire::emit_empty;
use openflow::{v1_0, v1_3};

use super::replies::{Reply, barrier_types, refused};
use super::statistics::{Statistics, Wanted};
use super::{LOOK, OpenFlowChannel};
use crate::error::DutError;
use crate::window::TIMEOUT;

impl OpenFlowChannel {
    /// Sends a message of OpenFlow 1.3 and a barrier request, and waits for the barrier reply.
    /// Returns an error that mentions `what` if the switch refuses the message.
    pub(crate) fn carry_out(
        &mut self,
        what: &'static str,
        message: &Message,
    ) -> Result<(), DutError> {
        let [xid, barrier] = [self.take_xid(), self.take_xid()];
        let out = self.connection.out();
        let encoded = message.encode(xid, out);
        encoded.map_err(|error| DutError::Request { what, cause: error.to_string() })?;
        let version = self.version();
        let [request, _] = barrier_types(version);
        emit_empty(version, request, barrier, self.connection.out());
        self.flush()?;
        let begin = Instant::now();
        let (mut is_answered, mut failure) = (false, None);
        while !is_answered {
            if begin.elapsed() > TIMEOUT {
                return Err(DutError::NoAnswer { what, patience: TIMEOUT });
            }
            let has_read = self.look(&mut |reply| match reply {
                Reply::Barrier(of) => is_answered |= of == barrier,
                Reply::Error(of, refusal) if of == xid || of == barrier => {
                    failure.get_or_insert(refused(what, &refusal));
                }
                Reply::Error(..) | Reply::PacketIn(_) | Reply::FlowRemoved { .. } => {}
            })?;
            if !has_read && !is_answered {
                self.wait(LOOK)?;
            }
        }
        failure.map_or(Ok(()), Err)
    }

    /// Returns the meters of the switch, ordered by their numbers.
    pub(crate) fn meters(&mut self) -> Result<Vec<MeterConfig>, DutError> {
        let mut found = Vec::new();
        let request = v1_3::MultipartRequestBody::MeterConfig(MeterId::ALL);
        self.statistics(of_v1_3("meter configurations", request), &mut |part| {
            if let Statistics::V1_3(MultipartReplyBody::MeterConfig(meters)) = part {
                found.extend(meters);
            }
        })?;
        found.sort_by_key(|meter| meter.meter_id.0);
        Ok(found)
    }

    /// Returns the groups of the switch, ordered by their numbers.
    pub(crate) fn groups(&mut self) -> Result<Vec<GroupDesc>, DutError> {
        let mut found = Vec::new();
        let request = v1_3::MultipartRequestBody::GroupDesc;
        self.statistics(of_v1_3("group descriptions", request), &mut |part| {
            if let Statistics::V1_3(MultipartReplyBody::GroupDesc(groups)) = part {
                found.extend(groups);
            }
        })?;
        found.sort_by_key(|group| group.group_id.0);
        Ok(found)
    }
}

/// Returns a request that exists in OpenFlow 1.3 only. The part for OpenFlow 1.0 is a placeholder.
fn of_v1_3(what: &'static str, v1_3: v1_3::MultipartRequestBody) -> Wanted {
    Wanted { what, v1_0: v1_0::StatsRequestBody::Desc, v1_3 }
}
