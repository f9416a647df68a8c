//! Events of a switch: packet-ins, digests, idle entries, and packets that left because of
//! packet-outs.

use entities::plain::Form;
use entities::schema::{DigestId, MetadataId, PacketHeader};
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::{PacketMetadata, PacketOut};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use softswitch::in_process::Event;

use super::remote::Arrived;
use super::values::{self, absent, entity_fault, entry_fault, name_fault};
use super::{Left, Switch, left, run_fault, tables};
use crate::errors::{Fault, Kind};
use crate::packets::bytes;

/// An event: the name of its kind, and the arguments of its class.
type ShownEvent<'py> = (&'static str, Bound<'py, PyDict>);

/// Returns the fields of a packet-in, by name.
fn metadata<'py>(
    py: Python<'py>,
    header: Option<&PacketHeader>,
    found: &[PacketMetadata],
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for one in found {
        let field = header.and_then(|header| header.field(MetadataId(one.metadata_id)));
        let field = field.ok_or_else(|| absent("a field of a packet-in"))?;
        match field.value.bits() {
            Some(_) => {
                dict.set_item(&field.name, num_bigint::BigUint::from_bytes_be(&one.value))?
            }
            None => {
                dict.set_item(&field.name, Form::Text.show(None, &one.value))?;
            }
        }
    }
    Ok(dict)
}

fn shown<'py>(py: Python<'py>, schema: &Schema, event: &Event) -> PyResult<ShownEvent<'py>> {
    let dict = PyDict::new(py);
    let kind = match event {
        Event::PacketIn { payload, metadata: found } => {
            dict.set_item("data", PyBytes::new(py, payload))?;
            dict.set_item("metadata", metadata(py, schema.packet_in(), found)?)?;
            "packet_in"
        }
        Event::NoPacketIn { packet, reason } => {
            dict.set_item("data", PyBytes::new(py, packet))?;
            dict.set_item("reason", reason)?;
            "no_packet_in"
        }
        Event::Digest(id, data) => {
            let digest = digest(schema, *id)?;
            dict.set_item("name", entities::names::Named::short(digest))?;
            dict.set_item("data", values::shown_data(py, &digest.data, data)?)?;
            "digest"
        }
        Event::Idle(message) => {
            let entry = p4runtime::read_idle_entry(schema, message);
            let entry = entry.map_err(|error| entity_fault(&error))?;
            let table = schema.tables().get(entry.table).ok_or_else(|| absent("a table"))?;
            dict.set_item("table", entities::names::Named::short(table))?;
            dict.set_item("entry", tables::shown(py, schema, &entry)?)?;
            "idle"
        }
        Event::Sent { port, packet } => {
            dict.set_item("port", port)?;
            dict.set_item("data", PyBytes::new(py, packet))?;
            "sent"
        }
        Event::Failed(error) => {
            dict.set_item("reason", error.to_string())?;
            "failed"
        }
        // The enum may get further events.
        _ => return Err(Fault::new(Kind::Internal, "an event has no class in Python").into()),
    };
    Ok((kind, dict))
}

fn digest(schema: &Schema, id: DigestId) -> Result<&entities::schema::Digest, Fault> {
    schema.digests().get(id).ok_or_else(|| absent("a digest"))
}

#[pymethods]
impl Switch {
    /// Returns the events since the last call, the oldest first.
    fn take_events<'py>(&self, py: Python<'py>) -> PyResult<Vec<ShownEvent<'py>>> {
        let events = self.in_process()?.take_events();
        self.schema(|schema| events.iter().map(|event| shown(py, schema, event)).collect())
    }

    /// The number of events that were lost because they were not taken in time.
    #[getter]
    fn lost_events(&self) -> PyResult<u64> {
        Ok(self.in_process()?.lost_events())
    }

    /// Processes a packet-out, whose header fields are given by name.
    fn packet_out<'py>(
        &self,
        py: Python<'py>,
        packet: &Bound<'py, PyAny>,
        fields: &Bound<'py, PyDict>,
    ) -> PyResult<Left<'py>> {
        let packet = self.packet_out_message(packet, fields)?;
        let switch = self.in_process()?;
        let outputs = py.detach(|| switch.packet_out(packet));
        Ok(left(py, outputs.map_err(|error| run_fault(&error))?))
    }

    /// Sends a packet-out to the device that this switch stands for.
    fn send_packet_out(
        &self,
        py: Python<'_>,
        packet: &Bound<'_, PyAny>,
        fields: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        let packet = self.packet_out_message(packet, fields)?;
        self.remote()?.send(py, packet)
    }

    /// Waits for a message of the device that this switch stands for. Returns `None` if none
    /// arrives within the time.
    fn wait_event<'py>(
        &self,
        py: Python<'py>,
        timeout_s: f64,
    ) -> PyResult<Option<ShownEvent<'py>>> {
        let time = super::seconds("timeout_s", timeout_s)?;
        let remote = self.remote()?;
        match remote.wait_event(py, time)? {
            None => Ok(None),
            Some(Arrived::Event(event)) => shown(py, remote.schema(), &event).map(Some),
            Some(Arrived::Refused(reason)) => {
                let dict = PyDict::new(py);
                dict.set_item("reason", reason)?;
                Ok(Some(("failed", dict)))
            }
        }
    }
}

impl Switch {
    /// Returns a packet-out, whose header fields are given by name.
    fn packet_out_message(
        &self,
        packet: &Bound<'_, PyAny>,
        fields: &Bound<'_, PyDict>,
    ) -> PyResult<PacketOut> {
        let payload = bytes(packet)?;
        let metadata = self.schema(|schema| {
            let declared = schema.packet_out().map_or(&[][..], |header| &header.fields);
            let mut metadata = Vec::new();
            for (name, plain) in values::arguments(fields)? {
                let field = entities::names::find("field of packet_out", &name, declared.iter());
                let field = field.map_err(|error| name_fault(&error))?;
                let value = entities::plain::value(&field.name, field.value, &plain);
                let value = value.map_err(|error| entry_fault(&error.into()))?;
                let value = value.bytes().to_vec().into();
                metadata.push(PacketMetadata { metadata_id: field.id.0, value });
            }
            Ok(metadata)
        })?;
        Ok(PacketOut { payload: payload.as_bytes().to_vec().into(), metadata })
    }
}
