//! Wakes a device for its digests and idle entries. A device that has neither costs no task.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{runtime::Handle, sync::Notify, time};

use super::{clock, handle::DeviceHandle};
use crate::store::Nanos;

/// Entries that expire within this time of each other are told in one message.
const SLACK: Duration = Duration::from_millis(1);

#[derive(Debug, Default)]
pub(super) struct Timer {
    state: Mutex<State>,
    earlier: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Where the task runs: known from the first stream on.
    runtime: Option<Handle>,
    /// What the task waits for; `None` while there is no task.
    wake_at: Option<Nanos>,
}

impl Timer {
    /// Remembers the runtime that serves the device.
    pub(super) fn enter(&self, runtime: Handle) {
        self.state().runtime = Some(runtime);
    }

    /// Sees to it that the device is woken at `deadline`, or earlier.
    pub(super) fn set(&self, device: &DeviceHandle, deadline: Option<Nanos>) {
        let Some(deadline) = deadline else { return };
        let mut state = self.state();
        match (state.wake_at, &state.runtime) {
            (Some(wake_at), _) if wake_at <= deadline => {}
            (Some(_), _) => {
                state.wake_at = Some(deadline);
                self.earlier.notify_one();
            }
            (None, Some(runtime)) => {
                runtime.spawn(run(device.clone()));
                state.wake_at = Some(deadline);
            }
            // Nobody is connected, so nobody could be told.
            (None, None) => {}
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn run(device: DeviceHandle) {
    let timer = device.timer();
    loop {
        let Some(wake_at) = timer.state().wake_at else { return };
        let wait = Duration::from_nanos(wake_at.0.saturating_sub(clock::now().0));
        if !wait.is_zero() {
            tokio::select! {
                () = time::sleep(wait.max(SLACK)) => {}
                () = timer.earlier.notified() => continue,
            }
        }
        // Without a deadline from here on, so that `set` cannot take an old one for a later one.
        timer.state().wake_at = Some(Nanos(u64::MAX));
        let next = device.tick();
        let mut state = timer.state();
        state.wake_at = match (next, state.wake_at) {
            (Some(next), Some(set)) => Some(next.min(set)),
            (None, Some(Nanos(u64::MAX))) | (None, None) => None,
            (Some(only), None) | (None, Some(only)) => Some(only),
        };
    }
}
