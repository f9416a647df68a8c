//! Queries and commands to ONOS over its REST interface, except for the network configuration
//! ("netcfg").
//!
//! ONOS accepts any netcfg, but silently ignores it if the application with the driver or the
//! pipeconf (the configuration for a pipeline) is not active. Without its OpenFlow application,
//! ONOS likewise accepts no OpenFlow connection. It also remembers what it has learned in earlier
//! runs. This module therefore queries which applications are active and what ONOS knows of the
//! devices. If the configuration requests it, the module makes ONOS forget the devices. Paths and
//! fields are those of ONOS 2.5 (`/onos/v1/docs`). A query that fails does not fail the run, since
//! its result only explains the figures.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use ureq::Agent;

use crate::config::{Config, PlanKind, Protocol};
use crate::engine;
use crate::netcfg::{self, onos_device};

/// The timeout of one request.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The names of ONOS drivers and pipeconfs, each with the application that provides it.
const DRIVERS: [(&str, &str); 3] = [
    ("bmv2", "org.onosproject.drivers.bmv2"),
    ("stratum-bmv2", "org.onosproject.drivers.stratum"),
    ("stratum-tofino", "org.onosproject.drivers.stratum"),
];
const PIPECONFS: [(&str, &str); 5] = [
    ("org.onosproject.pipelines.basic", "org.onosproject.pipelines.basic"),
    ("org.onosproject.pipelines.int", "org.onosproject.pipelines.basic"),
    ("org.onosproject.pipelines.fabric", "org.onosproject.pipelines.fabric"),
    ("org.onosproject.pipelines.fabric-spgw", "org.onosproject.pipelines.fabric"),
    ("p4-tutorial-pipeconf", "org.onosproject.p4tutorial.pipeconf"),
];
/// The applications that make ONOS listen for OpenFlow. One of them suffices.
const OPENFLOW: [&str; 2] = ["org.onosproject.openflow", "org.onosproject.openflow-base"];

/// A connection to an ONOS instance through its REST interface.
pub(crate) struct Onos {
    agent: Agent,
    base: String,
    authorization: String,
}

impl Onos {
    /// Returns a client of the ONOS instance whose REST interface the configuration names, or
    /// `None` if the configuration names none.
    pub(crate) fn of(config: &Config) -> Option<Self> {
        let base = config.controller.onos_rest.as_ref()?;
        let (user, password) = &config.controller.onos_credentials;
        Some(Self {
            agent: netcfg::agent(TIMEOUT),
            base: base.trim_end_matches('/').to_owned(),
            authorization: netcfg::authorization(user, password),
        })
    }

    /// Describes which ONOS applications the switches need although they are not active, and how to
    /// activate them. Returns `None` if none is missing, or if ONOS does not answer.
    pub(crate) fn missing(&self, config: &Config) -> Option<String> {
        let active = self.active_applications()?;
        let mut missing: Vec<String> = Vec::new();
        let mut lacks = |what: String, application: &str| {
            missing.push(format!(
                "{what} {application}, which is not active: onos-app HOST activate {application}"
            ));
        };
        if config.protocol == Protocol::P4Runtime {
            let controller = &config.controller;
            let wanted = [
                ("driver", &controller.onos_driver, DRIVERS.as_slice()),
                ("pipeconf", &controller.onos_pipeconf, PIPECONFS.as_slice()),
            ];
            for (kind, name, known) in wanted {
                let application = known.iter().find(|(own, _)| own == name).map(|(_, app)| *app);
                if let Some(application) = application.filter(|app| !active.contains(*app)) {
                    lacks(format!("its {kind} {name} comes with"), application);
                }
            }
        } else if !OPENFLOW.iter().any(|application| active.contains(*application)) {
            lacks("it listens for OpenFlow with".to_owned(), OPENFLOW[0]);
        }
        (!missing.is_empty()).then(|| {
            format!("ONOS at {} cannot serve the switches: {}", self.base, missing.join("; "))
        })
    }

    /// Returns remarks on things that ONOS remembers of earlier runs and that would distort the
    /// figures.
    pub(crate) fn remarks(&self, config: &Config) -> Vec<String> {
        let mut notes = Vec::new();
        let active = self.active_applications().unwrap_or_default();
        if active.contains("org.onosproject.fwd")
            && !active.contains("org.onosproject.hostprovider")
        {
            notes.push(
                "In ONOS org.onosproject.fwd is active and org.onosproject.hostprovider is not: it \
                 knows no hosts, and floods every packet."
                    .to_owned(),
            );
        }
        if config.protocol == Protocol::P4Runtime {
            let count = self.others(config).values().sum::<u32>();
            if count > 0 {
                notes.push(format!(
                    "ONOS knows {count} of the devices with another pipeconf than {}, and keeps it: {REMEDY}.",
                    config.controller.onos_pipeconf
                ));
            }
        }
        notes
    }

