//! Completes packets of v1model that ingress has cloned, without the driver of the architecture:
//! the usual case of one clone for one port.
//!
//! The order is that of the driver (`architecture/v1model.rs`): the clone is parsed from the packet
//! as it was received, and runs through egress before the packet itself. If one of the two requests
//! another copy or pass in egress, the driver continues from there.

use super::run::{Passing, Run};
use super::{EGRESS, PARSER, Places, VERIFY};
use crate::architecture::v1model::field_lists::FieldLists;
use crate::architecture::v1model::{CloneAfterEgress, LastControl, Original};
use crate::compiled::context::{CLONES, NEW_PACKET, NO_LIST, RECIRCULATES, REQUESTS, RESUBMITS};
use crate::compiled::engine::{self, Image, part};
use crate::compiled::host::write;
use crate::compiled::step::Steps;
use crate::error::RunError;
use crate::layout::MetadataField as Of;
use crate::resolved::Offset;
use architectures::{Fate, Known, Role, Stage, instance};
use std::collections::BTreeMap;

/// The parts of the frame (the packet's working memory) that clones preserve, by the number of the
/// field list. Each part is given by its offset and size. `None` for a list whose fields the driver
/// must copy.
#[derive(Debug, Default)]
pub(super) struct Kept(BTreeMap<u32, Option<Vec<(Offset, u32)>>>);

impl Kept {
    pub(super) fn new(places: &Places<'_>) -> Self {
        let mut kept = Self::default();
        let parameter = |role| {
            let (block, position) = places.package.parameter(Stage::Ingress, &[role])?;
            places.parameter(block, position)
        };
        if let Some((type_id, place)) = parameter(Role::Metadata) {
            let shape = places.resolved.parameter_type(type_id).map(|known| &known.shape);
            for (list, paths) in FieldLists::new(places.layout, type_id).all() {
                let range = |path: &Vec<_>| {
                    let (start, size) = part(shape?, path)?;
                    Some((place.offset + start, size))
                };
                kept.0.insert(list, paths.iter().map(range).collect());
            }
        }
        // Only lists of P4_14 programs have fields of the standard metadata.
        if let Some((type_id, _)) = parameter(Role::Standard) {
            let lists = FieldLists::new(places.layout, type_id);
            lists.all().for_each(|(list, _)| _ = kept.0.insert(list, None));
        }
        kept
    }

    /// Returns the parts of the frame (the packet's working memory) that a field list preserves, or
    /// `None` if the driver must copy them.
    fn of(&self, list: u64) -> Option<&[(Offset, u32)]> {
        let list = u32::try_from(list).ok().filter(|_| list != NO_LIST);
        match list.and_then(|list| self.0.get(&list)) {
            Some(ranges) => ranges.as_deref(),
            None => Some(&[]),
        }
    }
}

/// A clone, and the packet from which it is made, at the end of ingress.
struct Cloned<'p> {
    ingress_port: u32,
    packet: &'p [u8],
    /// The length in bytes of the packet as it was received.
    length: u64,
    /// The output port of the clone. The next two fields are its instance and its maximum length.
    port: u32,
    instance: u64,
    most: Option<u64>,
    list: u64,
    /// The output port of the packet itself, or `None` if it is dropped.
    to: Option<u32>,
    /// The offset of the packet's payload.
    cursor: usize,
    /// The number of bytes by which ingress has made the packet longer.
    length_change: i64,
    truncated: u64,
}

impl Cloned<'_> {
    fn payload(&self) -> &[u8] {
        self.packet.get(self.cursor..).unwrap_or(&[])
    }
}

