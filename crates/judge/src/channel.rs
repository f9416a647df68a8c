//! The connection to a device: sends the RPCs of P4Runtime without interpreting them, and records
//! them.

use std::time::Duration;

use grpc::client::{DialOptions, Line};
use grpc::tls::ClientTls;
use prost::Message;
use protos::v1::{self, p4_runtime_client::P4RuntimeClient};
use protos::{rpc, text};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::UnboundedSender;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Code, Status, Streaming};

/// The time within which a device must answer.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(5);
/// The time within which a device must have verified or committed a pipeline, or answered
/// otherwise.
const LOADING: Duration = Duration::from_secs(60);
/// The largest accepted size of a response, in bytes.
const RESPONSE_LIMIT: usize = 64 << 20;
/// The largest number of characters that are kept of a recorded message.
const KEPT: usize = 2_000;

/// The device that is judged.
#[derive(Clone, Debug)]
pub struct Target {
    /// The address of the P4Runtime server, as `host:port`.
    pub address: String,
    /// The identifier of the device at the server.
    pub device_id: u64,
    /// The client's TLS identity and the trusted roots; `None` to connect without TLS.
    pub tls: Option<ClientTls>,
}

/// A recorded request with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The name of the RPC.
    pub call: &'static str,
    /// The request in the text format of protocol buffers.
    pub request: String,
    /// The answer in text form: status codes, or messages in the text format of protocol buffers.
    pub answer: String,
}

/// The error that prevents a device from being judged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// No P4Runtime server answers at the address.
    #[error("{address}: {cause}; is it the address of a P4Runtime server?")]
    Connect {
        /// The address, as `host:port`.
        address: String,
        /// The error of the connection.
        cause: String,
    },
    /// Another controller is the primary of the device. Trying the requirements would disturb that
    /// controller.
    #[error(
        "another controller is primary of device {device_id} (election id {election_id}); stop it first"
    )]
    Controlled {
        /// The identifier of the device at the server.
        device_id: u64,
        /// The election id of the other controller.
        election_id: u128,
    },
    /// The device did not make this client its primary controller.
    #[error("the device does not make this controller its primary: {cause}")]
    Arbitration {
        /// The answer of the device.
        cause: String,
    },
    /// The device runs no pipeline, so no entities can be written.
    #[error(
        "device {device_id} runs no pipeline ({cause}); push one, for example with the controller that it is used with"
    )]
    NoPipeline {
        /// The identifier of the device at the server.
        device_id: u64,
        /// The answer of the device.
        cause: String,
    },
    /// The device refused the pipeline that the user gave.
    #[error("device {device_id} refuses the pipeline: {cause}")]
    Refused {
        /// The identifier of the device at the server.
        device_id: u64,
        /// The answer of the device.
        cause: String,
    },
    /// The pipeline has no table or action profile for which entities can be generated from
    /// numbers.
    #[error(
        "the pipeline has no table or action profile that takes entities with numbers as values"
    )]
    NothingToWrite,
    /// The system refuses to listen for an OpenFlow switch.
    #[error("cannot listen on {address}: {cause}")]
    Listen {
        /// The address on which this program cannot listen.
        address: std::net::SocketAddr,
        /// The error of the system.
        cause: std::io::Error,
    },
    /// The certificate, the key or the certificate authorities for TLS cannot be used.
    #[error(transparent)]
    Certificates(#[from] grpc::tls::TlsError),
    /// No OpenFlow switch connected.
    #[error("no switch connected within {seconds} s; tell the switch where its controller is")]
    NoSwitch {
        /// The time for which a switch was awaited, in seconds.
        seconds: u64,
    },
    /// The switch that connected speaks no supported version, or did not complete the handshake.
    #[error("the switch that connected cannot be judged: {cause}")]
    Handshake {
        /// A description of what the switch did.
        cause: String,
    },
    /// The user interrupted the wait for a switch.
    #[error("interrupted")]
    Interrupted,
    /// The asynchronous runtime of the connection could not be set up.
    #[error("the connection cannot be set up: {0}")]
    System(#[from] std::io::Error),
}

/// The device closed the connection, or did not answer in time.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Lost(pub(crate) String);

/// The answer to a Write request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WriteAnswer {
    /// The status code of the RPC.
    pub(crate) code: Code,
    /// The status code of each update; empty if the status has no details.
    pub(crate) updates: Vec<Code>,
}

