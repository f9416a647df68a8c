//! The packets of v1model that wait for a pass through ingress or egress.

use crate::error::RunError;

/// A packet that waits to enter the parser and ingress.
pub(super) struct Ingress<V> {
    pub(super) packet: Vec<u8>,
    pub(super) port: u32,
    pub(super) metadata: V,
    pub(super) standard: V,
    pub(super) path: &'static str,
    pub(super) generation: u32,
    /// The number by which traces identify the pass.
    pub(super) number: u32,
}

/// A packet that waits in the queue of a port to enter egress.
#[derive(Clone, Debug)]
pub(crate) struct Egress<V> {
    pub(super) port: u32,
    pub(super) headers: V,
    pub(super) metadata: V,
    pub(super) standard: V,
    pub(super) payload: Vec<u8>,
    /// The length in bytes that egress reads as `packet_length`.
    pub(super) length: u64,
    /// The length in bytes of the packet as it was received. Counters and meters use it.
    pub(super) received_length: u64,
    /// The port on which the packet was received.
    pub(super) ingress_port: u32,
    /// The maximum number of bytes that are transmitted, as the clone session sets it. `None` for
    /// no limit.
    pub(super) most: Option<u64>,
    /// The maximum number of bytes that are transmitted, as `truncate` in ingress sets it. `None`
    /// for no limit.
    pub(super) truncated: Option<u64>,
    /// The priority queue of the port in which the packet waits. Larger numbers are sent first.
    pub(super) priority: u128,
    pub(super) path: &'static str,
    /// The number of resubmissions, recirculations and clones that led from the received packet to
    /// this one.
    pub(super) generation: u32,
    /// The number by which traces identify the pass. It is 0 while the packet waits in the queue of
    /// a port, because another trace continues with it afterwards.
    pub(super) number: u32,
}

impl<V> Ingress<V> {
    /// Returns a copy of the packet whose values are converted with `convert`.
    pub(super) fn converted<W>(
        &self,
        convert: &mut dyn FnMut(&V) -> Result<W, RunError>,
    ) -> Result<Ingress<W>, RunError> {
        Ok(Ingress {
            packet: self.packet.clone(),
            port: self.port,
            metadata: convert(&self.metadata)?,
            standard: convert(&self.standard)?,
            path: self.path,
            generation: self.generation,
            number: self.number,
        })
    }
}

impl<V> Egress<V> {
    /// Returns a copy of the packet whose values are converted with `convert`.
    pub(super) fn converted<W>(
        &self,
        convert: &mut dyn FnMut(&V) -> Result<W, RunError>,
    ) -> Result<Egress<W>, RunError> {
        Ok(Egress {
            port: self.port,
            headers: convert(&self.headers)?,
            metadata: convert(&self.metadata)?,
            standard: convert(&self.standard)?,
            payload: self.payload.clone(),
            length: self.length,
            received_length: self.received_length,
            ingress_port: self.ingress_port,
            most: self.most,
            truncated: self.truncated,
            priority: self.priority,
            path: self.path,
            generation: self.generation,
            number: self.number,
        })
    }

    /// Converts the packet's values with `convert`, for example to the form of another engine.
    pub(crate) fn map<W>(
        self,
        convert: &mut impl FnMut(V) -> Result<W, RunError>,
    ) -> Result<Egress<W>, RunError> {
        let Self { port, headers, metadata, standard, payload, length, received_length, .. } = self;
        Ok(Egress {
            port,
            headers: convert(headers)?,
            metadata: convert(metadata)?,
            standard: convert(standard)?,
            payload,
            length,
            received_length,
            ingress_port: self.ingress_port,
            most: self.most,
            truncated: self.truncated,
            priority: self.priority,
            path: self.path,
            generation: self.generation,
            number: self.number,
        })
    }
}
