//! The loading of pipelines outside the device, which keeps serving its controllers meanwhile.
//!
//! [`Device::begin_pipeline`] returns a [`PipelineLoad`], which may run on any thread, and
//! [`Device::loaded`] accepts its result. A device has at most one load at a time. The load ends
//! when the `PipelineLoad`, or the [`LoadedPipeline`] that it produced, is dropped or passed to the
//! device.
//!
//! [`Device::begin_pipeline`]: super::Device::begin_pipeline
//! [`Device::loaded`]: super::Device::loaded

use std::{
    any::Any,
    fmt::Debug,
    panic::{self, AssertUnwindSafe},
    sync::Arc,
    time::Duration,
};

use entities::Target;

use super::{
    Pipeline, PipelineRegistry,
    config::{Loaded, Push},
    initial::InitialEntities,
};
use crate::{
    packet_io::ByteString,
    proto::v1::ForwardingPipelineConfig,
    status::{Code, EntityError},
    store::{Nanos, Store},
};

/// An environment for trying to load a pipeline before the device loads it, such as a separate
/// process. A failure there does not affect the device.
pub trait Rehearsal: Debug + Send + Sync {
    /// Loads a pipeline and drops it. Blocks the calling thread.
    ///
    /// # Errors
    ///
    /// Returns an error if the pipeline cannot be loaded, or exceeds its time or memory.
    fn rehearse(&self, config: &ForwardingPipelineConfig) -> Result<(), EntityError>;
}

/// A pipeline to be loaded. The device is busy until this value is dropped.
#[derive(Debug)]
pub struct PipelineLoad {
    pub(super) push: Push,
    pub(super) config: ForwardingPipelineConfig,
    pub(super) registry: Arc<PipelineRegistry>,
    /// The encoding of metadata values in packet-ins.
    pub(super) form: ByteString,
    pub(super) target: Arc<dyn Target>,
    pub(super) rehearsal: Option<Arc<dyn Rehearsal>>,
    /// The time of the request.
    pub(super) now: Nanos,
    /// The maximum time that loading may take.
    pub(super) load_time: Duration,
}

/// A loaded pipeline that is ready for [`Device::loaded`](super::Device::loaded).
#[derive(Debug)]
pub struct LoadedPipeline {
    pub(super) push: Push,
    pub(super) loaded: Loaded,
}

impl PipelineLoad {
    /// Returns whether [`PipelineLoad::run`] may take long. If so, it must not be called on a
    /// thread that serves clients.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        self.target.is_slow()
    }

    /// Returns the maximum time that [`PipelineLoad::run`] may take.
    #[must_use]
    pub fn load_time(&self) -> Duration {
        self.load_time
    }

    /// Tries to load the pipeline in the environment for trials (the device's rehearsal), if the
    /// device has one.
    ///
    /// # Errors
    ///
    /// Returns an error if the pipeline cannot be loaded, or exceeds its time or memory.
    pub fn rehearse(&self) -> Result<(), EntityError> {
        let rehearsal = self.rehearsal.as_ref();
        rehearsal.map_or(Ok(()), |rehearsal| rehearsal.rehearse(&self.config))
    }

    /// Loads the pipeline on the current thread.
    ///
    /// # Errors
    ///
    /// Returns an error if the configuration cannot be loaded, or if loading panics.
    pub fn run(self) -> Result<LoadedPipeline, EntityError> {
        // Unwind safety: everything that a panic can leave inconsistent is dropped, except the
        // registry, which has no intermediate states.
        let loaded = panic::catch_unwind(AssertUnwindSafe(|| self.load()));
        loaded.unwrap_or_else(|payload| Err(panicked(&*payload)))
    }

    fn load(self) -> Result<LoadedPipeline, EntityError> {
        let Self { push, config, registry, form, target, now, .. } = self;
        let p4info = config
            .p4info
            .ok_or_else(|| EntityError::invalid("The configuration has no P4Info."))?;
        let pipeline = registry
            .intern(p4info, &config.p4_device_config, form)
            .map_err(|error| EntityError::invalid(format!("The P4Info is not valid: {error}")))?;
        let store = store(&*target, &pipeline)?;
        let initial = InitialEntities::of(&store, now)?;
        let loaded = Loaded { pipeline, cookie: config.cookie, store, initial };
        Ok(LoadedPipeline { push, loaded })
    }
}

/// Loads the program of a pipeline and the entries that it declares.
fn store(
    target: &dyn Target,
    pipeline: &Pipeline,
) -> Result<Store<Box<dyn entities::DataPlane>>, EntityError> {
    let schema = pipeline.schema();
    let plane = target.load(schema.objects(), pipeline.device_config())?;
    pipeline.take_widths(&*plane);
    Ok(Store::over(Arc::clone(schema), plane))
}

/// Returns the error for a pipeline that took longer than `limit` to load.
#[must_use]
pub fn too_slow(limit: Duration) -> EntityError {
    EntityError::exhausted(format!(
        "The pipeline was not loaded within {} s (--push-seconds). The pipeline that runs is \
         unchanged.",
        limit.as_secs_f64()
    ))
}

fn panicked(payload: &(dyn Any + Send)) -> EntityError {
    let reason = payload.downcast_ref::<String>().map(String::as_str);
    let reason =
        reason.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
    let message = format!(
        "The pipeline was not loaded, because of a bug in the compiler of planimeter: {reason}"
    );
    EntityError::new(Code::Internal, message)
}