impl WriteAnswer {
    /// Returns the status code of one update: that in the details of the status, or that of the RPC
    /// if there are no details.
    pub(crate) fn of(&self, index: usize) -> Code {
        self.updates.get(index).copied().unwrap_or(self.code)
    }

    /// Returns whether all updates were accepted.
    pub(crate) fn is_ok(&self) -> bool {
        self.code == Code::Ok
    }
}

/// A connection to a device, with a record of the calls on it.
pub(crate) struct Channel {
    runtime: Runtime,
    rpc: P4RuntimeClient<Line>,
    exchanges: Vec<Exchange>,
}

/// An open `StreamChannel` RPC.
pub(crate) struct Stream {
    outgoing: UnboundedSender<v1::StreamMessageRequest>,
    incoming: Streaming<v1::StreamMessageResponse>,
}

impl Channel {
    pub(crate) fn open(target: &Target) -> Result<Self, ConnectError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let options = DialOptions {
            tls: target.tls.clone(),
            timeout: TIMEOUT,
            response_limit: RESPONSE_LIMIT,
        };
        let line = runtime.block_on(Line::connect(&target.address, &options));
        let line = line.map_err(|error| ConnectError::Connect {
            address: target.address.clone(),
            cause: error.to_string(),
        })?;
        let rpc = P4RuntimeClient::with_origin(line.clone(), line.origin().clone())
            .max_decoding_message_size(RESPONSE_LIMIT);
        Ok(Self { runtime, rpc, exchanges: Vec::new() })
    }

    /// Returns the calls that were recorded since this function was last called.
    pub(crate) fn take_exchanges(&mut self) -> Vec<Exchange> {
        std::mem::take(&mut self.exchanges)
    }

    /// Replaces the record of calls.
    pub(crate) fn restore_exchanges(&mut self, exchanges: Vec<Exchange>) {
        self.exchanges = exchanges;
    }

    pub(crate) fn write(&mut self, request: v1::WriteRequest) -> Result<WriteAnswer, Lost> {
        let shown = shown("p4.v1.WriteRequest", &request);
        let answer = self.runtime.block_on(timed("Write", self.rpc.write(request)))?;
        let answer = match answer {
            Ok(_) => WriteAnswer { code: Code::Ok, updates: Vec::new() },
            Err(status) => {
                let updates = update_codes(&status);
                self.record("Write", shown, refusal(&status, &updates));
                return Ok(WriteAnswer { code: status.code(), updates });
            }
        };
        self.record("Write", shown, "OK".to_owned());
        Ok(answer)
    }

    pub(crate) fn read(
        &mut self,
        request: v1::ReadRequest,
    ) -> Result<Result<Vec<v1::Entity>, Status>, Lost> {
        let shown_request = shown("p4.v1.ReadRequest", &request);
        let mut rpc = self.rpc.clone();
        let all = async move {
            let mut stream = rpc.read(request).await?.into_inner();
            let mut entities = Vec::new();
            while let Some(mut message) = stream.message().await? {
                entities.append(&mut message.entities);
            }
            Ok(entities)
        };
        let answer = self.runtime.block_on(timed("Read", all))?;
        let text = match &answer {
            Ok(entities) => {
                let found = v1::ReadResponse { entities: entities.clone() };
                shown("p4.v1.ReadResponse", &found)
            }
            Err(status) => refusal(status, &update_codes(status)),
        };
        self.record("Read", shown_request, text);
        Ok(answer)
    }

    pub(crate) fn set_pipeline(
        &mut self,
        request: v1::SetForwardingPipelineConfigRequest,
    ) -> Result<Code, Lost> {
        const CALL: &str = "SetForwardingPipelineConfig";
        let shown = shown("p4.v1.SetForwardingPipelineConfigRequest", &request);
        let answer = self.rpc.set_forwarding_pipeline_config(request);
        let answer = self.runtime.block_on(timed_within(LOADING, CALL, answer))?;
        let (code, text) = match answer {
            Ok(_) => (Code::Ok, "OK".to_owned()),
            Err(status) => (status.code(), refusal(&status, &[])),
        };
        self.record(CALL, shown, text);
        Ok(code)
    }

    pub(crate) fn get_pipeline(
        &mut self,
        request: v1::GetForwardingPipelineConfigRequest,
    ) -> Result<Result<v1::ForwardingPipelineConfig, Status>, Lost> {
        const CALL: &str = "GetForwardingPipelineConfig";
        let shown_request = shown("p4.v1.GetForwardingPipelineConfigRequest", &request);
        let answer = self.rpc.get_forwarding_pipeline_config(request);
        let answer = self.runtime.block_on(timed(CALL, answer))?;
        let answer = answer.map(|response| response.into_inner());
        let text = match &answer {
            Ok(response) => shown("p4.v1.GetForwardingPipelineConfigResponse", response),
            Err(status) => refusal(status, &[]),
        };
        self.record(CALL, shown_request, text);
        Ok(answer.map(|response| response.config.unwrap_or_default()))
    }

    pub(crate) fn capabilities(
        &mut self,
        device_id: u64,
    ) -> Result<Result<v1::CapabilitiesResponse, Status>, Lost> {
        let request = v1::CapabilitiesRequest { device_id };
        let shown_request = shown("p4.v1.CapabilitiesRequest", &request);
        let answer =
            self.runtime.block_on(timed("Capabilities", self.rpc.capabilities(request)))?;
        let answer = answer.map(|response| response.into_inner());
        let text = match &answer {
            Ok(response) => shown("p4.v1.CapabilitiesResponse", response),
            Err(status) => refusal(status, &[]),
        };
        self.record("Capabilities", shown_request, text);
        Ok(answer)
    }

    /// Opens a stream with its first message. A device that refuses the stream may fail the RPC at
    /// once, or accept it and end the stream later.
    pub(crate) fn open_stream(
        &mut self,
        first: v1::StreamMessageRequest,
    ) -> Result<Result<Stream, Status>, Lost> {
        let (outgoing, requests) = tokio::sync::mpsc::unbounded_channel();
        let text = shown("p4.v1.StreamMessageRequest", &first);
        // The receiver is alive, so the message is taken.
        let _ = outgoing.send(first);
        let call = self.rpc.stream_channel(UnboundedReceiverStream::new(requests));
        let answer = self.runtime.block_on(timed("StreamChannel", call))?;
        let outcome = match &answer {
            Ok(_) => "(the stream is open)".to_owned(),
            Err(status) => refusal(status, &[]),
        };
        self.record("StreamChannel", text, outcome);
        Ok(answer.map(|response| Stream { outgoing, incoming: response.into_inner() }))
    }

    /// Sends a message on a stream.
    pub(crate) fn send(
        &mut self,
        stream: &Stream,
        message: v1::StreamMessageRequest,
    ) -> Result<(), Lost> {
        let text = shown("p4.v1.StreamMessageRequest", &message);
        self.record("StreamChannel", text, "(sent)".to_owned());
        stream.outgoing.send(message).map_err(|_| Lost("the device closed the stream".to_owned()))
    }

    /// Waits for some time. Meanwhile, messages that were sent on the stream are transmitted, and
    /// messages that arrive are recorded.
    pub(crate) fn pause(&mut self, stream: &mut Stream, time: Duration) {
        if let Some(found) = self.next(stream, time) {
            self.record_message(Some(&found), time);
        }
    }

    /// Waits for the next message of a stream, for at most `within`. Returns `None` if none
    /// arrives. If the device ended the stream, returns the status; its code is OK if the device
    /// ended the stream without an error.
    pub(crate) fn receive(
        &mut self,
        stream: &mut Stream,
        within: Duration,
    ) -> Option<Result<v1::StreamMessageResponse, Status>> {
        let found = self.next(stream, within);
        self.record_message(found.as_ref(), within);
        found
    }

    fn next(
        &self,
        stream: &mut Stream,
        within: Duration,
    ) -> Option<Result<v1::StreamMessageResponse, Status>> {
        let next = async { tokio::time::timeout(within, stream.incoming.message()).await };
        match self.runtime.block_on(next) {
            Err(_) => None,
            Ok(Ok(Some(message))) => Some(Ok(message)),
            Ok(Ok(None)) => Some(Err(Status::ok("the stream has ended"))),
            Ok(Err(status)) => Some(Err(status)),
        }
    }

    fn record_message(
        &mut self,
        found: Option<&Result<v1::StreamMessageResponse, Status>>,
        within: Duration,
    ) {
        let text = match found {
            None => format!("(no message within {} ms)", within.as_millis()),
            Some(Ok(message)) => shown("p4.v1.StreamMessageResponse", message),
            Some(Err(status)) => refusal(status, &[]),
        };
        self.record("StreamChannel", String::new(), text);
    }

    fn record(&mut self, call: &'static str, request: String, answer: String) {
        self.exchanges.push(Exchange { call, request, answer });
    }
}

