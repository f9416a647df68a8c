//! The controller headers of packet-ins and packet-outs, as the running pipeline declares them.

use bytes::Bytes;
use entities::Translations;
use p4runtime::packet_io::SplitError;
use p4runtime::proto::v1::{PacketMetadata, PacketOut};
use p4runtime::session::Pipeline;
use std::sync::Arc;

/// The controller headers that the running pipeline declares, and the strings of its translated
/// types.
#[derive(Debug)]
pub(crate) struct ControllerHeaders {
    pub(crate) pipeline: Option<Arc<Pipeline>>,
    pub(crate) translations: Option<Arc<Translations>>,
}

impl ControllerHeaders {
    /// Divides a packet for controllers into the fields of its packet-in header and the bytes after
    /// the header. There are no fields if the program has no such header.
    pub(crate) fn split(&self, packet: Bytes) -> Result<(Vec<PacketMetadata>, Bytes), SplitError> {
        match self.pipeline.as_deref().and_then(|pipeline| pipeline.packet_in()) {
            Some(layout) => layout.split(packet, self.translations.as_deref()),
            None => Ok((Vec::new(), packet)),
        }
    }

    /// Returns the bytes of a packet-out as the program receives them: its header, and then the
    /// payload. The metadata were checked before. Returns `None` if one of them is a string that
    /// has lost its number since then.
    pub(crate) fn joined(&self, packet: PacketOut) -> Option<Bytes> {
        match self.pipeline.as_deref().and_then(|pipeline| pipeline.packet_out()) {
            Some(layout) => {
                let mut joined = layout.header(&packet.metadata, self.translations.as_deref())?;
                joined.extend_from_slice(&packet.payload);
                Some(Bytes::from(joined))
            }
            None => Some(packet.payload),
        }
    }
}
