//! The means that `planimeter dut --conformance` may use in addition to the control channel: ports,
//! and a pipeline that is committed.

use dut::Outlet;
use dut::live::Wire;
use judge::{Means, Wires};
use packetio::PortSpec;

use super::Arguments;
use crate::failure::Failure;
use crate::program;

/// Returns the means that the flags provide and permit.
pub(super) fn means(arguments: &Arguments) -> Result<Means, Failure> {
    let pushed = arguments.judging.push.as_deref();
    let pipeline = |files: &str| {
        let files: Vec<&str> = files.split(',').collect();
        program::pipeline(&files, &arguments.packets.sources)
    };
    Ok(Means {
        pushed: pushed.map(pipeline).transpose()?,
        commits: arguments.judging.commit,
        wires: wires(&arguments.packets.port)?,
    })
}

fn wires(ports: &[PortSpec]) -> Result<Option<Box<dyn Wires>>, Failure> {
    if ports.is_empty() {
        return Ok(None);
    }
    let wires: Vec<Wire> = ports.iter().cloned().map(Wire).collect();
    let outlets = Outlet::open(&wires).map_err(Failure::input)?;
    Ok(Some(Box::new(Outlets(outlets))))
}

/// The interfaces of this host that are connected to ports of the switch.
struct Outlets(Vec<Outlet>);

impl Wires for Outlets {
    fn ports(&self) -> Vec<u32> {
        self.0.iter().map(Outlet::number).collect()
    }

    fn send(&mut self, port: u32, packet: &[u8]) -> Result<(), String> {
        let outlet = self.0.iter_mut().find(|outlet| outlet.number() == port);
        let outlet = outlet.ok_or_else(|| format!("no interface is connected to port {port}"))?;
        match outlet.send(packet) {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!("the interface at port {port} sends no packets")),
            Err(error) => Err(error.to_string()),
        }
    }

    fn receive(&mut self) -> Result<Vec<(u32, Vec<u8>)>, String> {
        let mut found = Vec::new();
        for outlet in &mut self.0 {
            let port = outlet.number();
            let burst = outlet.receive().map_err(|error| error.to_string())?;
            found.extend(burst.frames().iter().map(|frame| (port, frame.bytes().to_vec())));
        }
        Ok(found)
    }
}