    /// Returns the pipeconfs that ONOS uses for switches of the trial although another one is
    /// configured. Each has the number of switches that use it.
    fn others(&self, config: &Config) -> BTreeMap<String, u32> {
        let device_ids: BTreeSet<String> = device_ids(config).collect();
        let mut others = BTreeMap::new();
        for device in self.devices().unwrap_or_default() {
            // The driver of a device with a pipeconf is named `DRIVER:PIPECONF` in ONOS.
            let pipeconf = device.driver.split_once(':').map(|(_, pipeconf)| pipeconf);
            if let Some(pipeconf) = pipeconf
                && device_ids.contains(&device.id)
                && pipeconf != config.controller.onos_pipeconf
            {
                *others.entry(pipeconf.to_owned()).or_default() += 1;
            }
        }
        others
    }

    /// Describes how many switches of a trial have a pipeconf other than the configured one, and
    /// what to do about it. Returns `None` if there are none.
    pub(crate) fn other_pipeconfs(&self, config: &Config) -> Option<String> {
        if config.protocol != Protocol::P4Runtime {
            return None;
        }
        let others = self.others(config);
        let given: Vec<String> =
            others.iter().map(|(pipeconf, count)| format!("{pipeconf} to {count}")).collect();
        (!others.is_empty()).then(|| {
            format!(
                "ONOS uses another pipeconf than the requested {}: {}. It keeps the first pipeconf of a device: \
                 {REMEDY}",
                config.controller.onos_pipeconf,
                given.join(", ")
            )
        })
    }

    /// Describes why switches did not become ready, as far as ONOS reports a reason.
    pub(crate) fn why_not_ready(&self, config: &Config) -> Option<String> {
        if let Some(missing) = self.missing(config) {
            return Some(missing);
        }
        if config.protocol != Protocol::P4Runtime {
            return None;
        }
        let devices = self.devices()?;
        let netcfg = self.get("/network/configuration/devices")?;
        let all = device_ids(config).count();
        let count = |test: &dyn Fn(&str) -> bool| device_ids(config).filter(|id| test(id)).count();
        let known = |id: &str| devices.iter().find(|device| device.id == id);
        let waiting = count(&|id| known(id).is_some_and(|device| !device.available));
        let unknown = count(&|id| known(id).is_none() && netcfg.get(id).is_some());
        let missing = count(&|id| known(id).is_none() && netcfg.get(id).is_none());
        let mut causes = Vec::new();
        if waiting > 0 {
            causes.push(format!(
                "ONOS knows {waiting} of the {all} devices and is not connected to them; it dials \
                 such a device again only after 12 to 50 s, so give more with --connect-timeout"
            ));
        }
        if unknown > 0 {
            let first = engine::p4runtime::addresses(config).first().map(|device| device.dial);
            let address = first.map_or(String::new(), |dial| format!(" such as {dial}"));
            causes.push(format!(
                "ONOS has the netcfg of {unknown} of the {all} devices and created no device from it: \
                 its log tells whether it knows the driver {} and the pipeconf {} (\"not \
                 registered\"); or it does not reach addresses{address}, see --advertise",
                config.controller.onos_driver, config.controller.onos_pipeconf
            ));
        }
        if missing > 0 {
            causes.push(format!(
                "the netcfg of {missing} of the {all} devices has disappeared from ONOS: another client removed it, \
                 or ONOS was restarted"
            ));
        }
        (!causes.is_empty()).then(|| causes.join("; "))
    }

    /// Makes ONOS remove the devices of the switches, then their netcfg, then the hosts behind
    /// them. Returns a description of those that could not be removed.
    ///
    /// The order matters. If the netcfg of ONOS 2.5.6 was removed before its devices, ONOS
    /// responded to `/devices` with 404 until it was restarted. Therefore the netcfg of a device
    /// that could not be removed is kept.
    pub(crate) fn forget(&self, config: &Config) -> Option<String> {
        let device_ids: BTreeSet<String> = device_ids(config).collect();
        let mut failures = Vec::new();
        let mut delete = |path: String| {
            let outcome = self.delete(&path);
            failures.extend(outcome.as_ref().err().map(|cause| format!("{path}: {cause}")));
            outcome.is_ok()
        };
        let hosts = self.hosts_at(&device_ids);
        for id in &device_ids {
            let id = id.replace(':', "%3A");
            if delete(format!("/devices/{id}")) && config.protocol == Protocol::P4Runtime {
                delete(format!("/network/configuration/devices/{id}"));
            }
        }
        for host in hosts {
            delete(host);
        }
        let first = failures.first()?;
        Some(format!(
            "ONOS did not forget {} of the devices, their netcfg and hosts; the first was {first}.",
            failures.len()
        ))
    }

