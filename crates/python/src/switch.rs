//! Switches in process: packets and time in, packets and events out; and devices that run already.

mod arrays;
mod events;
mod groups;
mod remote;
mod tables;
mod values;

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use entities::{Entity, Selection};
use numpy::PyReadonlyArray1;
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::{Update, write_request::Atomicity};
use pipeline::{Detail, Output, Path, RunError, V1ModelSettings};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use softswitch::in_process::{
    InProcessConfig, InProcessSwitch, Passing, ServedInProcess, ServingError,
};
use traces::{Contents, Effects, Format};

use self::remote::{Attachment, Remote};
use self::values::entity_fault;
use crate::errors::{Fault, Kind};
use crate::interrupts::{Signals, watched};
use crate::packets::{Arrays, Copied, Packed, bytes};
use crate::program::Program;

/// The P4Runtime id of every switch in process.
const DEVICE: u64 = 1;

/// A switch in process, or a device that runs already. Both have the tables, arrays and groups of a
/// program, which are read and written by name.
#[pyclass(frozen, module = "planimeter._native")]
pub(crate) struct Switch {
    target: Target,
}

/// The switch behind the Python object.
enum Target {
    /// A switch in process.
    InProcess(InProcessSwitch),
    /// A device behind a P4Runtime server.
    Remote(Remote),
}

/// Packets that leave, each with its port.
type Left<'py> = Vec<(u32, Bound<'py, PyBytes>)>;

/// A batch's packets that leave, and the positions of packets with which the program failed, each
/// with the reason.
type BatchLeft<'py> = (Arrays<'py>, Vec<(usize, String)>);

/// A traced packet: what left, the error if the program failed, and the trace as short text, as
/// full text and as JSON.
type TracedPacket<'py> = (Left<'py>, Option<String>, String, String, String);

