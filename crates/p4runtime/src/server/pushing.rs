//! SetForwardingPipelineConfig: pipelines are loaded on threads of their own, so that the runtime
//! goes on serving other clients, streams and timers.

use std::{future::Future, thread, time::Duration};

use tokio::{
    sync::{Semaphore, oneshot},
    time,
};
use tonic::Status;

use super::{
    clock,
    handle::{Answer, DeviceHandle},
};
use crate::{
    proto::v1::SetForwardingPipelineConfigRequest,
    session::{Begun, Device, LoadedPipeline, PipelineLoad, too_slow},
    status::{Code, EntityError, refusal},
};

/// The number of pipelines that are loaded at a time in this process. The others wait.
static LOADS: Semaphore = Semaphore::const_new(4);

/// Begins a request at once. The future carries it out, also if its client leaves meanwhile.
pub(super) fn set_pipeline(
    device: DeviceHandle,
    request: SetForwardingPipelineConfigRequest,
) -> impl Future<Output = Result<Answer, Status>> + Send + 'static {
    let begun = device.change(|session, effects| {
        match session.begin_pipeline(request, clock::now(), effects)? {
            Begun::Load(load) if !load.is_slow() => {
                session.loaded(load.run()?, clock::now(), effects)?;
            }
            Begun::Load(load) => return Ok(Begun::Load(load)),
            Begun::Done => {}
        }
        Ok(Begun::Done)
    });
    let durable = device.inspect(Device::durable);
    async move {
        match begun.map_err(|error| refusal(&error))? {
            Begun::Done => Ok(Answer::done(durable)),
            Begun::Load(load) => {
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
        session.loaded(loaded, clock::now(), effects)?;
        Ok(Answer::done(session.durable()))
    })
}

/// Loads a pipeline on a thread of its own.
async fn loaded(load: PipelineLoad) -> Result<LoadedPipeline, EntityError> {
    let ended = || internal("The thread that loads the pipeline has ended.");
    let permit = LOADS.acquire().await.map_err(|_| ended())?;
    let load_time = load.load_time();
    let (begin, begun) = oneshot::channel();
    let (end, outcome) = oneshot::channel();
    let thread = thread::Builder::new().name("load".to_owned());
    let started = thread.spawn(move || {
        let rehearsed = load.rehearse();
        let loaded = rehearsed.and_then(|()| {
            // Fails only if the server has stopped.
            let _ = begin.send(());
            load.run()
        });
        drop(permit);
        // If the server has stopped, or the time has passed, the pipeline is dropped here.
        let _ = end.send(loaded);
    });
    started.map_err(|error| {
        let message = format!("No thread can be started to load the pipeline: {error}");
        EntityError::exhausted(message)
    })?;
    // A rehearsal ends by itself. If it refused, there is no beginning, and the outcome is there.
    let _ = begun.await;
    let outcome = time::timeout(load_time, outcome).await.map_err(|_| still_loading(load_time))?;
    outcome.map_err(|_| ended())?
}

fn internal(message: impl Into<String>) -> EntityError {
    EntityError::new(Code::Internal, message)
}

/// The refusal of a load that goes on, since a thread cannot be ended.
fn still_loading(limit: Duration) -> EntityError {
    let refused = too_slow(limit);
    let message =
        format!("{} Other pushes are refused until the load has ended.", refused.message());
    EntityError::new(refused.code(), message)
}
