//! The P4Runtime server of a switch in process.

use super::{InProcessSwitch, Inner};
use crate::server::ServerThread;
use p4runtime::server::{ServeError, Server, ServerOptions};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// The time that a stopping server waits for the calls of controllers to end.
const GRACE: Duration = Duration::from_millis(200);

/// The way in which time passes while a switch in process is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Passing {
    /// Time passes by itself, from the switch's present time on.
    #[default]
    Wall,
    /// Time passes only when the owner advances it.
    Virtual,
}

/// The reason why a switch in process cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServingError {
    /// The switch is served already.
    #[error("the switch is served already")]
    Served,
    /// The server cannot listen on its address.
    #[error("cannot listen on {address}: {cause}")]
    Listen {
        /// The address on which the server cannot listen.
        address: SocketAddr,
        /// The error of the system.
        cause: io::Error,
    },
    /// The P4Runtime server cannot be created.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The system has no threads or descriptors left.
    #[error("cannot start the server: {0}")]
    System(#[from] io::Error),
}

/// A server of a switch in process. Dropping it ends the streams of all controllers and stops the
/// clock.
#[derive(Debug)]
pub struct ServedInProcess {
    inner: Arc<Inner>,
    address: SocketAddr,
    thread: ServerThread,
}

impl InProcessSwitch {
    /// Serves P4Runtime on an address, on a thread of its own, until the result is dropped. Port 0
    /// selects a free one.
    ///
    /// # Errors
    /// Returns an error if the switch is served already, or if the system refuses.
    pub fn serve(
        &self,
        address: SocketAddr,
        passing: Passing,
    ) -> Result<ServedInProcess, ServingError> {
        let mut is_served = self.inner.is_served.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_served {
            return Err(ServingError::Served);
        }
        let failed = |cause| ServingError::Listen { address, cause };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let options = ServerOptions { grace: GRACE, ..ServerOptions::default() };
        let server = Server::new([self.handle.clone()], options)?;
        let thread = ServerThread::start(listener, server, Vec::new(), None, None)?;
        self.inner.clock.set_running(passing == Passing::Wall);
        *is_served = true;
        Ok(ServedInProcess { inner: Arc::clone(&self.inner), address, thread })
    }
}

impl ServedInProcess {
    /// Returns the address at which P4Runtime is served.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for ServedInProcess {
    fn drop(&mut self) {
        self.thread.end();
        self.inner.clock.set_running(false);
        *self.inner.is_served.lock().unwrap_or_else(PoisonError::into_inner) = false;
    }
}
