//! Tests of the encodings of values (scalars, JSON, and JSON according to RFC 7951) and of the
//! values that requests select.

use serde_json::{Value as JsonValue, json};
use tonic::Code;

use super::super::messages::{
    CapabilityRequest, CapabilityResponse, DataType, ModelData, Notification,
};
use super::*;

const PORT: &str = "interfaces/interface[d4-eth1]";

fn request(path: &str, encoding: Encoding) -> GetRequest {
    let path = vec![parse("", path)];
    GetRequest { path, encoding: encoding as i32, ..GetRequest::default() }
}

async fn answer(served: &mut Served, request: GetRequest) -> Result<Vec<Notification>, Status> {
    let response: GetResponse = served.unary("/gnmi.gNMI/Get", request).await?;
    Ok(response.notification)
}

/// A node of an answer: its path, its value as JSON, and whether that follows RFC 7951.
#[derive(Debug, PartialEq)]
struct Node {
    path: String,
    json: JsonValue,
    is_ietf: bool,
}

fn nodes(notifications: Vec<Notification>) -> Vec<Node> {
    let node = |update: Update| {
        let path = super::super::paths::shown(&update.path.expect("each has one"));
        let (text, is_ietf) = match update.val.and_then(|val| val.value).expect("each has one") {
            Value::Json(text) => (text, false),
            Value::JsonIetf(text) => (text, true),
            other => panic!("{path} is {other:?}"),
        };
        Node { path, json: serde_json::from_slice(&text).expect("it is JSON"), is_ietf }
    };
    notifications.into_iter().flat_map(|one| one.update).map(node).collect()
}

async fn got(served: &mut Served, path: &str, encoding: Encoding) -> Vec<Node> {
    nodes(answer(served, request(path, encoding)).await.expect(path))
}

/// RFC 7951 represents 64-bit numbers as strings, and other numbers as numbers.
#[tokio::test]
async fn a_leaf_is_its_bare_value() {
    let mut served = Served::new().await;
    let octets = u64::MAX - 1;
    for (leaf, plain, ietf) in [
        ("config/enabled", json!(true), json!(true)),
        ("config/id", json!(1), json!(1)),
        ("state/ifindex", json!(1), json!(1)),
        ("state/oper-status", json!("UP"), json!("UP")),
        ("state/counters/in-octets", json!(octets), json!(octets.to_string())),
        ("state/counters/in-unicast-pkts", json!(7), json!("7")),
    ] {
        let path = format!("{PORT}/{leaf}");
        for (encoding, json) in [(Encoding::Json, plain), (Encoding::JsonIetf, ietf)] {
            let is_ietf = encoding == Encoding::JsonIetf;
            let shown = format!("/{}", path.replace("[d4", "[name=d4"));
            let expected = Node { path: shown, json, is_ietf };
            assert_eq!(got(&mut served, &path, encoding).await, [expected], "{leaf}");
        }
    }
}

/// Names are qualified by their module at the top level and where the module differs from that of
/// the parent node.
#[tokio::test]
async fn a_container_is_one_object() {
    let mut served = Served::new().await;
    let mut only = async |path: &str, encoding| {
        let mut found = got(&mut served, path, encoding).await;
        assert_eq!(found.len(), 1, "{path}");
        found.remove(0)
    };
    let config = only(&format!("{PORT}/config"), Encoding::Json).await;
    assert_eq!(config.path, "/interfaces/interface[name=d4-eth1]/config");
    assert_eq!(config.json, json!({"name": "d4-eth1", "id": 1, "enabled": true}));
    let config = only(&format!("{PORT}/config"), Encoding::JsonIetf).await;
    let qualified = json!({
        "openconfig-interfaces:name": "d4-eth1",
        "openconfig-interfaces:enabled": true,
        "openconfig-p4rt:id": 1,
    });
    assert_eq!((config.json, config.is_ietf), (qualified, true));

    let state = only(&format!("{PORT}/state"), Encoding::JsonIetf).await.json;
    assert_eq!(state["openconfig-interfaces:oper-status"], json!("UP"));
    assert_eq!(state["openconfig-p4rt:id"], json!(1));
    let octets = (u64::MAX - 1).to_string();
    assert_eq!(state["openconfig-interfaces:counters"]["in-octets"], json!(octets));

    let port = only(PORT, Encoding::JsonIetf).await.json;
    assert_eq!(port["openconfig-interfaces:name"], json!("d4-eth1"));
    let inner = json!({"name": "d4-eth1", "openconfig-p4rt:id": 1, "enabled": true});
    assert_eq!(port["openconfig-interfaces:config"], inner);

    let all = only("interfaces", Encoding::JsonIetf).await;
    assert_eq!(all.path, "/interfaces");
    let list = all.json["openconfig-interfaces:interface"].as_array().expect("a list").clone();
    assert_eq!(list.len(), 2);
    assert_eq!(
        (&list[1]["name"], &list[1]["config"]),
        (&json!("d4-eth2"), &json!({"name": "d4-eth2", "openconfig-p4rt:id": 2, "enabled": true}),)
    );
    let root = GetRequest { path: vec![Path::default()], ..request("", Encoding::JsonIetf) };
    let root = nodes(answer(&mut served, root).await.expect("the root"));
    assert_eq!(root[0].path, "/");
    assert_eq!(root[0].json["openconfig-interfaces:interfaces"]["interface"], json!(list));
}

