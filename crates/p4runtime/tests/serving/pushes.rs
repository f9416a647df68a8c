//! Tests of pipelines that take long to load, or never finish loading.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

use entities::{DataPlane, Target, schema::Schema};
use p4runtime::{
    arbitration::ElectionId,
    client::Client,
    emulated::EmulatedTarget,
    proto::v1::{
        self, get_forwarding_pipeline_config_request::ResponseType,
        set_forwarding_pipeline_config_request::Action, write_request::Atomicity,
    },
    server::ServerOptions,
    session::{Device, DeviceOptions, PipelineRegistry},
    status::EntityError,
};
use tonic::{Code, Status};

use crate::support::{Event, Served, TIMEOUT, host, pipeline, soon};

/// A target of emulated switches that loads device configurations beginning with "wait" only when
/// its gate is open.
#[derive(Clone, Debug, Default)]
struct Gated(Arc<Gate>);

#[derive(Debug, Default)]
struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Target for Gated {
    fn load(
        &self,
        schema: &Arc<Schema>,
        device_config: &[u8],
    ) -> Result<Box<dyn DataPlane>, EntityError> {
        if device_config.starts_with(b"wait") {
            let is_open = self.0.is_open.lock().unwrap_or_else(PoisonError::into_inner);
            let opened = self.0.opened.wait_while(is_open, |is_open| !*is_open);
            drop(opened);
        }
        EmulatedTarget.load(schema, device_config)
    }

    fn is_slow(&self) -> bool {
        true
    }
}

impl Gated {
    fn open(&self) {
        *self.0.is_open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.opened.notify_all();
    }

    async fn serve(&self, load_time: Duration) -> Served {
        let registry = Arc::new(PipelineRegistry::new());
        let options = DeviceOptions { load_time, ..DeviceOptions::default() };
        let device = |id| {
            let target = Box::new(self.clone());
            Device::over(target, id, options.clone(), Arc::clone(&registry))
        };
        Served::with(1..=2, device, ServerOptions::default()).await
    }
}

impl Drop for Gated {
    /// Opens the gate, so that the threads of a failed test end.
    fn drop(&mut self) {
        self.open();
    }
}

fn waiting() -> v1::ForwardingPipelineConfig {
    let bytes = b"wait".as_slice();
    v1::ForwardingPipelineConfig { p4_device_config: bytes.into(), ..pipeline(2) }
}

/// Pushes a pipeline in a separate task.
fn push(
    client: &Client,
    config: v1::ForwardingPipelineConfig,
) -> tokio::task::JoinHandle<Result<(), Status>> {
    let mut client = client.clone();
    tokio::spawn(async move { client.set_pipeline(Action::VerifyAndCommit, Some(config)).await })
}

async fn cookie(client: &mut Client) -> Option<u64> {
    let there = client.get_pipeline(ResponseType::CookieOnly).await.expect("there");
    there.cookie.map(|cookie| cookie.cookie)
}

/// Waits until a push is refused because another one is being loaded.
async fn is_loading(client: &mut Client) {
    let refused = async {
        loop {
            // A Commit without a saved pipeline is refused with NOT_FOUND, but only while no
            // pipeline is being loaded.
            let outcome = client.set_pipeline(Action::Commit, None).await;
            let status = outcome.expect_err("nothing is saved");
            if status.code() != Code::NotFound {
                return status;
            }
            tokio::task::yield_now().await;
        }
    };
    let status = soon(refused).await;
    assert_eq!(status.code(), Code::Unavailable);
    assert!(status.message().contains("is loading another pipeline"), "{status}");
}

#[tokio::test]
async fn others_are_served_while_a_pipeline_is_loaded() {
    let target = Gated::default();
    let served = target.serve(TIMEOUT).await;
    let (mut client, _sender, _receiver) = served.primary().await;
    let pushing = push(&client, waiting());
    is_loading(&mut client).await;

    // This client, another client and another device are all served.
    soon(client.write(vec![host(1)], Atomicity::ContinueOnError)).await.expect("written");
    let mut stranger = served.client().await;
    assert_eq!(soon(cookie(&mut stranger)).await, Some(1));
    let mut other = stranger.for_device(2);
    let stream = other.become_primary("", ElectionId(1), TIMEOUT).await.expect("primary");
    soon(other.set_pipeline(Action::VerifyAndCommit, Some(pipeline(5)))).await.expect("pushed");
    assert!(!pushing.is_finished());

    target.open();
    soon(pushing).await.expect("no panic").expect("loaded");
    assert_eq!(cookie(&mut client).await, Some(2));
    drop(stream);
}

#[tokio::test]
async fn a_load_that_takes_too_long_is_refused_and_the_old_pipeline_runs() {
    let target = Gated::default();
    let served = target.serve(Duration::from_secs(1)).await;
    let (mut client, _sender, _receiver) = served.primary().await;
    let status = soon(push(&client, waiting())).await.expect("no panic").expect_err("endless");
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.message().contains("--push-seconds"), "{status}");
    assert_eq!(cookie(&mut client).await, Some(1));
    // The load continues, so the next push must wait for it.
    is_loading(&mut client).await;
    target.open();
    let pushed = async {
        while client.set_pipeline(Action::VerifyAndCommit, Some(pipeline(3))).await.is_err() {}
    };
    soon(pushed).await;
    assert_eq!(cookie(&mut client).await, Some(3));
}

#[tokio::test]
async fn a_push_takes_effect_even_if_its_client_disconnects() {
    let target = Gated::default();
    let served = target.serve(TIMEOUT).await;
    let (mut client, _sender, _receiver) = served.primary().await;
    let pushing = push(&client, waiting());
    is_loading(&mut client).await;
    pushing.abort();
    let _ = pushing.await;
    target.open();
    let two = |events: &[Event]| events.iter().filter(|one| **one == Event::Pipeline).count() == 2;
    served.log.wait(|events| two(events).then_some(())).await;
    assert_eq!(cookie(&mut client).await, Some(2));
}

#[tokio::test]
async fn a_server_stops_while_a_pipeline_is_loaded() {
    let target = Gated::default();
    let mut served = target.serve(TIMEOUT).await;
    let (mut client, _sender, _receiver) = served.primary().await;
    let pushing = push(&client, waiting());
    is_loading(&mut client).await;
    served.stop();
    soon(served.stopped()).await;
    assert!(pushing.await.expect("no panic").is_err());
}
