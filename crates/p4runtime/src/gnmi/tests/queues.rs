//! Tests of the queues of ports, which clients read and subscribe to, and cannot set.

use std::future::ready;

use ::queues::{Configuration, QueueCounts};
use serde_json::{Value as JsonValue, json};
use tonic::Code;

use super::super::messages::Operation;
use super::*;
use crate::{
    control::{
        About, DeviceQueues, Injection, Pending, PortState, QueueChange, QueuesSet, SwitchSource,
    },
    proto::switch::InjectOutcome,
    status::EntityError,
};

/// A device whose port 2 has two queues. Each reading finds one more packet sent.
#[derive(Debug, Default)]
struct Queued {
    sent: Mutex<u64>,
    /// The configuration of the ports, and the changes of it.
    configuration: Configuration,
    changes: Mutex<Vec<QueueChange>>,
}

impl SwitchSource for Queued {
    fn about(&self) -> About {
        About::default()
    }

    fn queues(&self) -> Pending<DeviceQueues> {
        Box::pin(ready(Ok(self.published_queues())))
    }

    fn published_queues(&self) -> DeviceQueues {
        let mut sent = self.sent.lock().expect("no thread panics");
        *sent += 1;
        let counts = |sent| QueueCounts { sent, dropped_depth: 4, ..QueueCounts::default() };
        let port = PortState { queues: vec![counts(0), counts(*sent)], lateness: None };
        let configuration = self.configuration.clone();
        DeviceQueues { states: [(2, port)].into(), configuration, revision: 3 }
    }

    fn set_queues(&self, change: QueueChange) -> Pending<QueuesSet> {
        self.changes.lock().expect("no thread panics").push(change);
        Box::pin(ready(Ok(QueuesSet::default())))
    }

    fn inject(&self, _injection: Injection) -> Pending<Vec<InjectOutcome>> {
        Box::pin(ready(Err(EntityError::unimplemented("not in this test"))))
    }
}

const SENT: &str = "qos/interfaces/interface/output/queues/queue/state/transmit-pkts";

#[tokio::test]
async fn the_counters_of_queues_are_read_and_sampled() {
    let mut served = Served::new().await;
    served.first.set_switch_source(Arc::new(Queued::default()));
    let found = served.get("4", SENT).await.expect("it exists").notification;
    let values = |updates: &[Update]| -> Vec<Value> {
        updates.iter().filter_map(|update| update.val.clone()?.value).collect()
    };
    assert_eq!(found.len(), 1, "only port 2 has queues");
    assert_eq!(values(&found[0].update), [Value::Number(0), Value::Number(1)]);
    // The other device has no queues, but the path exists there too.
    assert_eq!(served.get("9", SENT).await.expect("it exists").notification, []);
    let json = GetRequest {
        path: vec![parse("4", "qos")],
        encoding: Encoding::JsonIetf as i32,
        ..GetRequest::default()
    };
    let found: GetResponse = served.unary("/gnmi.gNMI/Get", json).await.expect("it exists");
    let leaves = values(&found.notification[0].update);
    assert_eq!(leaves.len(), 12);
    assert!(leaves.contains(&Value::JsonIetf(json!("2").to_string().into_bytes())), "{leaves:?}");
    // Of the two queues, only the second changes between two samples.
    let Kind::Subscribe(mut sampled) = list(Mode::Stream, SENT) else { unreachable!() };
    sampled.subscription[0].mode = SubscriptionMode::Sample as i32;
    sampled.subscription[0].sample_interval = 1_000_000;
    sampled.subscription[0].suppress_redundant = true;
    let mut responses = served.subscribe([Kind::Subscribe(sampled)]).await;
    let mut numbers = Vec::new();
    while numbers.len() < 4 {
        let message = soon(responses.message()).await.expect("no error").expect("not the end");
        let Some(Response::Update(notification)) = message.response else { continue };
        numbers.extend(values(&notification.update));
    }
    assert_eq!(numbers, [0, 3, 4, 5].map(Value::Number));
}