/// A wildcard produces one complete node for each match.
#[tokio::test]
async fn a_wildcard_is_a_node_for_each_port() {
    let mut served = Served::new().await;
    for path in ["interfaces/interface[*]/config", "interfaces/interface/config", ".../config"] {
        let found = got(&mut served, path, Encoding::Json).await;
        let expected = [1, 2].map(|number| Node {
            path: format!("/interfaces/interface[name=d4-eth{number}]/config"),
            json: json!({"name": format!("d4-eth{number}"), "id": number, "enabled": true}),
            is_ietf: false,
        });
        assert_eq!(found, expected, "{path}");
    }
    let found = got(&mut served, "interfaces/interface[*]/*", Encoding::Json).await;
    let names: Vec<&str> = found.iter().filter_map(|node| node.path.rsplit('/').next()).collect();
    assert_eq!(names, ["name", "config", "state", "name", "config", "state"]);
    assert_eq!(got(&mut served, "interfaces/interface[none]/config", Encoding::Json).await, []);
}

/// A Get that names no encoding is answered in JSON, as the specification requires.
#[tokio::test]
async fn a_get_without_encoding_is_answered_in_json() {
    let mut served = Served::new().await;
    let path = vec![parse("", &format!("{PORT}/state/ifindex"))];
    let found = answer(&mut served, GetRequest { path, ..GetRequest::default() }).await;
    assert_eq!(nodes(found.expect("a leaf"))[0].json, json!(1));
}

#[tokio::test]
async fn encodings_that_are_not_served_are_unimplemented() {
    let mut served = Served::new().await;
    let (bytes, ascii) = (Encoding::Bytes as i32, Encoding::Ascii as i32);
    for (encoding, named) in [(bytes, "BYTES"), (ascii, "ASCII"), (9, "9")] {
        let request = GetRequest { encoding, ..request(PORT, Encoding::Json) };
        let refused = answer(&mut served, request).await.expect_err(named);
        for mode in [Mode::Stream, Mode::Once, Mode::Poll] {
            let Kind::Subscribe(list) = list(mode, STATUS) else { unreachable!() };
            let list = Kind::Subscribe(SubscriptionList { encoding, ..list });
            let mut responses = served.subscribe([list]).await;
            let status = soon(responses.message()).await.expect_err(named);
            assert_eq!((status.code(), status.message()), (refused.code(), refused.message()));
        }
        assert_eq!(refused.code(), Code::Unimplemented);
        let expected =
            format!("The encoding {named} is not supported; supported are JSON, JSON_IETF, PROTO.");
        assert_eq!(refused.message(), expected);
    }
}

/// Returns the next notification, or `None` for the sync message after the initial ones.
async fn next(responses: &mut Streaming<SubscribeResponse>) -> Option<Notification> {
    let message = soon(responses.message()).await.expect("no error").expect("not the end");
    match message.response.expect("a response") {
        Response::Sync(_) => None,
        Response::Update(notification) => Some(notification),
    }
}

