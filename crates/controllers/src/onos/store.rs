//! The state of the stand-in for ONOS: its applications, its netcfg (network configuration) and its
//! devices.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Served;
use crate::p4runtime::{Fleet, Served as Session, Target};

/// The applications of ONOS that the stand-in reports as active.
pub(super) const APPLICATIONS: [&str; 6] = [
    "org.onosproject.drivers.bmv2",
    "org.onosproject.pipelines.basic",
    "org.onosproject.p4tutorial.pipeconf",
    "org.onosproject.hostprovider",
    "org.onosproject.lldpprovider",
    "org.onosproject.fwd",
];
/// The only driver that the stand-in for ONOS has.
const DRIVER: &str = "bmv2";
/// The names of the pipelines (pipeconfs) that the stand-in for ONOS has.
const PIPECONFS: [&str; 2] = ["org.onosproject.pipelines.basic", "p4-tutorial-pipeconf"];

/// The netcfg (network configuration) and the devices of the stand-in for ONOS.
#[derive(Debug)]
pub(super) struct Store {
    fleet: Fleet,
    netcfg: BTreeMap<String, Value>,
    devices: BTreeMap<String, Device>,
    /// The pipeline that each device had when it was first created. Deleted devices are included.
    first_pipeconfs: BTreeMap<String, String>,
    /// Whether a netcfg was deleted before its device, after which the stand-in, like ONOS, no
    /// longer works.
    is_damaged: bool,
}

/// A device that was created from a netcfg.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) management_address: String,
    pub(super) pipeconf: String,
    session: Session,
}

impl Device {
    /// Returns whether the stand-in is connected to the device.
    pub(super) fn is_available(&self) -> bool {
        self.session.is_connected()
    }
}

/// The outcome of a request to delete a device or its netcfg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deletion {
    Done,
    NotThere,
}

impl Store {
    pub(super) fn new(fleet: Fleet) -> Self {
        Self {
            fleet,
            netcfg: BTreeMap::new(),
            devices: BTreeMap::new(),
            first_pipeconfs: BTreeMap::new(),
            is_damaged: false,
        }
    }

    pub(super) fn netcfg(&self) -> Value {
        self.netcfg
            .iter()
            .map(|(id, config)| (id.clone(), config.clone()))
            .collect::<Map<_, _>>()
            .into()
    }

    /// Returns the devices by id, or `None` once the store is damaged.
    pub(super) fn devices(&self) -> Option<&BTreeMap<String, Device>> {
        (!self.is_damaged).then_some(&self.devices)
    }

    /// Stores the netcfg of a device, and creates the device if its driver and its pipeline exist.
    pub(super) fn configure(&mut self, id: &str, config: &Value) -> Served {
        self.netcfg.insert(id.to_owned(), config.clone());
        let basic = |key: &str| config["basic"][key].as_str().unwrap_or_default();
        let (address, pipeconf) = (basic("managementAddress"), basic("pipeconf"));
        let Some(target) = target(address) else { return Ok(()) };
        let has_both = basic("driver") == DRIVER && PIPECONFS.contains(&pipeconf);
        if self.is_damaged || !has_both || self.devices.contains_key(id) {
            return Ok(());
        }
        let first = self.first_pipeconfs.entry(id.to_owned());
        let pipeconf = first.or_insert_with(|| pipeconf.to_owned()).clone();
        let session = self.fleet.serve(target, &pipeconf)?;
        let management_address = address.to_owned();
        self.devices.insert(id.to_owned(), Device { management_address, pipeconf, session });
        Ok(())
    }

    pub(super) fn delete_netcfg(&mut self, id: &str) -> Deletion {
        self.is_damaged |= self.devices.contains_key(id);
        outcome(self.netcfg.remove(id).is_some())
    }

    pub(super) fn delete_device(&mut self, id: &str) -> Deletion {
        match self.is_damaged {
            true => Deletion::NotThere,
            false => outcome(self.devices.remove(id).is_some()),
        }
    }
}

fn outcome(was_there: bool) -> Deletion {
    if was_there { Deletion::Done } else { Deletion::NotThere }
}

/// Parses a management address such as `grpc://127.0.0.1:50051?device_id=1`. Returns `None` if it
/// is malformed.
fn target(address: &str) -> Option<Target> {
    let (address, query) = address.strip_prefix("grpc://")?.split_once('?')?;
    format!("{}@{address}", query.strip_prefix("device_id=")?).parse().ok()
}
