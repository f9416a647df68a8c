//! Polls a request to the switch between packets.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

/// Polls a future once, without waiting for it. The current task is woken when the future can make
/// progress.
pub(crate) async fn poll_once<F: Future + ?Sized>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
}
