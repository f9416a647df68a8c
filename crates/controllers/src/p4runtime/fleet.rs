//! A controller whose set of switches changes while it runs. Switches may have different pipelines.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

use super::connections::Connector;
use super::network::Network;
use super::service::Station;
use super::{Options, Shared, Target, switch};
use crate::Counters;
use crate::pipeline::{Pipeline, PipelineError};

/// A controller to which switches are added one by one. The packet-ins of all switches share one
/// queue, the [`Station`].
#[derive(Debug)]
pub(crate) struct Fleet {
    options: Options,
    counters: Arc<Counters>,
    station: Arc<Station>,
    /// The state that switches with the same pipeline share, by the name of the pipeline.
    shared: HashMap<String, Arc<Shared>>,
}

/// A switch that the controller serves until this value is dropped.
#[derive(Debug)]
pub(crate) struct Served {
    is_connected: Arc<AtomicBool>,
    task: AbortHandle,
}

impl Fleet {
    pub(crate) fn new(options: Options) -> Self {
        let station = Arc::new(Station::new(options.queue.clone()));
        Self { options, counters: Arc::default(), station, shared: HashMap::new() }
    }

    pub(crate) fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }

    /// Connects to a switch and serves it, in a task of the current runtime. `pipeline` is the name
    /// of the switch's pipeline. The switch is served until the returned value is dropped.
    pub(crate) fn serve(
        &mut self,
        target: Target,
        pipeline: &str,
    ) -> Result<Served, PipelineError> {
        let shared = match self.shared.get(pipeline) {
            Some(shared) => Arc::clone(shared),
            None => {
                let shared = Arc::new(self.share(Pipeline::named(pipeline)?));
                self.shared.insert(pipeline.to_owned(), Arc::clone(&shared));
                shared
            }
        };
        let is_connected = Arc::<AtomicBool>::default();
        let connector = Connector::alone(target);
        let keeping = switch::keep(connector, shared, Arc::clone(&is_connected));
        Ok(Served { is_connected, task: tokio::spawn(keeping).abort_handle() })
    }

    fn share(&self, pipeline: Pipeline) -> Shared {
        Shared {
            pipeline,
            dials: Semaphore::new(self.options.parallel_dials.clamp(1, Semaphore::MAX_PERMITS)),
            counters: Arc::clone(&self.counters),
            station: Arc::clone(&self.station),
            network: Network::default(),
            options: self.options.clone(),
        }
    }
}

impl Served {
    pub(crate) fn is_connected(&self) -> bool {
        self.is_connected.load(Ordering::Relaxed)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.task.abort();
    }
}