fn left(py: Python<'_>, outputs: Vec<Output>) -> Left<'_> {
    outputs.into_iter().map(|out| (out.port, PyBytes::new(py, &out.packet))).collect()
}

fn run_fault(error: &RunError) -> Fault {
    Fault::new(Kind::Program, format!("the program failed with the packet: {error}"))
}

fn seconds(text: &str, value: f64) -> Result<Duration, Fault> {
    Duration::try_from_secs_f64(value).map_err(|error| {
        Fault::new(Kind::Input, format!("{value} is not a time: {error}")).at(text)
    })
}

/// Returns how much of a trace is recorded.
fn detail(name: &str) -> Result<Detail, Fault> {
    match name {
        "passes" => Ok(Detail::Passes),
        "steps" => Ok(Detail::Steps),
        "values" => Ok(Detail::Values),
        _ => Err(Fault::new(Kind::Input, format!("'{name}' is not a detail of a trace"))
            .mended_by("write 'passes', 'steps' or 'values'")),
    }
}

#[pymethods]
impl Switch {
    #[new]
    fn new(
        py: Python<'_>,
        program: &Bound<'_, Program>,
        path: &str,
        seed: u64,
        cpu_port: u32,
    ) -> PyResult<Self> {
        let path = match path {
            "compiled" => Path::Compiled,
            "interpreter" => Path::Interpreter,
            _ => {
                let what = format!("'{path}' is no path of execution");
                let remedy = "write 'compiled' or 'interpreter'";
                return Err(Fault::new(Kind::Input, what).at("path").mended_by(remedy).into());
            }
        };
        let v1model = V1ModelSettings::default();
        let config = InProcessConfig { id: DEVICE, path, seed, cpu_port, v1model };
        let program = program.get();
        let made = py.detach(|| InProcessSwitch::new(config, program.config().clone()));
        let switch = made.map_err(|error| {
            let fault = Fault::new(Kind::Program, error.message());
            match path {
                Path::Compiled => fault.mended_by("path='interpreter' runs every program"),
                Path::Interpreter => fault,
            }
        })?;
        Ok(Self { target: Target::InProcess(switch) })
    }

    /// Connects to a device that runs already.
    #[staticmethod]
    fn attach(
        py: Python<'_>,
        address: String,
        device_id: u64,
        role: String,
        election_id: Option<u128>,
        timeout_s: f64,
        p4info: Option<Vec<u8>>,
    ) -> PyResult<Self> {
        let patience = seconds("timeout_s", timeout_s)?;
        let to = Attachment { address, device_id, role, election_id, patience, p4info };
        Ok(Self { target: Target::Remote(Remote::connect(py, to)?) })
    }

    /// Ends the connection to a device. A switch in process has none.
    fn close(&self, py: Python<'_>) {
        if let Target::Remote(remote) = &self.target {
            remote.close(py);
        }
    }

    /// Processes a packet. Returns the packets that leave.
    fn process<'py>(
        &self,
        py: Python<'py>,
        packet: &Bound<'py, PyAny>,
        port: u32,
    ) -> PyResult<Left<'py>> {
        let packet = bytes(packet)?;
        let packet = packet.as_bytes();
        let switch = self.in_process()?;
        let outputs = py.detach(|| switch.process(port, packet));
        Ok(left(py, outputs.map_err(|error| run_fault(&error))?))
    }

    /// Processes packets in a list, all of which arrive on one port, or each on its own.
    fn process_list<'py>(
        &self,
        py: Python<'py>,
        packets: &Bound<'py, PyList>,
        port: u32,
        ports: Option<Vec<u32>>,
    ) -> PyResult<BatchLeft<'py>> {
        let packets = packets.iter().map(|packet| bytes(&packet)).collect::<PyResult<Vec<_>>>()?;
        let packets: Vec<&[u8]> = packets.iter().map(|packet| packet.as_bytes()).collect();
        let work = |signals: &Signals| self.batch(&packets, port, ports.as_deref(), signals);
        let (packed, errors) = watched(py, work)??;
        Ok((packed.into_arrays(py), errors))
    }

    /// Processes packets in arrays, like `process_list`.
    fn process_arrays<'py>(
        &self,
        py: Python<'py>,
        data: PyReadonlyArray1<'py, u8>,
        offsets: PyReadonlyArray1<'py, i64>,
        port: u32,
        ports: Option<PyReadonlyArray1<'py, u32>>,
    ) -> PyResult<BatchLeft<'py>> {
        let copied = Copied::new(&data, &offsets);
        let ports = ports.map(|ports| ports.as_array().to_vec());
        drop((data, offsets));
        let work =
            |signals: &Signals| self.batch(&copied.packets()?, port, ports.as_deref(), signals);
        let (packed, errors) = watched(py, work)??;
        Ok((packed.into_arrays(py), errors))
    }

    /// Processes a packet in the interpreter, and returns its trace. If `lasting` is false, the
    /// packet is only tried.
    #[pyo3(signature = (packet, port, lasting, detail, outcomes))]
    fn trace<'py>(
        &self,
        py: Python<'py>,
        packet: &Bound<'py, PyAny>,
        port: u32,
        lasting: bool,
        detail: &str,
        outcomes: Option<u64>,
    ) -> PyResult<TracedPacket<'py>> {
        let packet = bytes(packet)?;
        let packet = packet.as_bytes();
        let contents = Contents { detail: self::detail(detail)?, outcomes };
        let effects = if lasting { Effects::Lasting } else { Effects::None };
        let switch = self.in_process()?;
        let (outputs, texts) = py.detach(|| {
            let traced = switch.trace(port, packet, contents, effects);
            let text =
                |format: Format| String::from_utf8_lossy(&format.bytes(&traced.trace)).into_owned();
            let texts = [Format::Text, Format::VerboseText, Format::Json].map(text);
            (traced.outputs, texts)
        });
        let [short, long, json] = texts;
        let (outputs, error) = match outputs {
            Ok(outputs) => (left(py, outputs), None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        Ok((outputs, error, short, long, json))
    }

    /// The time since the switch was made, in seconds.
    #[getter]
    fn now_s(&self) -> PyResult<f64> {
        Ok(self.in_process()?.now().as_secs_f64())
    }

    /// Advances the time.
    fn advance(&self, py: Python<'_>, by_s: f64) -> PyResult<()> {
        let by = seconds("seconds", by_s)?;
        let switch = self.in_process()?;
        py.detach(|| switch.advance(by)).map_err(|error| {
            Fault::new(Kind::Refused, error.to_string())
                .mended_by("serve the switch with clock='virtual'")
                .into()
        })
    }

    /// Sets whether a port is up.
    fn set_port_up(&self, port: u32, up: bool) -> PyResult<()> {
        self.in_process()?.ports().set_port_up(port, up);
        Ok(())
    }

    /// Serves P4Runtime on an address until the server is stopped.
    fn serve(&self, py: Python<'_>, address: &str, clock: &str) -> PyResult<Server> {
        let address: SocketAddr = address.parse().map_err(|_| {
            Fault::new(Kind::Input, format!("'{address}' is no address"))
                .at("address")
                .mended_by("write an IP address and a port, such as 127.0.0.1:0")
        })?;
        let passing = match clock {
            "wall" => Passing::Wall,
            "virtual" => Passing::Virtual,
            _ => {
                let what = format!("'{clock}' is no clock");
                let fault = Fault::new(Kind::Input, what).at("clock");
                return Err(fault.mended_by("write 'wall' or 'virtual'").into());
            }
        };
        let switch = self.in_process()?;
        let served = py.detach(|| switch.serve(address, passing)).map_err(|error| {
            let kind = match error {
                ServingError::Served => Kind::Refused,
                ServingError::Listen { .. } | ServingError::System(_) => Kind::System,
                _ => Kind::Internal,
            };
            let fault = Fault::new(kind, error.to_string());
            match kind {
                Kind::Refused => fault.mended_by("stop the other server first"),
                Kind::System => fault.mended_by("port 0 selects a free port"),
                _ => fault,
            }
        })?;
        let address = served.address().to_string();
        Ok(Server { served: Mutex::new(Some(served)), address })
    }
}

