//! Adapters that make a function a method of a tonic service.

use std::{
    future::{Ready, ready},
    pin::Pin,
};

use tonic::{
    Request, Response, Status,
    server::{ServerStreamingService, UnaryService},
};

/// An adapter that makes a function a gRPC method. The function returns its response immediately.
pub struct Method<F>(pub F);

impl<Q, A, F> UnaryService<Q> for Method<F>
where
    F: FnMut(Q) -> Result<A, Status>,
{
    type Response = A;
    type Future = Ready<Result<Response<A>, Status>>;

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        ready((self.0)(request.into_inner()).map(Response::new))
    }
}

/// An adapter that makes a function a gRPC method. The function returns a future of its response.
pub struct Later<F>(pub F);

impl<Q, A, W, F> UnaryService<Q> for Later<F>
where
    F: FnMut(Q) -> W,
    W: Future<Output = Result<A, Status>> + Send + 'static,
{
    type Response = A;
    type Future = Pin<Box<dyn Future<Output = Result<Response<A>, Status>> + Send>>;

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        let answer = (self.0)(request.into_inner());
        Box::pin(async { answer.await.map(Response::new) })
    }
}

/// An adapter that makes a function a gRPC method. The function returns a stream of responses.
pub struct Streaming<F>(pub F);

impl<Q, A, S, F> ServerStreamingService<Q> for Streaming<F>
where
    F: FnMut(Q) -> Result<S, Status>,
    S: futures_core::Stream<Item = Result<A, Status>>,
{
    type Response = A;
    type ResponseStream = S;
    type Future = Ready<Result<Response<S>, Status>>;

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        ready((self.0)(request.into_inner()).map(Response::new))
    }
}
