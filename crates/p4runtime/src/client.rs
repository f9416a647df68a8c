//! A P4Runtime client, used by this project's controllers and by tests that drive devices.
//!
//! A [`Client`] makes the unary calls. [`Client::open_stream`] adds the stream, whose outgoing side
//! is the same kind of queue as the server's: packet-outs that are sent together share one HTTP/2
//! frame.

mod control;
mod encoded;
mod error;
mod stream;

use std::time::Duration;

pub use grpc::QueueLimit;
pub use grpc::client::{ConnectError, Ends};
use grpc::client::{DialOptions, Line};
pub use grpc::tls::{ClientTls, TlsError};
use prost_types::Any;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic_prost::ProstCodec;

use self::encoded::EncodedWrite;
pub use self::{
    encoded::EncodedUpdates,
    error::{ArbitrationFailure, UpdateError, WriteError},
    stream::{Standing, StreamReceiver, StreamSender},
};
use crate::{
    STREAM_CHANNEL, WRITE,
    arbitration::ElectionId,
    gnmi::PortWatch,
    proto::{
        switch::switch_control_client::SwitchControlClient,
        v1::{
            self, forwarding_pipeline_config::Cookie,
            get_forwarding_pipeline_config_request::ResponseType,
            p4_runtime_client::P4RuntimeClient, set_forwarding_pipeline_config_request::Action,
            write_request::Atomicity,
        },
    },
};

/// The options of a connection.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// The TLS identity and roots. `None` connects without TLS.
    pub tls: Option<ClientTls>,
    /// The maximum time for connecting, which includes TLS and HTTP/2.
    pub connect_timeout: Duration,
    /// The limit of messages that wait to be sent on the client's stream. Packet-outs beyond it are
    /// dropped.
    pub queue_limit: QueueLimit,
    /// The maximum size of a response in bytes.
    pub response_limit: usize,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            tls: None,
            connect_timeout: Duration::from_secs(5),
            queue_limit: QueueLimit::default(),
            response_limit: 64 << 20,
        }
    }
}

/// The outcome of [`Client::ensure_pipeline`]: whether the client had to push the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipelineOutcome {
    /// The device had another pipeline or none. It runs the client's pipeline now.
    Pushed,
    /// The device already ran a pipeline with the same cookie.
    AlreadyThere,
}

/// A P4Runtime client of one device. Clones share the connection.
#[derive(Clone, Debug)]
pub struct Client {
    rpc: P4RuntimeClient<Line>,
    line: Line,
    device_id: u64,
    role: String,
    election_id: Option<ElectionId>,
    queue_limit: QueueLimit,
    response_limit: usize,
}

impl Client {
    /// Connects to a server at `address` (`host:port`) for one of its devices.
    ///
    /// # Errors
    ///
    /// Returns an error if the address or the TLS identity cannot be used, or if no server answers.
    pub async fn connect(
        address: &str,
        device_id: u64,
        options: &ClientOptions,
    ) -> Result<Self, ConnectError> {
        let dial = DialOptions {
            tls: options.tls.clone(),
            timeout: options.connect_timeout,
            response_limit: options.response_limit,
        };
        let line = Line::connect(address, &dial).await?;
        let rpc = P4RuntimeClient::with_origin(line.clone(), line.origin().clone())
            .max_decoding_message_size(options.response_limit);
        let (queue_limit, response_limit) = (options.queue_limit, options.response_limit);
        let role = String::new();
        Ok(Self { rpc, line, device_id, role, election_id: None, queue_limit, response_limit })
    }

