//! Functions as gRPC methods.

use std::future::{Ready, ready};

use tonic::{
    Request, Response, Status,
    server::{ServerStreamingService, UnaryService},
};

/// A method whose answer is there when the function returns.
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

/// A method whose answer is a stream.
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