    /// Returns the REST paths of the hosts that ONOS knows behind any of `devices`.
    fn hosts_at(&self, devices: &BTreeSet<String>) -> Vec<String> {
        let known = self.get("/hosts").unwrap_or_default();
        let list = known.get("hosts").and_then(Value::as_array).cloned().unwrap_or_default();
        let is_at = |location: &Value| {
            let id = location.get("elementId").and_then(Value::as_str);
            id.is_some_and(|id| devices.contains(id))
        };
        list.iter()
            .filter(|host| {
                let locations = host.get("locations").and_then(Value::as_array);
                locations.is_some_and(|locations| locations.iter().any(is_at))
            })
            .filter_map(|host| {
                let (mac, vlan) = host.get("id")?.as_str()?.split_once('/')?;
                Some(format!("/hosts/{}/{vlan}", mac.replace(':', "%3A")))
            })
            .collect()
    }

    fn active_applications(&self) -> Option<BTreeSet<String>> {
        let answer = self.get("/applications")?;
        let list = answer.get("applications")?.as_array()?;
        let text = |of: &Value, key: &str| of.get(key)?.as_str().map(str::to_owned);
        let active = list.iter().filter(|one| text(one, "state").as_deref() == Some("ACTIVE"));
        Some(active.filter_map(|one| text(one, "name")).collect())
    }

    fn devices(&self) -> Option<Vec<KnownDevice>> {
        let answer = self.get("/devices")?;
        let list = answer.get("devices")?.as_array()?;
        let device = |one: &Value| {
            Some(KnownDevice {
                id: one.get("id")?.as_str()?.to_owned(),
                available: one.get("available").and_then(Value::as_bool).unwrap_or(false),
                driver: one.get("driver").and_then(Value::as_str).unwrap_or("").to_owned(),
            })
        };
        Some(list.iter().filter_map(device).collect())
    }

    fn get(&self, path: &str) -> Option<Value> {
        let mut answer = self
            .agent
            .get(format!("{}/onos/v1{path}", self.base))
            .header("Authorization", &self.authorization)
            .call()
            .ok()?;
        if !answer.status().is_success() {
            return None;
        }
        let text = answer.body_mut().with_config().limit(MAX_BYTES).read_to_string().ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Deletes the resource at a REST path. Deleting a resource that does not exist succeeds.
    fn delete(&self, path: &str) -> Result<(), String> {
        let answer = self
            .agent
            .delete(format!("{}/onos/v1{path}", self.base))
            .header("Authorization", &self.authorization)
            .call()
            .map_err(|error| error.to_string())?;
        match answer.status().as_u16() {
            200..300 | 404 => Ok(()),
            status => Err(format!("it answered {status}")),
        }
    }
}

/// The advice to the user on how to make ONOS use the pipeconf of the generated netcfg.
const REMEDY: &str = "restart it before each trial (--between), or give the switches ids that it has \
                      not seen (--first-id)";

/// The longest response that is read, in bytes. A list of thousands of hosts takes megabytes.
const MAX_BYTES: u64 = 256 << 20;

/// A device (switch) as ONOS reports it.
struct KnownDevice {
    id: String,
    /// Whether ONOS is connected to the device.
    available: bool,
    driver: String,
}

/// Returns a warning that ONOS keeps devices, hosts and rules from trial to trial. Returns `None`
/// if the configuration restarts ONOS or makes it forget them.
pub(crate) fn keeps(config: &Config) -> Option<String> {
    let several = config.plan.repetitions > 1 || config.plan.kind != PlanKind::Point;
    let kept = config.plan.between.is_none() && !config.controller.onos_forget;
    (config.controller.onos_rest.is_some() && several && kept).then(|| {
        "ONOS keeps devices, hosts and rules from one trial to the next, which are therefore not \
         independent: restart it with --between, or have it forget the switches with --onos-forget."
            .to_owned()
    })
}

/// Returns the device names under which ONOS knows the switches of a trial.
fn device_ids(config: &Config) -> impl Iterator<Item = String> + '_ {
    let first = config.switches.first_id;
    (0..u64::from(config.switches.count)).map(move |index| match config.protocol {
        Protocol::P4Runtime => onos_device(first.wrapping_add(index)),
        Protocol::OpenFlow10 | Protocol::OpenFlow13 => {
            format!("of:{:016x}", first.wrapping_add(index))
        }
    })
}
