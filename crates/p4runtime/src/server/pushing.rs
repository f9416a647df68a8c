//! SetForwardingPipelineConfig, the RPC by which a controller loads a pipeline. Pipelines are
//! loaded on separate threads, so that the runtime keeps serving other clients, streams and timers.

use std::{future::Future, thread, time::Duration};

use tokio::{
    sync::{Semaphore, oneshot},
    time,
};
use tonic::Status;

use super::handle::{Answer, DeviceHandle};
use crate::{
    proto::v1::SetForwardingPipelineConfigRequest,
    session::{Device, LoadedPipeline, PipelineLoad, PushProgress, too_slow},
    status::{Code, EntityError, refusal},
};

/// The semaphore that limits the number of pipelines which this process loads concurrently. Further
/// ones wait for their turn.
static LOADS: Semaphore = Semaphore::const_new(4);

/// Starts immediately to execute a SetForwardingPipelineConfig request. The returned future
/// completes the request, even if its client disconnects meanwhile.
pub(super) fn set_pipeline(
    device: DeviceHandle,
    request: SetForwardingPipelineConfigRequest,
) -> impl Future<Output = Result<Answer, Status>> + Send + 'static {
    let begun = device.change(|session, effects| {
        match session.begin_pipeline(request, device.now(), effects)? {
            PushProgress::Load(load) if !load.is_slow() => {
                session.loaded(load.run()?, device.now(), effects)?;
            }
            PushProgress::Load(load) => return Ok(PushProgress::Load(load)),
            PushProgress::Done => {}
        }
        Ok(PushProgress::Done)
    });
    let durable = device.inspect(Device::durable);
    async move {
        match begun.map_err(|error| refusal(&error))? {
            PushProgress::Done => Ok(Answer::done(durable)),
            PushProgress::Load(load) => {
                let outcome = tokio::spawn(carry_out(device, *load)).await;
                let outcome = outcome.unwrap_or_else(|error| {
                    Err(internal(format!("The request was not carried out: {error}")))
                });
                outcome.map_err(|error| refusal(&error))
            }
        }
    }
}

async fn carry_out(device: DeviceHandle, load: PipelineLoad) -> Result<Answer, EntityError> {
    let loaded = loaded(load).await?;
    device.change(|session, effects| {
        session.loaded(loaded, device.now(), effects)?;
        Ok(Answer::done(session.durable()))
    })
}

/// Loads a pipeline on a separate thread.
async fn loaded(load: PipelineLoad) -> Result<LoadedPipeline, EntityError> {
    let ended = || internal("The thread that loads the pipeline failed.");
    let permit = LOADS.acquire().await.map_err(|_| ended())?;
    let load_time = load.load_time();
    let (begin, begun) = oneshot::channel();
    let (end, outcome) = oneshot::channel();
    let thread = thread::Builder::new().name("load".to_owned());
    let started = thread.spawn(move || {
        let rehearsed = load.rehearse();
        let loaded = rehearsed.and_then(|()| {
            // Sending fails only if the server has stopped.
            let _ = begin.send(());
            load.run()
        });
        drop(permit);
        // The pipeline is dropped here if the server has stopped or the time limit has passed.
        let _ = end.send(loaded);
    });
    started.map_err(|error| {
        let message = format!("No thread can be started to load the pipeline: {error}");
        EntityError::exhausted(message)
    })?;
    // A rehearsal ends by itself. If it refused the pipeline, no start is signalled and the outcome
    // is ready.
    let _ = begun.await;
    let outcome = time::timeout(load_time, outcome).await.map_err(|_| still_loading(load_time))?;
    outcome.map_err(|_| ended())?
}

fn internal(message: impl Into<String>) -> EntityError {
    EntityError::new(Code::Internal, message)
}

/// Returns the error for a pipeline that is not loaded within the time limit. The load continues,
/// since a thread cannot be cancelled.
fn still_loading(limit: Duration) -> EntityError {
    let refused = too_slow(limit);
    let message =
        format!("{} Other pushes are refused until the load has ended.", refused.message());
    EntityError::new(refused.code(), message)
}
