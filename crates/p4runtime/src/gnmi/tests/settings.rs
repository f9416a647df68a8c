//! Tests of the gNMI RPC Set, which changes the configuration of a port as a leaf or as a
//! container.

use serde_json::{Value as JsonValue, json};
use tonic::Code;

use super::*;

const CONFIG: &str = "interfaces/interface[d4-eth2]/config";

fn update(path: &str, value: Value) -> Update {
    Update { path: Some(parse("", path)), val: Some(TypedValue { value: Some(value) }) }
}

fn plain(json: &JsonValue) -> Value {
    Value::Json(json.to_string().into_bytes())
}

fn ietf(json: &JsonValue) -> Value {
    Value::JsonIetf(json.to_string().into_bytes())
}

async fn set(served: &mut Served, request: SetRequest) -> Result<SetResponse, Status> {
    served.unary("/gnmi.gNMI/Set", request).await
}

async fn updated(served: &mut Served, path: &str, value: Value) -> Result<SetResponse, Status> {
    let update = vec![update(path, value)];
    set(served, SetRequest { update, ..SetRequest::default() }).await
}

fn enabled(served: &Served) -> Vec<bool> {
    served.ports.ports().iter().map(|port| port.enabled).collect()
}

/// The container may be complete or partial, with or without module names, or nested in its parent.
#[tokio::test]
async fn a_container_of_configuration_is_written() {
    let mut served = Served::new().await;
    let port = "interfaces/interface[d4-eth2]";
    let mut is_enabled = true;
    for (path, value) in [
        (CONFIG, plain(&json!({"enabled": false}))),
        (CONFIG, plain(&json!({"name": "d4-eth2", "id": 2, "enabled": true}))),
        (CONFIG, ietf(&json!({"openconfig-interfaces:enabled": false}))),
        (CONFIG, ietf(&json!({"openconfig-p4rt:id": 2, "enabled": true}))),
        (port, ietf(&json!({"openconfig-interfaces:config": {"enabled": false}}))),
        (port, plain(&json!({"name": "d4-eth2", "config": {"enabled": true}}))),
    ] {
        is_enabled = !is_enabled;
        let answer = updated(&mut served, path, value).await.expect(path);
        assert_eq!(answer.response[0].path, Some(parse("", path)));
        assert_eq!(enabled(&served), [true, is_enabled], "{path}");
    }
    updated(&mut served, CONFIG, plain(&json!({}))).await.expect("nothing is something");
    assert_eq!(enabled(&served), [true, true]);
}

/// Replacing a container resets omitted leaves to their defaults; updating it does not.
#[tokio::test]
async fn values_that_a_replacement_omits_become_the_default() {
    let mut served = Served::new().await;
    let name = || update(CONFIG, plain(&json!({"name": "d4-eth2"})));
    let off = || update(CONFIG, plain(&json!({"enabled": false})));
    for (replace, update, expected) in [
        (vec![], vec![off()], false),
        (vec![], vec![name()], false),
        (vec![name()], vec![], true),
        (vec![off()], vec![], false),
        // Replacements are applied before updates, regardless of the previous value.
        (vec![name()], vec![off()], false),
        (
            vec![off()],
            vec![super::settings::update(CONFIG, plain(&json!({"enabled": true})))],
            true,
        ),
    ] {
        let request = SetRequest { replace, update, ..SetRequest::default() };
        set(&mut served, request).await.expect("it is right");
        assert_eq!(enabled(&served), [true, expected]);
    }
}

/// The last operation on a leaf prevails, and no intermediate state is visible.
#[tokio::test]
async fn operations_are_one_transaction() {
    let mut served = Served::new().await;
    let leaf = |number: u32, flag| {
        update(&format!("interfaces/interface[d4-eth{number}]/config/enabled"), Value::Flag(flag))
    };
    let both = |replace, update| SetRequest { replace, update, ..SetRequest::default() };
    set(&mut served, both(vec![leaf(1, false)], vec![leaf(1, true)])).await.expect("right");
    assert_eq!(enabled(&served), [true, true]);
    set(&mut served, both(vec![], vec![leaf(1, true), leaf(1, false)])).await.expect("right");
    assert_eq!(enabled(&served), [false, true]);
    let wrong = both(vec![], vec![leaf(1, true), update(CONFIG, plain(&json!({"mtu": 9})))]);
    assert_eq!(set(&mut served, wrong).await.expect_err("mtu").code(), Code::InvalidArgument);
    assert_eq!(enabled(&served), [false, true]);
    let stuck = Port { number: STUCK, name: "d4-eth3".to_owned(), up: true, enabled: true };
    served.ports.ports.lock().expect("no thread panics").push(stuck);
    let half = both(vec![], vec![leaf(1, true), leaf(2, false), leaf(3, false)]);
    let refused = set(&mut served, half).await.expect_err("the last cannot be switched");
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert_eq!(enabled(&served), [false, true, true]);
}