/// A port gets the queues that a policy describes, keeps its own rate, and other ports keep theirs.
#[tokio::test]
async fn a_policy_sets_the_queues_of_its_port() {
    let mut served = Served::new().await;
    let before = Configuration::parse(&["port=2 rate=10Mbps overhead=24 ecn=3"]);
    let configuration = before.expect("a configuration");
    let queued = Arc::new(Queued { configuration, ..Queued::default() });
    served.first.set_switch_source(Arc::clone(&queued) as Arc<dyn SwitchSource>);
    let path = "qos/scheduler-policies/scheduler-policy[d4-eth2]";
    let input = |queue: &str, weight: u64| {
        let config = json!({
            "id": queue, "input-type": "QUEUE", "queue": queue, "weight": weight.to_string()
        });
        json!({"id": queue, "config": config})
    };
    let scheduler = |sequence: u64, inputs: Vec<JsonValue>| {
        let config = json!({"sequence": sequence, "priority": "STRICT"});
        json!({"sequence": sequence, "config": config, "inputs": {"input": inputs}})
    };
    let policy = |schedulers: Vec<JsonValue>| {
        json!({
            "openconfig-qos:name": "d4-eth2",
            "openconfig-qos:config": {"name": "d4-eth2"},
            "openconfig-qos:schedulers": {"scheduler": schedulers},
        })
    };
    let mut urgent = scheduler(10, vec![input("2", 1)]);
    urgent["one-rate-two-color"] = json!({"config": {
        "cir": "2000000", "bc": 3000, "queuing-behavior": "SHAPE", "max-queue-depth-packets": 9
    }});
    let low = || scheduler(20, vec![input("0", 1), input("1", 3)]);
    let mut set = async |path: &str, value: &JsonValue| {
        let val = Some(TypedValue { value: Some(Value::JsonIetf(value.to_string().into_bytes())) });
        let replace = vec![Update { path: Some(parse("4", path)), val }];
        let request = SetRequest { replace, ..SetRequest::default() };
        served.unary::<_, SetResponse>("/gnmi.gNMI/Set", request).await
    };
    let answer = set(path, &policy(vec![urgent.clone(), low()])).await.expect("it is right");
    assert_eq!((answer.response.len(), answer.response[0].op), (1, Operation::Replace as i32));
    let expected = Configuration::parse(&[
        "port=2 rate=10Mbps overhead=24",
        "port=2 queue=0 level=0 weight=1",
        "port=2 queue=1 level=0 weight=3",
        "port=2 queue=2 level=1 rate=2Mbps burst=3kB depth=9",
    ]);
    let expected = expected.expect("a configuration").0.into_iter();
    let expected = QueueChange {
        ports: expected.map(|(port, config)| (port, Some(config))).collect(),
        validate_only: false,
        expected_revision: Some(3),
    };
    assert_eq!(*queued.changes.lock().expect("no thread panics"), [expected]);
    let mut two_rates = low();
    two_rates["two-rate-three-color"] = json!({});
    let mut shaped = low();
    shaped["one-rate-two-color"] = json!({"config": {"cir": 1}});
    let mut named = policy(vec![low()]);
    named["openconfig-qos:config"] = json!({"name": "other"});
    for (value, code, reason) in [
        (policy(vec![two_rates]), Code::Unimplemented, "two-rate-three-color is not served"),
        (policy(vec![shaped]), Code::InvalidArgument, "needs exactly one input"),
        (policy(vec![urgent]), Code::InvalidArgument, "numbered from 0 without gaps"),
        (policy(vec![]), Code::InvalidArgument, "at least one"),
        (policy(vec![low(), low()]), Code::InvalidArgument, "[sequence=20] is there twice"),
        (named, Code::InvalidArgument, "differs from the path's"),
        (json!(7), Code::InvalidArgument, "is a container"),
    ] {
        let refused = set(path, &value).await.expect_err(reason);
        assert_eq!(refused.code(), code, "{refused}");
        assert!(refused.message().contains(reason), "{refused}");
    }
    let missing = "qos/scheduler-policies/scheduler-policy[none]";
    let refused = set(missing, &policy(vec![low()])).await.expect_err("no such port");
    assert_eq!(refused.code(), Code::NotFound);
    assert_eq!(
        queued.changes.lock().expect("no thread panics").len(),
        1,
        "the others had no effect"
    );
}

#[tokio::test]
async fn other_paths_of_the_model_are_refused_by_name() {
    let mut served = Served::new().await;
    served.first.set_switch_source(Arc::new(Queued::default()));
    for path in [SENT, "qos/scheduler-policies/scheduler-policy[low]/config/name"] {
        let value = Some(TypedValue { value: Some(Value::Number(1)) });
        let update = vec![Update { path: Some(parse("4", path)), val: value }];
        let request = SetRequest { update, ..SetRequest::default() };
        let refused = served.unary::<_, SetResponse>("/gnmi.gNMI/Set", request).await;
        let refused = refused.expect_err("it is refused");
        assert_eq!(refused.code(), Code::Unimplemented, "{refused}");
        let name = path.replace("[low]", "[name=low]");
        assert!(refused.message().contains(&name), "{refused}");
        assert!(refused.message().contains("SetQueues"), "{refused}");
    }
    let unknown = served.get("4", "qos/queues").await.expect_err("it is not served");
    assert_eq!(unknown.code(), Code::InvalidArgument, "{unknown}");
}
