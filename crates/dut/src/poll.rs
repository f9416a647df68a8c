//! Looks at a call between packets.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

/// Polls a future once, without waiting for it. The task is woken when the future can go on.
pub(crate) async fn poll_once<F: Future + ?Sized>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
}