impl Switch {
    /// Processes packets, all at the present time, unless a handler of a signal raises an exception
    /// meanwhile. The rest of them is then left out.
    fn batch(
        &self,
        packets: &[&[u8]],
        port: u32,
        ports: Option<&[u32]>,
        signals: &Signals,
    ) -> Result<(Packed, Vec<(usize, String)>), Fault> {
        if let Some(ports) = ports
            && ports.len() != packets.len()
        {
            let what = format!("{} ports for {} packets", ports.len(), packets.len());
            return Err(Fault::new(Kind::Input, what).at("port"));
        }
        let of = |at: usize| ports.and_then(|ports| ports.get(at)).copied().unwrap_or(port);
        let arriving: Vec<(u32, &[u8])> =
            packets.iter().enumerate().map(|(at, packet)| (of(at), *packet)).collect();
        let bytes = packets.iter().map(|packet| packet.len()).sum();
        let mut packed = Packed::with_capacity(packets.len(), bytes);
        let switch = self.in_process()?;
        let now = switch.now();
        let mut done: usize = 0;
        let mut errors: Vec<(usize, String)> = Vec::new();
        while let Some(rest) = arriving.get(done..).filter(|rest| !rest.is_empty()) {
            let mut leave = |source: usize, port: u32, packet: &[u8]| {
                packed.push(done + source, port, packet);
            };
            // Handlers run between the calls, because they may use the switch.
            let processed =
                switch.process_batch_until(now, rest, &mut leave, &mut || signals.is_due());
            let failed = processed.errors.into_iter();
            errors.extend(failed.map(|(at, error)| (done + at, error.to_string())));
            done += processed.count;
            if done < arriving.len() && signals.look() {
                break;
            }
        }
        Ok((packed, errors))
    }

    /// Returns the switch in process, or an error if this is a device that runs elsewhere.
    fn in_process(&self) -> Result<&InProcessSwitch, Fault> {
        match &self.target {
            Target::InProcess(switch) => Ok(switch),
            Target::Remote(_) => {
                Err(Fault::new(Kind::Refused, "only a switch in process can do this"))
            }
        }
    }

    /// Returns the device that runs elsewhere, or an error if this is a switch in process.
    fn remote(&self) -> Result<&Remote, Fault> {
        match &self.target {
            Target::InProcess(_) => {
                Err(Fault::new(Kind::Refused, "only a device that runs elsewhere can do this"))
            }
            Target::Remote(remote) => Ok(remote),
        }
    }

    /// Calls `work` with the objects of the program that the switch runs.
    fn schema<R>(&self, work: impl FnOnce(&Schema) -> PyResult<R>) -> PyResult<R> {
        match &self.target {
            Target::InProcess(switch) => {
                let pipeline = switch
                    .pipeline()
                    .ok_or_else(|| Fault::new(Kind::Internal, "the switch has no program"))?;
                work(pipeline.schema())
            }
            Target::Remote(remote) => work(remote.schema()),
        }
    }

    /// Returns the entities that a selection includes.
    fn read(&self, selection: &Selection) -> PyResult<Vec<Entity>> {
        Python::attach(|py| match &self.target {
            Target::InProcess(switch) => {
                let found = py.detach(|| switch.read(selection));
                found.map_err(|error| entity_fault(&error).into())
            }
            Target::Remote(remote) => remote.read(py, selection),
        })
    }

    /// Writes updates, all or none. `place` names the update at a position in errors.
    fn write(
        &self,
        py: Python<'_>,
        updates: &[Update],
        place: &dyn Fn(usize) -> String,
    ) -> PyResult<()> {
        self.write_placed(py, updates, place, "")
    }

    /// Writes updates like [`Self::write`]. Leaves out the beginning `said` of the messages of
    /// errors, which the place says.
    fn write_placed(
        &self,
        py: Python<'_>,
        updates: &[Update],
        place: &dyn Fn(usize) -> String,
        said: &str,
    ) -> PyResult<()> {
        let outcomes = match &self.target {
            Target::InProcess(switch) => py
                .detach(|| switch.write(updates, Atomicity::RollbackOnError))
                .map_err(|error| entity_fault(&error))?,
            Target::Remote(remote) => remote.write(py, updates)?,
        };
        for (position, outcome) in outcomes.into_iter().enumerate() {
            match outcome {
                // The others only say that one was refused.
                Err(error) if error.code() != entities::Code::Aborted => {
                    let message = error.message();
                    let message = message.strip_prefix(said).unwrap_or(message).to_owned();
                    let error = entities::EntityError::new(error.code(), message);
                    return Err(entity_fault(&error).at(place(position)).into());
                }
                Err(_) | Ok(()) => {}
            }
        }
        Ok(())
    }
}

/// A running P4Runtime server of a switch.
#[pyclass(frozen, module = "planimeter._native")]
pub(crate) struct Server {
    served: Mutex<Option<ServedInProcess>>,
    /// The address at which the server listens, such as `127.0.0.1:40123`.
    #[pyo3(get)]
    address: String,
}

#[pymethods]
impl Server {
    /// Ends the streams of all controllers. Does nothing if the server was stopped.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| drop(self.served.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }

    /// Whether the server runs.
    #[getter]
    fn is_running(&self) -> bool {
        self.served.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}