/// Returns the text of a message, shortened if it is long.
fn shown<M: Message>(name: &str, message: &M) -> String {
    let text = text(name, message);
    match text.char_indices().nth(KEPT) {
        None => text,
        Some((end, _)) => format!("{} … ({} bytes)", &text[..end], message.encoded_len()),
    }
}

/// Waits for the answer to a call, for a limited time. A failure of the transport is reported as
/// the status UNAVAILABLE, which satisfies no requirement.
async fn timed<T>(
    call: &str,
    answer: impl Future<Output = Result<T, Status>>,
) -> Result<Result<T, Status>, Lost> {
    timed_within(TIMEOUT, call, answer).await
}

async fn timed_within<T>(
    time: Duration,
    call: &str,
    answer: impl Future<Output = Result<T, Status>>,
) -> Result<Result<T, Status>, Lost> {
    match tokio::time::timeout(time, answer).await {
        Err(_) => {
            Err(Lost(format!("the device did not answer {call} within {} s", time.as_secs())))
        }
        Ok(Err(status)) if status.code() == Code::Unavailable => {
            Err(Lost(format!("the connection failed during {call}: {}", status.message())))
        }
        Ok(answer) => Ok(answer),
    }
}

/// Returns the status code of a failed Read request: that of the first entity with an error, or
/// that of the RPC if the status has no details (13.3).
pub(crate) fn read_code(status: &Status) -> Code {
    let codes = update_codes(status);
    codes.into_iter().find(|code| *code != Code::Ok).unwrap_or(status.code())
}

/// Returns the status codes of the updates of a batch, which are in the details of the status (10).
fn update_codes(status: &Status) -> Vec<Code> {
    let details = rpc::Status::decode(status.details()).unwrap_or_default().details;
    let errors = details.iter().filter(|detail| detail.type_url.ends_with("/p4.v1.Error"));
    let errors = errors.filter_map(|detail| v1::Error::decode(&*detail.value).ok());
    errors.map(|error| Code::from_i32(error.canonical_code)).collect()
}

/// Returns a description of a refused request: its status, and the codes of its updates.
fn refusal(status: &Status, updates: &[Code]) -> String {
    let mut text = format!("{}: {}", name(status.code()), status.message());
    if !updates.is_empty() {
        let names: Vec<_> = updates.iter().map(|code| name(*code)).collect();
        text += &format!(" [updates: {}]", names.join(", "));
    }
    text
}

/// Returns the name of a status code as gRPC writes it.
pub(crate) fn name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}
