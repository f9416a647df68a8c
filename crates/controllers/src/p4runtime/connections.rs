//! The connections to P4Runtime servers. Switches at the same address share connections.
//!
//! gRPC clients keep one connection per server and not one per stream. This controller follows this
//! practice, because messages for several switches then leave and arrive together.

use std::collections::HashMap;
use std::sync::Arc;

use ::p4runtime::client::{Client, ClientOptions, ConnectError};
use tokio::sync::{Mutex, Semaphore, SemaphorePermit};

use super::Target;

/// The maximum number of switches that share a connection. Servers should allow at least 100
/// concurrent streams on a connection (RFC 9113, section 6.5.2). Every switch needs one of them for
/// its StreamChannel and may use another one for a single call at a time.
const SHARE: usize = 50;

/// Connects to one switch. The server of the switch may also serve other switches.
#[derive(Clone)]
pub(super) struct Connector {
    target: Target,
    /// The connection that the switch shares with other switches. The inner option is `None` until
    /// the connection is established, and the outer one is `None` if the switch has a connection of
    /// its own.
    shared: Option<Arc<Mutex<Option<Client>>>>,
}

impl Connector {
    /// Creates a connector for each target. Targets at the same address share connections.
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

    /// Creates a connector for a target that shares its connection with no other.
    pub(super) fn alone(target: Target) -> Self {
        Self { target, shared: None }
    }

    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    /// Connects to the server of the switch, unless a shared connection exists already. Returns a
    /// client of the switch. Also returns a permit, which the caller holds during the rest of the
    /// set-up, so that a bounded number of switches is set up at the same time.
    pub(super) async fn connect<'a>(
        &self,
        options: &ClientOptions,
        permits: &'a Semaphore,
    ) -> Result<(Client, Option<SemaphorePermit<'a>>), ConnectError> {
        let Target { device_id, address } = &self.target;
        // The semaphore is never closed, and the switch would be dialled even without a permit.
        let permit = async || permits.acquire().await.ok();
        let Some(shared) = &self.shared else {
            let permit = permit().await;
            return Ok((Client::connect(address, *device_id, options).await?, permit));
        };
        // Switches that wait for the connection to this server hold no permit.
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