/// Each mode sends one leaf at a time: initially, when polled, as samples, and on change.
#[tokio::test]
async fn a_subscription_is_answered_in_its_encoding() {
    let mut served = Served::new().await;
    let subscribed = |mode, encoding: Encoding, sampled: bool| {
        let path = format!("{PORT}/state");
        let Kind::Subscribe(mut list) = list(mode, &path) else { unreachable!() };
        if sampled {
            list.subscription[0].mode = SubscriptionMode::Sample as i32;
        }
        Kind::Subscribe(SubscriptionList { encoding: encoding as i32, ..list })
    };
    let octets = (u64::MAX - 1).to_string();
    let check = |notification: Notification| {
        let found = nodes(vec![notification]);
        assert_eq!(found.len(), 12);
        let octets_found = found.iter().find(|node| node.path.ends_with("/in-octets"));
        assert_eq!(octets_found.map(|node| &node.json), Some(&json!(octets)));
        assert!(found.iter().all(|node| node.is_ietf));
    };
    let ietf = Encoding::JsonIetf;
    let polled = [subscribed(Mode::Poll, ietf, false), Kind::Poll(Poll {})];
    // The expected messages: `true` for a port, `false` for the sync message.
    for (requests, ports) in [
        (vec![subscribed(Mode::Once, ietf, false)], &[true, false][..]),
        (polled.to_vec(), &[true, false, true, false]),
        (vec![subscribed(Mode::Stream, ietf, true)], &[true, false, true, true]),
    ] {
        let mut responses = served.subscribe(requests).await;
        for is_port in ports {
            let notification = next(&mut responses).await;
            assert_eq!(notification.is_some(), *is_port);
            notification.into_iter().for_each(check);
        }
    }
    let mut stream = served.subscribe([subscribed(Mode::Stream, ietf, false)]).await;
    while next(&mut stream).await.is_some() {}
    assert!(served.ports.set(1, |port| port.up = false));
    let changed = nodes(vec![next(&mut stream).await.expect("a change")]);
    assert_eq!(changed.len(), 1);
    assert_eq!((&changed[0].json, changed[0].is_ietf), (&json!("DOWN"), true));

    // Scalars are sent if they are requested, and if no encoding is named, as finsy and ONOS do.
    for encoding in [Encoding::Proto, Encoding::Json] {
        let mut once = served.subscribe([subscribed(Mode::Once, encoding, false)]).await;
        let notification = next(&mut once).await.expect("a port");
        let scalar = Some(TypedValue { value: Some(Value::Number(u64::MAX - 1)) });
        assert!(notification.update.iter().any(|update| update.val == scalar), "{encoding:?}");
    }
}

/// Each path has its own notifications, and a repeated path is answered once.
#[tokio::test]
async fn paths_of_a_get_are_kept_apart() {
    let mut served = Served::new().await;
    let path = ["state/ifindex", "config", "state/ifindex"]
        .map(|node| parse("", &format!("{PORT}/{node}")));
    for (encoding, counts) in [(Encoding::Proto, [1, 3]), (Encoding::JsonIetf, [1, 1])] {
        let request = GetRequest { path: path.to_vec(), ..request("", encoding) };
        let found = answer(&mut served, request).await.expect("they are right");
        let updates: Vec<usize> = found.iter().map(|one| one.update.len()).collect();
        assert_eq!(updates, counts, "{encoding:?}");
    }
}

/// Answers repeat the target of the request's prefix, by which clients recognise them, and contain
/// complete paths.
#[tokio::test]
async fn the_target_and_the_origin_are_repeated() {
    let mut served = Served::new().await;
    let prefix = Path { origin: "openconfig".to_owned(), ..parse("9", "interfaces") };
    let repeated = Path { elem: Vec::new(), ..prefix.clone() };
    for encoding in [Encoding::Proto, Encoding::Json, Encoding::JsonIetf] {
        let mut request = request("interface[d9-eth1]/state/name", encoding);
        request.prefix = Some(prefix.clone());
        let found = answer(&mut served, request).await.expect("it is right");
        assert_eq!(found[0].prefix.as_ref(), Some(&repeated));
        assert_eq!(found[0].update[0].path.as_ref().map(|path| path.elem.len()), Some(4));
    }
    let Kind::Subscribe(list) = list(Mode::Stream, "interface/state/oper-status") else {
        unreachable!()
    };
    let prefix = Path { target: "4".to_owned(), ..prefix };
    let repeated = Some(Path { elem: Vec::new(), ..prefix.clone() });
    let list = SubscriptionList { prefix: Some(prefix), ..list };
    let mut stream = served.subscribe([Kind::Subscribe(list)]).await;
    assert_eq!(next(&mut stream).await.expect("a port").prefix, repeated);
    while next(&mut stream).await.is_some() {}
    assert!(served.ports.set(1, |port| port.up = false));
    assert_eq!(next(&mut stream).await.expect("a change").prefix, repeated);
    let gone = served.ports.ports()[1].clone();
    served.ports.watchers.notify(Some(&gone), None, Nanos(1));
    assert_eq!(next(&mut stream).await.expect("an end").prefix, repeated);
}

