//! A proxy between a controller and a P4Runtime server that injects faults into RPCs.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use bytes::{Buf, Bytes};
use grpc::client::{DialOptions, Line};
use grpc::server::{Server, ServerOptions, Services};
use grpc::{Call, Later, Link, Method};
use h2::RecvStream;
use h2::server::SendResponse;
use protos::v1::{self, p4_runtime_client::P4RuntimeClient};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::body::Body;
use tonic::codec::{Codec, DecodeBuf, Decoder};
use tonic::codegen::{BoxFuture, http};
use tonic::server::{Grpc, ServerStreamingService, StreamingService};
use tonic::{Code, Request, Response, Status, Streaming};
use tonic_prost::{ProstCodec, ProstEncoder};

use crate::faults::{Faults, NoFaults};
use crate::runtime;
use crate::served::listen;

/// The size of the largest message that the proxy forwards, in bytes.
const LIMIT: usize = 64 << 20;
/// The time within which the server must accept the proxy's connection.
const PATIENCE: Duration = Duration::from_secs(20);

type ToController = UnboundedSender<Result<v1::StreamMessageResponse, Status>>;
type Answers = UnboundedReceiverStream<Result<v1::StreamMessageResponse, Status>>;

/// A P4Runtime proxy, which forwards the RPCs of controllers to another server.
#[derive(Clone)]
pub struct Proxy {
    rpc: P4RuntimeClient<Line>,
    faults: Arc<dyn Faults>,
    writes: Writes,
    /// The open streams, each as the channel by which its controller receives messages.
    streams: Arc<Mutex<Vec<ToController>>>,
}

/// The way in which the proxy handles Write requests.
#[derive(Clone, Copy)]
enum Writes {
    PassedOn,
    /// The proxy responds to Write requests itself, without decoding or forwarding them.
    Acknowledged,
}

impl Proxy {
    /// Starts a proxy that forwards all RPCs to the server at `target` and injects `faults`.
    /// Returns the proxy's address. The proxy runs until the process ends.
    ///
    /// # Panics
    /// Panics if the system refuses a port.
    #[must_use]
    pub fn start(target: &str, faults: Arc<dyn Faults>) -> String {
        Self::start_with(target, faults, Writes::PassedOn)
    }

    /// Starts a proxy of the server at `target` that answers Write requests itself, without
    /// decoding or forwarding them. A controller in front of such a proxy shows how fast it can
    /// write when the switch costs no time. Returns the proxy's address.
    ///
    /// # Panics
    /// Panics if the system refuses a port.
    #[must_use]
    pub fn acknowledging(target: &str) -> String {
        Self::start_with(target, Arc::new(NoFaults), Writes::Acknowledged)
    }

    fn start_with(target: &str, faults: Arc<dyn Faults>, writes: Writes) -> String {
        let (listener, address) = listen();
        let target = target.to_owned();
        thread::spawn(move || {
            runtime().block_on(async {
                let options = DialOptions { tls: None, timeout: PATIENCE, response_limit: LIMIT };
                let line = Line::connect(&target, &options).await.expect("a server");
                let rpc = P4RuntimeClient::with_origin(line.clone(), line.origin().clone())
                    .max_decoding_message_size(LIMIT);
                let server = Server::new(ServerOptions::default()).expect("no certificate");
                let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
                server
                    .serve(
                        listener,
                        Self { rpc, faults, writes, streams: Arc::default() },
                        std::future::pending(),
                    )
                    .await;
            });
        });
        address
    }

    async fn write(mut self, request: v1::WriteRequest) -> Result<v1::WriteResponse, Status> {
        let answer = match self.faults.write(request) {
            Ok(request) => self.rpc.write(request).await.map(drop),
            Err(status) => Err(status),
        };
        self.faults.written(answer).map(|()| v1::WriteResponse {})
    }

    async fn read(mut self, request: v1::ReadRequest) -> Result<Vec<v1::Entity>, Status> {
        let request = self.faults.read(request);
        let all = async {
            let mut stream = self.rpc.read(request).await?.into_inner();
            let mut entities = Vec::new();
            while let Some(mut message) = stream.message().await? {
                entities.append(&mut message.entities);
            }
            Ok(entities)
        };
        let answer = all.await;
        self.faults.entities(answer)
    }

