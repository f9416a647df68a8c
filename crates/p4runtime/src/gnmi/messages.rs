//! The gNMI messages that this project uses, with the field numbers of `gnmi.proto` 0.7.

use std::collections::HashMap;

use prost::{Enumeration, Message, Oneof};

/// An element of a path, with its keys.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct PathElem {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(map = "string, string", tag = "2")]
    pub(crate) key: HashMap<String, String>,
}

/// A path to a node of the data tree.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Path {
    #[prost(string, tag = "2")]
    pub(crate) origin: String,
    #[prost(message, repeated, tag = "3")]
    pub(crate) elem: Vec<PathElem>,
    #[prost(string, tag = "4")]
    pub(crate) target: String,
}

/// The encoding of values in answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub(crate) enum Encoding {
    Json = 0,
    Bytes = 1,
    Proto = 2,
    Ascii = 3,
    JsonIetf = 4,
}

impl Encoding {
    /// Returns the name of the encoding in the protobuf definition.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Bytes => "BYTES",
            Self::Proto => "PROTO",
            Self::Ascii => "ASCII",
            Self::JsonIetf => "JSON_IETF",
        }
    }
}

/// The value of a leaf.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TypedValue {
    #[prost(oneof = "Value", tags = "1, 3, 4, 10, 11")]
    pub(crate) value: Option<Value>,
}

/// The encodings of a value that are supported.
#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Value {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(uint64, tag = "3")]
    Number(u64),
    #[prost(bool, tag = "4")]
    Flag(bool),
    #[prost(bytes, tag = "10")]
    Json(Vec<u8>),
    #[prost(bytes, tag = "11")]
    JsonIetf(Vec<u8>),
}

/// A path and the value of the node there.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Update {
    #[prost(message, optional, tag = "1")]
    pub(crate) path: Option<Path>,
    #[prost(message, optional, tag = "3")]
    pub(crate) val: Option<TypedValue>,
}

/// Changes of nodes, or the values that a Get requested.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Notification {
    #[prost(int64, tag = "1")]
    pub(crate) timestamp: i64,
    #[prost(message, optional, tag = "2")]
    pub(crate) prefix: Option<Path>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) update: Vec<Update>,
    #[prost(message, repeated, tag = "5")]
    pub(crate) delete: Vec<Path>,
}

/// The type of data that a Get requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub(crate) enum DataType {
    All = 0,
    Config = 1,
    State = 2,
    Operational = 3,
}

/// A request for values.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct GetRequest {
    #[prost(message, optional, tag = "1")]
    pub(crate) prefix: Option<Path>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) path: Vec<Path>,
    #[prost(enumeration = "DataType", tag = "3")]
    pub(crate) r#type: i32,
    #[prost(enumeration = "Encoding", tag = "5")]
    pub(crate) encoding: i32,
    #[prost(message, repeated, tag = "6")]
    pub(crate) use_models: Vec<ModelData>,
}

/// The response to a Get.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct GetResponse {
    #[prost(message, repeated, tag = "1")]
    pub(crate) notification: Vec<Notification>,
}

/// A message of a client on a Subscribe stream.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SubscribeRequest {
    #[prost(oneof = "Request", tags = "1, 3")]
    pub(crate) request: Option<Request>,
}

/// The kinds of messages of a client on a Subscribe stream.
#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Request {
    #[prost(message, tag = "1")]
    Subscribe(SubscriptionList),
    #[prost(message, tag = "3")]
    Poll(Poll),
}

/// The request for the values of a subscription with mode `POLL`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Poll {}

/// The mode of a list of subscriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub(crate) enum Mode {
    Stream = 0,
    Once = 1,
    Poll = 2,
}

/// The subscriptions of a stream, and the options that they share.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SubscriptionList {
    #[prost(message, optional, tag = "1")]
    pub(crate) prefix: Option<Path>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) subscription: Vec<Subscription>,
    #[prost(enumeration = "Mode", tag = "5")]
    pub(crate) mode: i32,
    #[prost(message, repeated, tag = "7")]
    pub(crate) use_models: Vec<ModelData>,
    #[prost(enumeration = "Encoding", tag = "8")]
    pub(crate) encoding: i32,
    #[prost(bool, tag = "9")]
    pub(crate) updates_only: bool,
}

/// The mode of a subscription in a list with mode `STREAM`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub(crate) enum SubscriptionMode {
    TargetDefined = 0,
    OnChange = 1,
    Sample = 2,
}

/// The subscription of a path.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Subscription {
    #[prost(message, optional, tag = "1")]
    pub(crate) path: Option<Path>,
    #[prost(enumeration = "SubscriptionMode", tag = "2")]
    pub(crate) mode: i32,
    /// The interval between two samples in nanoseconds.
    #[prost(uint64, tag = "3")]
    pub(crate) sample_interval: u64,
    #[prost(bool, tag = "4")]
    pub(crate) suppress_redundant: bool,
    /// The interval in nanoseconds after which values are sent again although they are unchanged.
    #[prost(uint64, tag = "5")]
    pub(crate) heartbeat_interval: u64,
}

/// A message of the server on a Subscribe stream.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SubscribeResponse {
    #[prost(oneof = "Response", tags = "1, 3")]
    pub(crate) response: Option<Response>,
}

/// The kinds of messages of the server on a Subscribe stream. `Sync` states that all initial values
/// have been sent.
#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Response {
    #[prost(message, tag = "1")]
    Update(Notification),
    #[prost(bool, tag = "3")]
    Sync(bool),
}

impl SubscribeResponse {
    pub(crate) fn update(notification: Notification) -> Self {
        Self { response: Some(Response::Update(notification)) }
    }

    pub(crate) fn sync() -> Self {
        Self { response: Some(Response::Sync(true)) }
    }
}

/// A request to change values.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SetRequest {
    #[prost(message, optional, tag = "1")]
    pub(crate) prefix: Option<Path>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) delete: Vec<Path>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) replace: Vec<Update>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) update: Vec<Update>,
    /// A field of gNMI 0.10. It is declared so that requests with it are refused instead of being
    /// silently misunderstood.
    #[prost(message, repeated, tag = "6")]
    pub(crate) union_replace: Vec<Update>,
}

/// The response to a Set.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SetResponse {
    #[prost(message, optional, tag = "1")]
    pub(crate) prefix: Option<Path>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) response: Vec<UpdateResult>,
    #[prost(int64, tag = "4")]
    pub(crate) timestamp: i64,
}

/// The kind of an operation of a Set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub(crate) enum Operation {
    Invalid = 0,
    Delete = 1,
    Replace = 2,
    Update = 3,
}

/// The result of one operation of a Set.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct UpdateResult {
    #[prost(message, optional, tag = "2")]
    pub(crate) path: Option<Path>,
    #[prost(enumeration = "Operation", tag = "4")]
    pub(crate) op: i32,
}

/// A request for the capabilities of the server.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct CapabilityRequest {}

/// The capabilities of the server.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct CapabilityResponse {
    #[prost(message, repeated, tag = "1")]
    pub(crate) supported_models: Vec<ModelData>,
    #[prost(enumeration = "Encoding", repeated, tag = "2")]
    pub(crate) supported_encodings: Vec<i32>,
    #[prost(string, tag = "3")]
    pub(crate) version: String,
}

/// A YANG model, with its version.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ModelData {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) organization: String,
    #[prost(string, tag = "3")]
    pub(crate) version: String,
}