impl Run<'_, '_> {
    /// Completes a packet that has left its burst after ingress because ingress has requested
    /// clones. Handles only a single clone to a single port. For other requests, returns `None`
    /// without any change, so that the driver must complete the packet.
    pub(in crate::compiled) fn clone_once(
        &mut self,
        ingress_port: u32,
        packet: &[u8],
    ) -> Option<Result<(), RunError>> {
        if self.context.requests & (CLONES | RESUBMITS | RECIRCULATES) != CLONES {
            return None;
        }
        let session = self.host.state.clone_session(self.context.clone_session as u32)?;
        let [replica] = session.replicas[..] else { return None };
        if session.multicast_group.is_some() {
            return None;
        }
        // Two packets in the queue of one port would see each other.
        let to = match self.decided(&self.fast_path.glue_places.after_ingress, 0) {
            Fate::Unicast { port } if port != replica.port => Some(port),
            Fate::Drop { .. } => None,
            Fate::Unicast { .. } | Fate::Multicast { .. } | Fate::Resubmit | Fate::Recirculate => {
                return None;
            }
        };
        let list = self.context.clone_list;
        self.fast_path.kept.of(list)?;
        let cloned = Cloned {
            ingress_port,
            packet,
            length: packet.len() as u64 + self.beyond(self.packet),
            port: replica.port,
            instance: replica.instance.into(),
            most: session.packet_length,
            list,
            to,
            cursor: usize::try_from(self.context.cursor).unwrap_or(usize::MAX),
            length_change: std::mem::take(&mut self.context.length_change),
            truncated: std::mem::replace(&mut self.context.truncate, u64::MAX),
        };
        self.context.requests = 0;
        let left = self.context.end_work();
        self.context.begin_work(left, self.stop);
        let charged = self.charge(self.fast_path.costs[0]);
        let outcome = charged.and_then(|()| self.clone_and_original(&cloned));
        self.context.end_work();
        Some(outcome)
    }

    fn clone_and_original(&mut self, cloned: &Cloned<'_>) -> Result<(), RunError> {
        let begin = self.at * self.words;
        self.saved.clear();
        self.saved.extend_from_slice(&self.frames[begin..begin + self.words]);
        let clone_payload = self.parse_clone(cloned)?;
        let bytes = clone_payload.len() as u64 + self.beyond(self.packet);
        self.charge(self.core.layout.costs.of_copy(bytes as usize))?;
        self.inputs.set(Known::Instance, cloned.instance);
        self.assign(&self.fast_path.glue_places.replica);
        if self.enters_queue(cloned.port) {
            let truncated = cloned.most.unwrap_or(u64::MAX);
            let passing = Passing { payload: clone_payload, truncated, generation: 1 };
            self.inputs.set(Known::Length, cloned.length);
            self.begin_egress(cloned.port, passing, 0)?;
            if self.context.requests & REQUESTS != 0 {
                return self.driver_completes(cloned, clone_payload);
            }
            self.end_egress(cloned.port, passing)?;
        }
        self.frames[begin..begin + self.words].copy_from_slice(self.saved);
        let Some(to) = cloned.to else { return Ok(()) };
        self.assign(&self.fast_path.glue_places.to_port);
        if !self.enters_queue(to) {
            return Ok(());
        }
        let payload = cloned.payload();
        let passing = Passing { payload, truncated: cloned.truncated, generation: 0 };
        self.inputs.set(Known::Length, cloned.length.saturating_add_signed(cloned.length_change));
        self.context.length_change = 0;
        self.begin_egress(to, passing, 0)?;
        if self.context.requests & REQUESTS == 0 {
            return self.end_egress(to, passing);
        }
        // The driver completes the packet. It charges for the blocks up to egress itself, and
        // counts the whole change of the length.
        self.context.cursor = cloned.cursor as u64;
        let change = self.context.length_change.saturating_add(cloned.length_change);
        self.context.length_change = change;
        let truncated = if self.fast_path.runs[EGRESS] { self.context.truncate } else { u64::MAX };
        self.context.truncate = truncated.min(cloned.truncated);
        let left = self.context.end_work().saturating_add(self.fast_path.costs[1]);
        self.context.work_left = i64::try_from(left).unwrap_or(i64::MAX);
        self.complete_in_driver(LastControl::Egress(to), false, cloned.ingress_port, cloned.packet)
    }