    async fn push(
        mut self,
        request: v1::SetForwardingPipelineConfigRequest,
    ) -> Result<v1::SetForwardingPipelineConfigResponse, Status> {
        let request = self.faults.push(request);
        let answer = self.rpc.set_forwarding_pipeline_config(request).await.map(drop);
        self.faults.pushed(answer).map(|()| v1::SetForwardingPipelineConfigResponse {})
    }

    async fn pipeline(
        mut self,
        request: v1::GetForwardingPipelineConfigRequest,
    ) -> Result<v1::GetForwardingPipelineConfigResponse, Status> {
        let answer = self.rpc.get_forwarding_pipeline_config(request).await;
        self.faults.pipeline(answer.map(Response::into_inner))
    }

    async fn capabilities(
        mut self,
        request: v1::CapabilitiesRequest,
    ) -> Result<v1::CapabilitiesResponse, Status> {
        let answer = self.rpc.capabilities(request).await;
        self.faults.capabilities(answer.map(Response::into_inner))
    }

    fn open_streams(&self) -> MutexGuard<'_, Vec<ToController>> {
        self.streams.lock().expect("no holder panics")
    }

    /// Forwards messages in both directions between a controller's stream and a new stream to the
    /// server. Returns the messages for the controller.
    async fn stream(
        mut self,
        requests: Streaming<v1::StreamMessageRequest>,
    ) -> Result<Answers, Status> {
        let (outgoing, from_controller) = unbounded_channel();
        let (to_controller, answers) = unbounded_channel();
        tokio::spawn(Self::upwards(Arc::clone(&self.faults), requests, outgoing));
        let call = self.rpc.stream_channel(UnboundedReceiverStream::new(from_controller));
        let incoming = call.await?.into_inner();
        self.open_streams().push(to_controller.clone());
        tokio::spawn(self.downwards(incoming, to_controller));
        Ok(UnboundedReceiverStream::new(answers))
    }

    /// Forwards the controller's messages to the server until the controller ends the stream.
    async fn upwards(
        faults: Arc<dyn Faults>,
        mut requests: Streaming<v1::StreamMessageRequest>,
        outgoing: UnboundedSender<v1::StreamMessageRequest>,
    ) {
        while let Ok(Some(message)) = requests.message().await {
            if let Some(message) = faults.to_switch(message)
                && outgoing.send(message).is_err()
            {
                return;
            }
        }
    }

    /// Forwards the server's messages to the controller until the server ends the stream.
    async fn downwards(
        self,
        mut incoming: Streaming<v1::StreamMessageResponse>,
        to_controller: ToController,
    ) {
        let faults = &self.faults;
        loop {
            let found = match incoming.message().await {
                Ok(Some(message)) => Ok(message),
                Ok(None) => Err(Status::ok("the stream has ended")),
                Err(status) => Err(status),
            };
            let has_ended = found.is_err();
            let passed = faults.to_controller(found);
            if let Some(Ok(message)) = &passed {
                tokio::time::sleep(faults.delay(message)).await;
                if faults.is_for_all(message) {
                    let others = self.open_streams().clone();
                    for other in others.iter().filter(|other| !other.same_channel(&to_controller)) {
                        // The other controller may be gone.
                        let _ = other.send(Ok(message.clone()));
                    }
                }
            }
            if let Some(passed) = passed {
                let is_end = passed.as_ref().is_err_and(|status| status.code() == Code::Ok);
                if is_end || to_controller.send(passed).is_err() {
                    break;
                }
            }
            if has_ended {
                // A fault that hides the end leaves the stream open as long as the controller does.
                to_controller.closed().await;
                break;
            }
        }
        self.open_streams().retain(|other| !other.same_channel(&to_controller));
    }
}

impl Services for Proxy {
    type Channel = NoChannel;

    fn is_channel(&self, _: &str) -> bool {
        false
    }

    fn open(&self, _: RecvStream, _: SendResponse<Bytes>, _: Link) -> NoChannel {
        unreachable!("no method is a channel")
    }

