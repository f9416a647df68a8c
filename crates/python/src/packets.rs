//! Packets, between Python and the switch: `bytes` objects are borrowed, arrays are copied once.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyString};

use crate::errors::{Fault, Kind};

/// The bytes of a packet that Python code passed: `bytes`, or an object that becomes `bytes`, such
/// as a `bytearray`, a `memoryview` or a packet of scapy.
pub(crate) fn bytes<'py>(packet: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    if let Ok(bytes) = packet.cast::<PyBytes>() {
        return Ok(bytes.clone());
    }
    // `bytes(5)` would be five zeros.
    if packet.is_instance_of::<PyInt>() || packet.is_instance_of::<PyString>() {
        let class = packet.get_type().name()?;
        return Err(PyTypeError::new_err(format!("a packet is bytes, not {class}")));
    }
    let made = packet.py().get_type::<PyBytes>().call1((packet,))?;
    made.cast_into::<PyBytes>().map_err(Into::into)
}

/// Packets that lie one after the other in memory, as in Arrow's large binary.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    data: Vec<u8>,
    offsets: Vec<i64>,
    ports: Vec<u32>,
    /// The position of the packet that caused each of these.
    sources: Vec<u32>,
}

/// The arrays of packets: data, offsets, ports, sources.
pub(crate) type Arrays<'py> = (
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u32>>,
);

impl Packed {
    /// Returns an empty list, with memory for `packets` packets of `bytes` bytes together.
    pub(crate) fn with_capacity(packets: usize, bytes: usize) -> Self {
        let mut offsets = Vec::with_capacity(packets + 1);
        offsets.push(0);
        let (ports, sources) = (Vec::with_capacity(packets), Vec::with_capacity(packets));
        Self { data: Vec::with_capacity(bytes), offsets, ports, sources }
    }

    pub(crate) fn push(&mut self, source: usize, port: u32, packet: &[u8]) {
        self.data.extend_from_slice(packet);
        self.offsets.push(i64::try_from(self.data.len()).unwrap_or(i64::MAX));
        self.ports.push(port);
        self.sources.push(u32::try_from(source).unwrap_or(u32::MAX));
    }

    /// Returns the packets as arrays, without copying them.
    pub(crate) fn into_arrays(self, py: Python<'_>) -> Arrays<'_> {
        (
            PyArray1::from_vec(py, self.data),
            PyArray1::from_vec(py, self.offsets),
            PyArray1::from_vec(py, self.ports),
            PyArray1::from_vec(py, self.sources),
        )
    }
}

/// Packets in arrays, copied so that other threads cannot change them.
#[derive(Debug)]
pub(crate) struct Copied {
    data: Vec<u8>,
    offsets: Vec<i64>,
}

impl Copied {
    pub(crate) fn new(
        data: &PyReadonlyArray1<'_, u8>,
        offsets: &PyReadonlyArray1<'_, i64>,
    ) -> Self {
        let (data, offsets) = (data.as_array().to_vec(), offsets.as_array().to_vec());
        Self { data, offsets }
    }

    /// Returns the packets.
    ///
    /// # Errors
    /// Returns an error if an offset is before the one in front of it, or beyond the data.
    pub(crate) fn packets(&self) -> Result<Vec<&[u8]>, Fault> {
        let packet = |(position, ends): (usize, &[i64])| {
            let end = |at: usize| ends.get(at).and_then(|end| usize::try_from(*end).ok());
            let range = end(0).zip(end(1)).map(|(start, end)| start..end);
            range.and_then(|range| self.data.get(range)).ok_or_else(|| {
                Fault::new(Kind::Input, "the offsets of a packet are wrong")
                    .at(format!("packet {position}"))
                    .mended_by("offsets begin at 0, do not decrease, and end within the data")
            })
        };
        self.offsets.windows(2).enumerate().map(packet).collect()
    }
}
