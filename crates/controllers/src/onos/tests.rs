//! Tests of the REST interface of the stand-in for ONOS, without sockets. No switch listens at the
//! addresses in the requests.

use std::sync::Mutex;

use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use super::store::Store;
use super::{Onos, rest};
use crate::http::{Answer, HttpRequest};
use crate::p4runtime::Fleet;

const BASIC: &str = "org.onosproject.pipelines.basic";
const TUTORIAL: &str = "p4-tutorial-pipeconf";

struct Client(Mutex<Store>);

impl Client {
    fn new() -> Self {
        Self(Mutex::new(Store::new(Fleet::new(Onos::options()))))
    }

    fn ask(&self, method: Method, path: &str, body: &Value) -> (StatusCode, Value) {
        let request = HttpRequest {
            method,
            path: format!("/onos/v1{path}"),
            authorization: Some("Basic b25vczpyb2Nrcw==".to_owned()),
            body: body.to_string().into(),
        };
        match rest::answer(&request, &self.0) {
            Answer::Json(status, value) => (status, value),
            Answer::Text(status, _) => (status, Value::Null),
        }
    }

    fn get(&self, path: &str) -> (StatusCode, Value) {
        self.ask(Method::GET, path, &Value::Null)
    }

    fn delete(&self, path: &str) -> StatusCode {
        self.ask(Method::DELETE, path, &Value::Null).0
    }

    fn configure(&self, driver: &str, pipeconf: &str) {
        let basic = json!({ "managementAddress": "grpc://127.0.0.1:1?device_id=1",
            "driver": driver, "pipeconf": pipeconf });
        let netcfg = json!({ "devices": { "device:bmv2:s1": { "basic": basic } } });
        let (status, _) = self.ask(Method::POST, "/network/configuration", &netcfg);
        assert_eq!(status, StatusCode::OK);
    }

    /// Returns the driver and the pipeconf of each device, which ONOS reports as one name.
    fn drivers(&self) -> Vec<String> {
        let (status, known) = self.get("/devices");
        assert_eq!(status, StatusCode::OK);
        let devices = known["devices"].as_array().expect("a list").iter();
        devices.map(|device| device["driver"].as_str().expect("text").to_owned()).collect()
    }
}

/// Runs a test inside an asynchronous runtime, since the tasks that connect to devices need one.
fn with_client(test: impl FnOnce(&Client)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let _guard = runtime.as_ref().expect("a runtime").enter();
    test(&Client::new());
}

#[test]
fn a_netcfg_with_a_known_driver_and_pipeconf_creates_a_device() {
    with_client(|onos| {
        onos.configure("stratum-bmv2", BASIC);
        onos.configure("bmv2", "org.onosproject.pipelines.fabric");
        assert_eq!(onos.drivers(), [""; 0]);
        onos.configure("bmv2", BASIC);
        assert_eq!(onos.drivers(), [format!("bmv2:{BASIC}")]);
        let (_, netcfg) = onos.get("/network/configuration/devices");
        assert_eq!(netcfg["device:bmv2:s1"]["basic"]["pipeconf"], BASIC);
        let (_, devices) = onos.get("/devices");
        assert_eq!(devices["devices"][0]["available"], false);
    });
}

#[test]
fn a_device_keeps_its_first_pipeconf_even_when_it_was_deleted_meanwhile() {
    with_client(|onos| {
        onos.configure("bmv2", TUTORIAL);
        onos.configure("bmv2", BASIC);
        assert_eq!(onos.drivers(), [format!("bmv2:{TUTORIAL}")]);
        assert_eq!(onos.delete("/devices/device%3Abmv2%3As1"), StatusCode::NO_CONTENT);
        let netcfg = "/network/configuration/devices/device%3Abmv2%3As1";
        assert_eq!(onos.delete(netcfg), StatusCode::NO_CONTENT);
        assert_eq!(onos.drivers(), [""; 0]);
        onos.configure("bmv2", BASIC);
        assert_eq!(onos.drivers(), [format!("bmv2:{TUTORIAL}")]);
    });
}

#[test]
fn netcfg_that_is_deleted_before_its_device_damages_the_stand_in() {
    with_client(|onos| {
        onos.configure("bmv2", BASIC);
        let netcfg = "/network/configuration/devices/device%3Abmv2%3As1";
        assert_eq!(onos.delete(netcfg), StatusCode::NO_CONTENT);
        assert_eq!(onos.get("/devices").0, StatusCode::NOT_FOUND);
        onos.configure("bmv2", BASIC);
        assert_eq!(onos.get("/devices").0, StatusCode::NOT_FOUND);
    });
}

#[test]
fn applications_are_listed_and_clients_without_the_password_are_refused() {
    with_client(|onos| {
        let (_, applications) = onos.get("/applications");
        let fwd = json!({ "name": "org.onosproject.fwd", "state": "ACTIVE" });
        assert!(applications["applications"].as_array().is_some_and(|all| all.contains(&fwd)));
        assert_eq!(onos.get("/links").0, StatusCode::NOT_FOUND);
        let stranger = HttpRequest {
            method: Method::GET,
            path: "/onos/v1/devices".to_owned(),
            authorization: None,
            body: Default::default(),
        };
        let refused = Answer::Text(StatusCode::UNAUTHORIZED, String::new());
        assert_eq!(rest::answer(&stranger, &onos.0), refused);
    });
}
