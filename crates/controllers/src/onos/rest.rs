//! The REST interface of the stand-in for ONOS. It consists of the requests that the probe makes.
//! The fields of requests and responses are those of ONOS 2.5.

use std::sync::{Mutex, PoisonError};

use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use super::store::{APPLICATIONS, Deletion, Device, Store};
use crate::http::{Answer, HttpRequest};

/// The value of the Authorization header for user `onos` and password `rocks` (RFC 7617).
const AUTHORIZATION: &str = "Basic b25vczpyb2Nrcw==";

pub(super) fn answer(request: &HttpRequest, store: &Mutex<Store>) -> Answer {
    if request.authorization.as_deref() != Some(AUTHORIZATION) {
        return Answer::Text(StatusCode::UNAUTHORIZED, String::new());
    }
    let path = request.path.replace("%3A", ":");
    let Some(path) = path.strip_prefix("/onos/v1") else { return not_found() };
    let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
    match (&request.method, path) {
        (&Method::GET, "/applications") => ok(applications()),
        (&Method::GET, "/devices") => match store.devices() {
            Some(known) => {
                let devices: Vec<Value> =
                    known.iter().map(|(id, known)| device(id, known)).collect();
                ok(json!({ "devices": devices }))
            }
            None => not_found(),
        },
        (&Method::GET, "/hosts") => ok(json!({ "hosts": [] })),
        (&Method::GET, "/network/configuration") => ok(json!({ "devices": store.netcfg() })),
        (&Method::GET, "/network/configuration/devices") => ok(store.netcfg()),
        (&Method::POST, "/network/configuration") => configure(&mut store, &request.body),
        (&Method::DELETE, path) => {
            let deletion = match path.strip_prefix("/network/configuration/devices/") {
                Some(id) => store.delete_netcfg(id),
                None => match path.strip_prefix("/devices/") {
                    Some(id) => store.delete_device(id),
                    None => Deletion::NotThere,
                },
            };
            match deletion {
                Deletion::Done => Answer::Text(StatusCode::NO_CONTENT, String::new()),
                Deletion::NotThere => not_found(),
            }
        }
        _ => not_found(),
    }
}

fn ok(value: Value) -> Answer {
    Answer::Json(StatusCode::OK, value)
}

fn not_found() -> Answer {
    let text = json!({ "code": 404, "message": "not found" });
    Answer::Json(StatusCode::NOT_FOUND, text)
}

fn applications() -> Value {
    let application = |name: &str| json!({ "name": name, "state": "ACTIVE" });
    json!({ "applications": APPLICATIONS.map(application) })
}

fn device(id: &str, device: &Device) -> Value {
    json!({
        "id": id,
        "type": "SWITCH",
        "available": device.is_available(),
        "role": "MASTER",
        "mfr": "p4.org",
        "hw": "master",
        "sw": "master",
        "driver": format!("bmv2:{}", device.pipeconf),
        "annotations": {
            "managementAddress": device.management_address,
            "protocol": "P4Runtime",
        },
    })
}

fn configure(store: &mut Store, body: &[u8]) -> Answer {
    let netcfg: Value = match serde_json::from_slice(body) {
        Ok(netcfg) => netcfg,
        Err(error) => return Answer::Text(StatusCode::BAD_REQUEST, error.to_string()),
    };
    for (id, config) in netcfg["devices"].as_object().into_iter().flatten() {
        if let Err(error) = store.configure(id, config) {
            return Answer::Text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string());
        }
    }
    Answer::Text(StatusCode::OK, String::new())
}
