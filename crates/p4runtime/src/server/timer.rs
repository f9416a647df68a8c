//! A timer that wakes a device when a digest list must be sent or an entry expires. A device
//! without digests and idle timeouts has no task.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{runtime::Handle, sync::Notify, time};

use super::handle::DeviceHandle;
use crate::store::Nanos;

/// The time by which a wake-up of the timer may be delayed, so that several deadlines are handled
/// together. Without this delay, each entry of a large table could cause a scan of the whole table.
const SLACK: Duration = Duration::from_millis(5);

/// The timer of one device.
#[derive(Debug, Default)]
pub(super) struct Timer {
    state: Mutex<State>,
    earlier: Notify,
}

/// The state of a timer, which a lock protects.
#[derive(Debug, Default)]
struct State {
    /// The runtime on which the timer's task is started. It is known from the first stream on.
    runtime: Option<Handle>,
    /// The time at which the timer's task wakes, or `None` if there is no task.
    wake_at: Option<Nanos>,
}

impl Timer {
    /// Records the runtime that serves the device.
    pub(super) fn enter(&self, runtime: Handle) {
        self.state().runtime = Some(runtime);
    }

    /// Ensures that the device is woken soon after `deadline`, or earlier.
    pub(super) fn set(&self, device: &DeviceHandle, deadline: Option<Nanos>) {
        let Some(deadline) = deadline.filter(|_| device.clock().runs()) else { return };
        let mut state = self.state();
        // Without a runtime no controller is connected, so there is nothing to notify.
        let Some(runtime) = state.runtime.clone() else { return };
        match state.wake_at {
            Some(wake_at) if wake_at <= deadline => {}
            Some(_) => {
                state.wake_at = Some(deadline);
                self.earlier.notify_one();
            }
            None => {
                state.wake_at = Some(deadline);
                drop(state);
                runtime.spawn(run(Running { device: device.clone(), ended: false }));
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A guard of the timer's task. If the runtime shuts down, it drops the task before its end. This
/// guard then records that there is no task, so that the next deadline starts another one on the
/// runtime of a later stream.
struct Running {
    device: DeviceHandle,
    ended: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            self.device.timer().state().wake_at = None;
        }
    }
}

async fn run(mut running: Running) {
    let device = running.device.clone();
    let timer = device.timer();
    loop {
        let Some(wake_at) = timer.state().wake_at else { return };
        let wait = Duration::from_nanos(wake_at.0.saturating_sub(device.now().0));
        if !wait.is_zero() {
            tokio::select! {
                () = time::sleep(wait.max(SLACK)) => {}
                () = timer.earlier.notified() => continue,
            }
        }
        // Every deadline that is set from now on is earlier than this one.
        timer.state().wake_at = Some(Nanos(u64::MAX));
        let next = device.tick();
        let mut state = timer.state();
        let set = state.wake_at.unwrap_or(Nanos(u64::MAX));
        let next = next.map_or(set, |next| next.min(set));
        if next == Nanos(u64::MAX) {
            // The lock is held here, so a deadline that is set next finds no task and starts one.
            state.wake_at = None;
            running.ended = true;
            return;
        }
        state.wake_at = Some(next);
    }
}