    /// Parses the clone in the frame (working memory) of the packet from which it is made, and sets
    /// its metadata. Returns its payload.
    fn parse_clone<'p>(&mut self, cloned: &Cloned<'p>) -> Result<&'p [u8], RunError> {
        self.frame().fill(0);
        let fast_path = self.fast_path;
        let standard = |of: Of| fast_path.standard.get(of as usize).copied().flatten();
        if let Some(field) = standard(Of::IngressPort) {
            write(self.bytes_mut(), field, cloned.ingress_port.into());
        }
        self.load_packet(cloned.packet);
        self.block(PARSER)?;
        // The clone skips ingress, which would read the outcome.
        self.block(VERIFY)?;
        let context = &mut self.context;
        (context.checksum_error, context.length_change, context.requests) = (0, 0, 0);
        context.truncate = u64::MAX;
        let cursor = usize::try_from(context.cursor).unwrap_or(usize::MAX);
        let [_, metadata, of_switch] = fast_path.parameters[0][..] else {
            return Err(RunError::internal("parameters of a block"));
        };
        let saved = std::mem::take(self.saved);
        let frame = self.bytes_mut();
        for (offset, size) in [metadata, of_switch] {
            let range = offset as usize..(offset + size) as usize;
            frame.get_mut(range).into_iter().for_each(|bytes| bytes.fill(0));
        }
        // SAFETY: the words are that many initialized bytes, every bit pattern of which is a valid
        // `u8`, and `saved` outlives the slice.
        let before =
            unsafe { std::slice::from_raw_parts(saved.as_ptr().cast::<u8>(), saved.len() * 8) };
        for (offset, size) in fast_path.kept.of(cloned.list).unwrap_or(&[]) {
            let range = *offset as usize..(*offset + *size) as usize;
            if let (Some(to), Some(from)) = (frame.get_mut(range.clone()), before.get(range)) {
                to.copy_from_slice(from);
            }
        }
        if let Some(field) = standard(Of::InstanceType) {
            write(frame, field, instance::INGRESS_CLONE);
        }
        *self.saved = saved;
        Ok(cloned.packet.get(cursor..).unwrap_or(&[]))
    }

    /// Returns whether the architecture's rules let the current packet enter the queue of a port.
    /// If so, sets the metadata of a packet in a queue.
    fn enters_queue(&mut self, port: u32) -> bool {
        let fate = self.decided(&self.fast_path.glue_places.before_queue, port);
        if !matches!(fate, Fate::Unicast { .. }) {
            return false;
        }
        self.inputs.set(Known::QueueDepth, self.behind(port));
        self.assign(&self.fast_path.glue_places.queued);
        true
    }

    /// Lets the driver complete a clone that has requested a copy or another pass in egress, and
    /// the packet from which the clone was made.
    fn driver_completes(&mut self, cloned: &Cloned<'_>, payload: &[u8]) -> Result<(), RunError> {
        let beyond = self.beyond(self.packet);
        let begin = self.at * self.words;
        let code = self.code;
        let [at_ingress, at_egress] = &self.fast_path.parameters;
        let ([a, b, c], [d, e, f]) = (&at_ingress[..], &at_egress[..]) else {
            return Err(RunError::internal("parameters of a block"));
        };
        let bytes: Vec<u8> = self.saved.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let kept = |(offset, size): &(u32, u32)| {
            let range = *offset as usize..(*offset + *size) as usize;
            Image::Kept(bytes.get(range).unwrap_or(&[]).into())
        };
        let original = cloned.to.map(|port| Original {
            port,
            values: [kept(a), kept(b), kept(c)],
            payload: cloned.payload().to_vec(),
            length: cloned.length.saturating_add_signed(cloned.length_change),
            truncated: (cloned.truncated < u64::MAX).then_some(cloned.truncated),
        });
        let here = |(offset, size): &(u32, u32)| Image::Here { offset: *offset, size: *size };
        let arguments = [here(d), here(e), here(f)];
        let frame = self.frames.get_mut(begin..begin + self.words);
        let frame = frame.ok_or_else(|| RunError::internal("the frame of a packet of a burst"))?;
        let Self { core, context, host, interpreter, .. } = self;
        let interpreter = interpreter
            .as_deref_mut()
            .ok_or_else(|| RunError::internal("a request of a packet without an interpreter"))?;
        interpreter.beyond = beyond;
        context.requests |= NEW_PACKET;
        Steps { host, interpreter }.prepare(context);
        context.move_requests(&mut interpreter.effects);
        interpreter.add_length_change(std::mem::take(&mut context.length_change));
        let truncate = std::mem::replace(&mut context.truncate, u64::MAX);
        interpreter.effects.truncate = (truncate < u64::MAX).then_some(truncate);
        interpreter.load_packet(payload.to_vec());
        interpreter.set_work_left(context.end_work());
        let mut run = engine::Run { code, core, frame, context, host, interpreter };
        let mut outputs = Vec::new();
        let clone = CloneAfterEgress {
            ingress_port: cloned.ingress_port,
            port: cloned.port,
            length: cloned.length,
            most: cloned.most,
        };
        core.driver.complete_clone(&mut run, clone, arguments, original, &mut outputs)?;
        run.check()?;
        self.batch.push(self.packet, &outputs);
        Ok(())
    }
}