    fn call(
        &mut self,
        request: http::Request<Body>,
    ) -> BoxFuture<http::Response<Body>, Infallible> {
        /// Serves an RPC with one response.
        macro_rules! unary {
            ($method:expr) => {{
                let proxy = self.clone();
                let method = Later(move |message| $method(proxy.clone(), message));
                let mut grpc = Grpc::new(ProstCodec::default()).max_decoding_message_size(LIMIT);
                Box::pin(async move { Ok(grpc.unary(method, request).await) })
            }};
        }
        match request.uri().path().trim_start_matches("/p4.v1.P4Runtime/") {
            "Write" => match self.writes {
                Writes::PassedOn => unary!(Self::write),
                Writes::Acknowledged => {
                    let method = Method(|()| Ok(v1::WriteResponse {}));
                    let mut grpc = Grpc::new(Unread).max_decoding_message_size(LIMIT);
                    Box::pin(async move { Ok(grpc.unary(method, request).await) })
                }
            },
            "SetForwardingPipelineConfig" => unary!(Self::push),
            "GetForwardingPipelineConfig" => unary!(Self::pipeline),
            "Capabilities" => unary!(Self::capabilities),
            "Read" => {
                let (reads, mut grpc) = (Reads(self.clone()), Grpc::new(ProstCodec::default()));
                Box::pin(async move { Ok(grpc.server_streaming(reads, request).await) })
            }
            "StreamChannel" => {
                let (streams, mut grpc) = (Streams(self.clone()), Grpc::new(ProstCodec::default()));
                Box::pin(async move { Ok(grpc.streaming(streams, request).await) })
            }
            _ => Box::pin(async { Ok(Status::unimplemented("no such method").into_http()) }),
        }
    }

    fn shorter_details(_: &[u8]) -> Bytes {
        Bytes::new()
    }
}

/// The codec of the Write RPC where the proxy answers requests itself: it skips their bytes.
struct Unread;

impl Codec for Unread {
    type Encode = v1::WriteResponse;
    type Decode = ();
    type Encoder = ProstEncoder<v1::WriteResponse>;
    type Decoder = Self;

    fn encoder(&mut self) -> Self::Encoder {
        ProstEncoder::default()
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Decoder for Unread {
    type Item = ();
    type Error = Status;

    fn decode(&mut self, message: &mut DecodeBuf<'_>) -> Result<Option<()>, Status> {
        message.advance(message.remaining());
        Ok(Some(()))
    }
}

/// The Read RPC. All entities are returned in one message.
struct Reads(Proxy);

impl ServerStreamingService<v1::ReadRequest> for Reads {
    type Response = v1::ReadResponse;
    type ResponseStream = tokio_stream::Once<Result<v1::ReadResponse, Status>>;
    type Future =
        Pin<Box<dyn Future<Output = Result<Response<Self::ResponseStream>, Status>> + Send>>;

    fn call(&mut self, request: Request<v1::ReadRequest>) -> Self::Future {
        let proxy = self.0.clone();
        Box::pin(async move {
            let entities = proxy.read(request.into_inner()).await?;
            Ok(Response::new(tokio_stream::once(Ok(v1::ReadResponse { entities }))))
        })
    }
}

/// The StreamChannel RPC.
struct Streams(Proxy);

impl StreamingService<v1::StreamMessageRequest> for Streams {
    type Response = v1::StreamMessageResponse;
    type ResponseStream = Answers;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Answers>, Status>> + Send>>;

    fn call(&mut self, request: Request<Streaming<v1::StreamMessageRequest>>) -> Self::Future {
        let proxy = self.0.clone();
        Box::pin(async move { proxy.stream(request.into_inner()).await.map(Response::new) })
    }
}

/// The type of this server's channels. It has no values, because the server handles every RPC as a
/// call.
pub enum NoChannel {}

impl Call for NoChannel {
    fn poll(&mut self, _: &mut Context<'_>) -> Poll<()> {
        match *self {}
    }

    fn poll_sending(&mut self, _: &mut Context<'_>) -> Poll<()> {
        match *self {}
    }
}

impl grpc::server::Channel for NoChannel {
    fn end(&self, _: Status) {
        match *self {}
    }
}