/// The types of data follow the model: configuration that clients may write, applied configuration,
/// and operational state.
#[tokio::test]
async fn a_type_of_data_is_part_of_a_port() {
    let mut served = Served::new().await;
    for (data, leaves) in [
        (DataType::All, 16),
        (DataType::Config, 4),
        (DataType::State, 12),
        (DataType::Operational, 10),
    ] {
        let request = GetRequest { r#type: data as i32, ..request(PORT, Encoding::Proto) };
        let found = answer(&mut served, request).await.expect("it is right");
        assert_eq!(found[0].update.len(), leaves, "{data:?}");
    }
    let r#type = DataType::Config as i32;
    let found = answer(&mut served, GetRequest { r#type, ..request(PORT, Encoding::Json) }).await;
    let config = json!({"name": "d4-eth1", "id": 1, "enabled": true});
    let expected = json!({"name": "d4-eth1", "config": config});
    assert_eq!(nodes(found.expect("it is right"))[0].json, expected);
    let unknown = GetRequest { r#type: 7, ..request(PORT, Encoding::Proto) };
    let refused = answer(&mut served, unknown).await.expect_err("there is none");
    assert_eq!(refused.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn models_are_those_that_the_request_names() {
    let mut served = Served::new().await;
    let model = |name: &str, version: &str| ModelData {
        name: name.to_owned(),
        version: version.to_owned(),
        ..ModelData::default()
    };
    let mut of = async |model: ModelData, encoding| {
        let use_models = vec![model];
        answer(&mut served, GetRequest { use_models, ..request(PORT, encoding) }).await
    };
    let p4rt = model("openconfig-p4rt", "0.1.0");
    let found = of(p4rt.clone(), Encoding::Proto).await.expect("served");
    assert_eq!(found[0].update.len(), 2);
    let found = nodes(of(p4rt, Encoding::JsonIetf).await.expect("served"));
    let id = json!({"openconfig-p4rt:id": 1});
    assert_eq!(
        found[0].json,
        json!({
            "openconfig-interfaces:name": "d4-eth1",
            "openconfig-interfaces:config": id,
            "openconfig-interfaces:state": id,
        })
    );
    for (name, version) in [("openconfig-acl", ""), ("openconfig-interfaces", "99.0.0")] {
        let refused = of(model(name, version), Encoding::Json).await.expect_err(name);
        assert_eq!(refused.code(), Code::InvalidArgument);
        assert!(refused.message().contains("openconfig-interfaces 2.4.1"), "{refused:?}");
    }
}

#[tokio::test]
async fn an_unknown_origin_is_refused() {
    let mut served = Served::new().await;
    for (origin, is_known) in
        [("", true), ("openconfig", true), ("openconfig-interfaces", true), ("cli", false)]
    {
        let path = vec![Path { origin: origin.to_owned(), ..parse("", PORT) }];
        let found = answer(&mut served, GetRequest { path, ..request("", Encoding::Json) }).await;
        let code = found.err().map(|status| status.code());
        assert_eq!(code, (!is_known).then_some(Code::InvalidArgument), "{origin}");
    }
    let path = vec![parse("4", PORT), parse("9", PORT)];
    let two = answer(&mut served, GetRequest { path, ..request("", Encoding::Json) }).await;
    assert_eq!(two.expect_err("two targets").code(), Code::InvalidArgument);
}

#[tokio::test]
async fn an_answer_with_too_many_nodes_is_refused() {
    let mut served = Served::new().await;
    let many = (0..4096).map(|n| {
        let mut path = parse("", "interfaces/.../*");
        // The paths differ, but select the same nodes.
        path.elem[1].key = [("n".to_owned(), n.to_string())].into();
        path
    });
    let path: Vec<Path> = many.collect();
    for encoding in [Encoding::Proto, Encoding::Json] {
        let request = GetRequest { path: path.clone(), ..request("", encoding) };
        let refused = answer(&mut served, request).await.expect_err("it is too much");
        assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
        assert!(refused.message().contains("65536 nodes"), "{refused:?}");
    }
}

#[tokio::test]
async fn capabilities_list_models_and_encodings() {
    let mut served = Served::new().await;
    let response = served.unary("/gnmi.gNMI/Capabilities", CapabilityRequest {}).await;
    let response: CapabilityResponse = response.expect("answered");
    assert_eq!(response.version, "0.7.0");
    // The numbers are JSON, JSON_IETF and PROTO, as in the table of the specification's section
    // 2.3.
    assert_eq!(response.supported_encodings, [0, 4, 2]);
    let names: Vec<&str> =
        response.supported_models.iter().map(|model| model.name.as_str()).collect();
    assert_eq!(names, ["openconfig-interfaces", "openconfig-p4rt", "openconfig-qos"]);
}
