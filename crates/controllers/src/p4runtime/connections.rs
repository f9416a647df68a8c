//! Connections to servers, each shared by switches behind the same address.
//!
//! gRPC clients keep a connection for each server, not for each stream: so do we, since messages
//! for several switches then leave and arrive together.

use std::collections::HashMap;
use std::sync::Arc;

use ::p4runtime::client::{Client, ClientOptions, ConnectError};
use tokio::sync::{Mutex, Semaphore, SemaphorePermit};

use super::Target;

/// Switches of one connection. Servers should allow 100 streams at a time (RFC 9113, section
/// 6.5.2): half of them are StreamChannels, so that every switch can make another call.
const SHARE: usize = 50;

/// Connects to the server of a switch, which may be that of other switches.
#[derive(Clone)]
pub(super) struct Connector {
    target: Target,
    /// The connection, once it is there; `None` if no other switch uses it.
    shared: Option<Arc<Mutex<Option<Client>>>>,
}

impl Connector {
    /// A connector for each target, those of the same address joined.
    pub(super) fn of(targets: impl Iterator<Item = Target>) -> Vec<Self> {
        let mut servers: HashMap<String, Vec<Target>> = HashMap::new();
        for target in targets {
            servers.entry(target.address.clone()).or_default().push(target);
        }
        let groups = servers.values().flat_map(|targets| targets.chunks(SHARE));
        groups
            .flat_map(|group| {
                let shared = (group.len() > 1).then(Arc::default);
                group
                    .iter()
                    .map(move |target| Self { target: target.clone(), shared: shared.clone() })
            })
            .collect()
    }

    /// A connector that shares its connection with no other.
    pub(super) fn alone(target: Target) -> Self {
        Self { target, shared: None }
    }

    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    /// A client of the switch, and the permit for all that follows to set it up.
    pub(super) async fn connect<'a>(
        &self,
        options: &ClientOptions,
        permits: &'a Semaphore,
    ) -> Result<(Client, Option<SemaphorePermit<'a>>), ConnectError> {
        let Target { device_id, address } = &self.target;
        // The semaphore is never closed; without a permit a switch is dialled all the same.
        let permit = async || permits.acquire().await.ok();
        let Some(shared) = &self.shared else {
            let permit = permit().await;
            return Ok((Client::connect(address, *device_id, options).await?, permit));
        };
        // Permits are not held while the others of this server wait.
        let client = {
            let mut shared = shared.lock().await;
            match &*shared {
                Some(client) if client.is_connected() => client.for_device(*device_id),
                _ => {
                    *shared = None;
                    let _permit = permit().await;
                    let client = Client::connect(address, *device_id, options).await?;
                    shared.insert(client).clone()
                }
            }
        };
        Ok((client, permit().await))
    }
}
