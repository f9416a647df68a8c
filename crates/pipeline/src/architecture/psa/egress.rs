//! A packet of PSA that waits for its pass through egress.

use super::shared::Shared;
use crate::error::RunError;
use crate::layout::PacketPath;

/// A pass through egress, with the values with which it starts.
#[derive(Clone, Debug)]
pub(crate) struct Egress<V> {
    pub(super) packet: Vec<u8>,
    pub(super) port: u32,
    pub(super) path: PacketPath,
    pub(super) instance: u16,
    pub(super) class_of_service: u64,
    /// The value with which the user-defined metadata start in egress.
    pub(super) metadata: V,
    pub(super) normal: V,
    pub(super) cloned_at_ingress: V,
    pub(super) cloned_at_egress: V,
    /// The packet's user-defined metadata, one value for each type. Only programs that follow
    /// psa_switch use it.
    pub(super) shared: Shared<V>,
    /// The length in bytes that counters and meters use for the packet.
    pub(super) counted_length: u64,
    /// The number of resubmissions, recirculations and clones that led from the received packet to
    /// this one.
    pub(super) generation: u32,
    /// The number by which traces identify the pass. It is 0 while the packet waits in the queue of
    /// a port, because another trace continues with it afterwards.
    pub(super) number: u32,
}

impl<V> Egress<V> {
    /// Converts the packet's values with `convert`, for example to the form of another engine.
    pub(crate) fn map<W>(
        self,
        convert: &mut impl FnMut(V) -> Result<W, RunError>,
    ) -> Result<Egress<W>, RunError> {
        Ok(Egress {
            packet: self.packet,
            port: self.port,
            path: self.path,
            instance: self.instance,
            class_of_service: self.class_of_service,
            metadata: convert(self.metadata)?,
            normal: convert(self.normal)?,
            cloned_at_ingress: convert(self.cloned_at_ingress)?,
            cloned_at_egress: convert(self.cloned_at_egress)?,
            shared: self.shared.map(convert)?,
            counted_length: self.counted_length,
            generation: self.generation,
            number: self.number,
        })
    }
}
