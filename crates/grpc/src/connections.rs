//! The connections of a port beside that of gRPC, such as Prometheus's or that of a REST interface.
//! Such a port shares the file descriptors of its process, and often a thread, with the gRPC server,
//! so the number of its connections is bounded.

use std::collections::VecDeque;
use tokio::task::AbortHandle;

/// The largest number of concurrent connections of one port.
const CONNECTIONS: usize = 64;

/// The open connections of one port, at most 64. At the limit, the oldest connection is closed when
/// a new one arrives. A client that sends its request at once is therefore served, even if other
/// clients connect and stay silent.
#[derive(Debug, Default)]
pub struct LimitedConnections {
    /// The tasks that serve the connections, the oldest first.
    open: VecDeque<AbortHandle>,
}

impl LimitedConnections {
    /// Serves a connection in a task of the current runtime, until `connection` is ready or the
    /// connection is closed for a newer one. Returns whether an older connection was closed.
    ///
    /// # Panics
    /// Panics outside of a runtime of tokio.
    pub fn serve(&mut self, connection: impl Future<Output = ()> + Send + 'static) -> bool {
        self.open.retain(|task| !task.is_finished());
        let is_full = self.open.len() >= CONNECTIONS;
        if is_full && let Some(oldest) = self.open.pop_front() {
            oldest.abort();
        }
        self.open.push_back(tokio::spawn(connection).abort_handle());
        is_full
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// Lets the other tasks run, of which the runtime polls 61 at most between two polls of one.
    async fn others_run() {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    /// Tests that silent connections beyond the limit are closed, the oldest first, and that
    /// connections that have ended take no place.
    #[test]
    fn the_oldest_connection_gives_way() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let mut connections = LimitedConnections::default();
            let open = Arc::new(());
            for number in 0..1_000 {
                let held = Arc::clone(&open);
                let silent = async move {
                    let _held = held;
                    std::future::pending::<()>().await;
                };
                assert_eq!(connections.serve(silent), number >= CONNECTIONS, "{number}");
            }
            others_run().await;
            assert_eq!(Arc::strong_count(&open), 1 + CONNECTIONS);
            let (answer, answered) = tokio::sync::oneshot::channel();
            assert!(connections.serve(async move {
                let _ = answer.send(());
            }));
            answered.await.expect("the newest connection is served");
            others_run().await;
            assert!(!connections.serve(std::future::ready(())), "a place is free");
            assert_eq!(Arc::strong_count(&open), CONNECTIONS);
        });
    }
}