#[tokio::test]
async fn errors_name_the_path_or_value_that_cannot_be_written() {
    let mut served = Served::new().await;
    let enabled_leaf = format!("{CONFIG}/enabled");
    for (path, value, code, named) in [
        (CONFIG, plain(&json!({"mtu": 1500})), Code::InvalidArgument, "\"mtu\""),
        (CONFIG, plain(&json!({"enabled": "true"})), Code::InvalidArgument, "true or false"),
        (CONFIG, plain(&json!({"name": "eth9"})), Code::InvalidArgument, "eth9"),
        (CONFIG, plain(&json!({"id": 7})), Code::Unimplemented, "cannot be changed to 7"),
        (CONFIG, ietf(&json!({"openconfig-p4rt:enabled": true})), Code::InvalidArgument, "p4rt"),
        (CONFIG, plain(&json!([true])), Code::InvalidArgument, "container"),
        (CONFIG, Value::Flag(true), Code::InvalidArgument, "container"),
        (CONFIG, Value::Json(b"{\"enabled\":".to_vec()), Code::InvalidArgument, "is not JSON"),
        (&enabled_leaf, plain(&json!({"enabled": true})), Code::InvalidArgument, "true or false"),
        ("interfaces/interface[none]/config", plain(&json!({})), Code::NotFound, "none"),
        ("interfaces/interface[*]/config", plain(&json!({})), Code::NotFound, "*"),
        ("interfaces/interface/config", plain(&json!({})), Code::Unimplemented, "interface"),
        ("interfaces/interface[d4-eth2]/state", plain(&json!({})), Code::Unimplemented, "state"),
        (
            "interfaces/interface[d4-eth2]",
            plain(&json!({"state": {"enabled": false}})),
            Code::InvalidArgument,
            "\"state\"",
        ),
        ("interfaces", plain(&json!({"interface": []})), Code::Unimplemented, "interfaces"),
    ] {
        let refused = updated(&mut served, path, value.clone()).await.expect_err(path);
        assert_eq!(refused.code(), code, "{path} {value:?}: {refused:?}");
        assert!(refused.message().contains(named), "{path} {value:?}: {refused:?}");
    }
    let union_replace = vec![update(CONFIG, plain(&json!({"enabled": false})))];
    let request = SetRequest { union_replace, ..SetRequest::default() };
    let refused = set(&mut served, request).await.expect_err("it is of a later gNMI");
    assert_eq!(refused.code(), Code::Unimplemented);
    let mut path = parse("", &enabled_leaf);
    path.origin = "cli".to_owned();
    let update = vec![Update { path: Some(path), ..update(CONFIG, Value::Flag(false)) }];
    let refused = set(&mut served, SetRequest { update, ..SetRequest::default() }).await;
    assert_eq!(refused.expect_err("another schema").code(), Code::InvalidArgument);
    assert_eq!(enabled(&served), [true, true]);
}

/// The target is in the prefix of the answer and in none of its paths.
#[tokio::test]
async fn an_answer_has_the_prefix_of_its_request() {
    let mut served = Served::new().await;
    let prefix = Some(parse("4", "interfaces"));
    let update = vec![update("interface[d4-eth2]/config/enabled", Value::Flag(false))];
    let request = SetRequest { prefix, update, ..SetRequest::default() };
    let answer = set(&mut served, request).await.expect("it is right");
    let target = Path { target: "4".to_owned(), ..Path::default() };
    assert_eq!(answer.prefix, Some(target));
    assert_eq!(answer.response[0].path, Some(parse("", &format!("{CONFIG}/enabled"))));
}