    /// Connects as [`Client::connect`] does, to a server that may still be starting: tries again
    /// until it answers or `patience` has passed.
    ///
    /// # Errors
    ///
    /// Returns the error of the last try.
    pub async fn connect_within(
        address: &str,
        device_id: u64,
        options: &ClientOptions,
        patience: Duration,
    ) -> Result<Self, ConnectError> {
        /// The pause between two tries.
        const PAUSE: Duration = Duration::from_millis(20);
        let begin = tokio::time::Instant::now();
        loop {
            match Self::connect(address, device_id, options).await {
                Ok(client) => return Ok(client),
                Err(error) if begin.elapsed() > patience => return Err(error),
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// Returns the device that this client controls.
    #[must_use]
    pub fn device_id(&self) -> u64 {
        self.device_id
    }

    /// Returns a client of another device at the same server, which shares the connection. The new
    /// client has no role and no election id yet.
    #[must_use]
    pub fn for_device(&self, device_id: u64) -> Self {
        Self { device_id, role: String::new(), election_id: None, ..self.clone() }
    }

    /// Returns a client of the service `SwitchControl` at the same server, which shares the
    /// connection. A server without that service answers UNIMPLEMENTED.
    #[must_use]
    pub fn switch_control(&self) -> SwitchControlClient<Line> {
        SwitchControlClient::with_origin(self.line.clone(), self.line.origin().clone())
            .max_decoding_message_size(self.response_limit)
    }

    /// Returns this client with a role (`""` for the default role), which all later calls carry.
    /// Calls that only read need no stream.
    #[must_use]
    pub fn with_role(self, role: &str) -> Self {
        Self { role: role.to_owned(), ..self }
    }

    /// Returns whether the connection accepts calls, as far as the client knows.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.line.is_open()
    }

    /// Returns the local and the remote address of the connection.
    #[must_use]
    pub fn ends(&self) -> Ends {
        self.line.ends()
    }

    /// Opens the stream and arbitrates for a role (`""` for the default role). All later calls
    /// carry this role and election id. The first message on the receiver reports whether this
    /// client became primary ([`StreamReceiver::arbitrated`]).
    ///
    /// # Errors
    ///
    /// Returns an error if the server refuses the stream.
    pub async fn open_stream(
        &mut self,
        role: &str,
        role_config: Option<Any>,
        election_id: Option<ElectionId>,
    ) -> Result<(StreamSender, StreamReceiver), tonic::Status> {
        self.role = role.to_owned();
        self.election_id = election_id;
        let (outbox, answer) = self.line.open(STREAM_CHANNEL, self.queue_limit).await?;
        let sender = StreamSender::new(outbox, self.device_id, role.to_owned(), role_config);
        sender.arbitrate(election_id);
        let responses = answer.await?;
        Ok((sender, StreamReceiver::new(responses, self.response_limit)))
    }

    /// Opens the stream, arbitrates, and waits until this client is primary, at most for
    /// `patience`.
    ///
    /// # Errors
    ///
    /// Returns an error if the server refuses the stream, if another controller is primary, or if
    /// the wait takes too long.
    pub async fn become_primary(
        &mut self,
        role: &str,
        election_id: ElectionId,
        patience: Duration,
    ) -> Result<(StreamSender, StreamReceiver), ArbitrationFailure> {
        let attempt = async {
            let (sender, mut receiver) = self.open_stream(role, None, Some(election_id)).await?;
            match receiver.arbitrated().await? {
                Standing::Primary => Ok((sender, receiver)),
                Standing::Backup { highest } => Err(ArbitrationFailure::Backup { highest }),
                Standing::NoPrimary { highest } => Err(ArbitrationFailure::NoPrimary { highest }),
            }
        };
        match tokio::time::timeout(patience, attempt).await {
            Ok(outcome) => outcome,
            Err(_) => Err(ArbitrationFailure::NoAnswer { patience }),
        }
    }

    /// Subscribes to the ports of the device over gNMI at the same server.
    ///
    /// # Errors
    ///
    /// Returns an error if the server refuses. UNIMPLEMENTED means that it does not serve gNMI.
    pub async fn watch_ports(&self) -> Result<PortWatch, tonic::Status> {
        PortWatch::open(self.line.clone(), self.device_id, self.response_limit).await
    }

    /// Returns the P4Runtime version that the server implements.
    ///
    /// # Errors
    ///
    /// Returns an error if the call fails. UNIMPLEMENTED means version 1.0.
    pub async fn capabilities(&mut self) -> Result<String, tonic::Status> {
        let request = v1::CapabilitiesRequest { device_id: self.device_id };
        let response = self.rpc.capabilities(request).await?;
        Ok(response.into_inner().p4runtime_api_version)
    }

    /// Returns the pipeline of the device, in the requested detail.
    ///
    /// # Errors
    ///
    /// Returns an error if the call fails. FAILED_PRECONDITION means that there is no pipeline.
    pub async fn get_pipeline(
        &mut self,
        response_type: ResponseType,
    ) -> Result<v1::ForwardingPipelineConfig, tonic::Status> {
        let request = v1::GetForwardingPipelineConfigRequest {
            device_id: self.device_id,
            response_type: response_type as i32,
        };
        let response = self.rpc.get_forwarding_pipeline_config(request).await?;
        Ok(response.into_inner().config.unwrap_or_default())
    }

    /// Loads a pipeline on the device, or commits the pipeline that the device has saved if
    /// `config` is `None`.
    ///
    /// # Errors
    ///
    /// Returns an error if the call fails.
    pub async fn set_pipeline(
        &mut self,
        action: Action,
        config: Option<v1::ForwardingPipelineConfig>,
    ) -> Result<(), tonic::Status> {
        let request = v1::SetForwardingPipelineConfigRequest {
            device_id: self.device_id,
            role: self.role.clone(),
            election_id: self.election_id.map(Into::into),
            action: action as i32,
            config,
            ..Default::default()
        };
        self.rpc.set_forwarding_pipeline_config(request).await?;
        Ok(())
    }

    /// Ensures that the device runs the pipeline in `config`. Pushes it, unless the device reports
    /// a pipeline with the same cookie. A pipeline without a cookie is always pushed.
    ///
    /// # Errors
    ///
    /// Returns an error if a call fails.
    pub async fn ensure_pipeline(
        &mut self,
        config: v1::ForwardingPipelineConfig,
    ) -> Result<PipelineOutcome, tonic::Status> {
        if let Some(wanted) = config.cookie {
            let there = match self.get_pipeline(ResponseType::CookieOnly).await {
                Ok(there) => there.cookie,
                Err(status) if status.code() == tonic::Code::FailedPrecondition => None,
                Err(status) => return Err(status),
            };
            if there == Some(Cookie { cookie: wanted.cookie }) {
                return Ok(PipelineOutcome::AlreadyThere);
            }
        }
        self.set_pipeline(Action::VerifyAndCommit, Some(config)).await?;
        Ok(PipelineOutcome::Pushed)
    }

    /// Writes a batch of updates to the device.
    ///
    /// # Errors
    ///
    /// Returns [`WriteError::Updates`] with the refused updates and the reasons, or
    /// [`WriteError::Rpc`] for any other failure of the call.
    pub async fn write(
        &mut self,
        updates: Vec<v1::Update>,
        atomicity: Atomicity,
    ) -> Result<(), WriteError> {
        let request = v1::WriteRequest { updates, ..self.empty_write(atomicity) };
        match self.rpc.write(request).await {
            Ok(_) => Ok(()),
            Err(status) => Err(WriteError::new(status)),
        }
    }

    /// Writes updates that are encoded already, like [`Client::write`].
    ///
    /// # Errors
    ///
    /// See [`Client::write`].
    pub async fn write_encoded(
        &mut self,
        updates: EncodedUpdates,
        atomicity: Atomicity,
    ) -> Result<(), WriteError> {
        let request = EncodedWrite { rest: self.empty_write(atomicity), updates };
        let mut rpc = Grpc::with_origin(self.line.clone(), self.line.origin().clone())
            .max_decoding_message_size(self.response_limit);
        let codec = ProstCodec::<EncodedWrite, v1::WriteResponse>::default();
        let answer = async {
            rpc.ready().await?;
            let path = PathAndQuery::from_static(WRITE);
            rpc.unary(tonic::Request::new(request), path, codec).await
        };
        answer.await.map(drop).map_err(WriteError::new)
    }

    /// Returns a Write request without updates.
    fn empty_write(&self, atomicity: Atomicity) -> v1::WriteRequest {
        v1::WriteRequest {
            device_id: self.device_id,
            role: self.role.clone(),
            election_id: self.election_id.map(Into::into),
            atomicity: atomicity as i32,
            ..Default::default()
        }
    }

    /// Reads all entities that `entities` selects.
    ///
    /// # Errors
    ///
    /// Returns an error if the call fails; entities read before the failure are lost.
    /// [`crate::status::batch_errors`] extracts the details of a failed batch.
    pub async fn read(
        &mut self,
        entities: Vec<v1::Entity>,
    ) -> Result<Vec<v1::Entity>, tonic::Status> {
        let mut responses = self.read_stream(entities).await?;
        let mut found = Vec::new();
        while let Some(mut response) = responses.message().await? {
            found.append(&mut response.entities);
        }
        Ok(found)
    }

    /// Reads all entities that `entities` selects, as a stream of messages.
    ///
    /// # Errors
    ///
    /// Returns an error if the call fails immediately. Later failures are reported by the stream.
    pub async fn read_stream(
        &mut self,
        entities: Vec<v1::Entity>,
    ) -> Result<tonic::Streaming<v1::ReadResponse>, tonic::Status> {
        let request =
            v1::ReadRequest { device_id: self.device_id, role: self.role.clone(), entities };
        Ok(self.rpc.read(request).await?.into_inner())
    }
}
