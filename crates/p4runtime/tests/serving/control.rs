//! Tests of the switch's own service on devices that do not have it.

use p4runtime::{
    proto::switch::{GetQueuesRequest, SetQueuesRequest, WatchQueuesRequest},
    server::ServerOptions,
};
use tonic::Code;

use crate::support::Served;

/// A device without queues answers UNIMPLEMENTED, and an unknown one NOT_FOUND.
#[tokio::test]
async fn a_device_without_queues_has_no_such_service() {
    let served = Served::new(1, ServerOptions::default()).await;
    let client = served.client().await;
    let device_id = client.device_id();
    let mut control = client.switch_control();
    let get = GetQueuesRequest { device_id, ..Default::default() };
    let refused = control.get_queues(get).await.expect_err("no queues");
    assert_eq!(refused.code(), Code::Unimplemented, "{refused}");
    let set = SetQueuesRequest { device_id, ..Default::default() };
    let refused = control.set_queues(set).await.expect_err("no queues");
    assert_eq!(refused.code(), Code::Unimplemented, "{refused}");
    let watch = WatchQueuesRequest { device_id, ..Default::default() };
    let refused = control.watch_queues(watch).await.expect_err("no queues");
    assert_eq!(refused.code(), Code::Unimplemented, "{refused}");
    let get = GetQueuesRequest { device_id: 999, ..Default::default() };
    let refused = control.get_queues(get).await.expect_err("no device");
    assert_eq!(refused.code(), Code::NotFound, "{refused}");
}
