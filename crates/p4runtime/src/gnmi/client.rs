//! A client's subscription to the ports of a device. It reports their numbers, and whether each
//! port is up.
//!
//! P4Runtime has no message for a port that goes down, so controllers learn of it through this
//! subscription.

use std::{
    collections::{BTreeMap, VecDeque},
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;
use grpc::client::Line;
use tonic::{Request, Status, Streaming, client::Grpc, codegen::http::uri::PathAndQuery};
use tonic_prost::ProstCodec;

use super::messages::{
    Encoding, Mode, Notification, Path, PathElem, Request as Kind, Response, SubscribeRequest,
    SubscribeResponse, Subscription, SubscriptionList, SubscriptionMode, Value,
};

/// A notification about the ports of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortChange {
    /// A port with this number exists. This is first reported for every existing port, and then
    /// whenever a port is added or changes.
    Is {
        /// The port number in P4Runtime.
        number: u32,
        /// Whether the port can forward packets: it is enabled and its link is up.
        up: bool,
    },
    /// The port with this number was removed.
    Gone {
        /// The port number in P4Runtime.
        number: u32,
    },
    /// All existing ports have been reported. The notifications after this one are changes.
    Synchronized,
}

/// A subscription to the ports of a device.
#[derive(Debug)]
pub struct PortWatch {
    responses: Streaming<SubscribeResponse>,
    /// The ports by their names in gNMI.
    ports: BTreeMap<String, Known>,
    waiting: VecDeque<PortChange>,
}

/// The state of a port, with the parts that the server has reported so far.
#[derive(Debug, Default)]
struct Known {
    number: Option<u32>,
    up: Option<bool>,
}

impl PortWatch {
    /// Subscribes to the ports of the device with this id.
    pub(crate) async fn open(
        line: Line,
        device_id: u64,
        response_limit: usize,
    ) -> Result<Self, Status> {
        let origin = line.origin().clone();
        let mut grpc = Grpc::with_origin(line, origin).max_decoding_message_size(response_limit);
        grpc.ready().await?;
        let codec = ProstCodec::<SubscribeRequest, SubscribeResponse>::new();
        let path = PathAndQuery::from_static("/gnmi.gNMI/Subscribe");
        let request = Request::new(Once(Some(subscription(device_id))));
        let responses = grpc.streaming(request, path, codec).await?.into_inner();
        Ok(Self { responses, ports: BTreeMap::new(), waiting: VecDeque::new() })
    }

    /// Returns the next notification, or `None` once the server has ended the subscription. This
    /// method is cancel safe.
    ///
    /// # Errors
    ///
    /// Returns an error if the subscription fails, for example because the server has no gNMI.
    pub async fn next(&mut self) -> Result<Option<PortChange>, Status> {
        loop {
            if let Some(change) = self.waiting.pop_front() {
                return Ok(Some(change));
            }
            let Some(response) = self.responses.message().await? else { return Ok(None) };
            match response.response {
                Some(Response::Update(notification)) => self.take(notification),
                Some(Response::Sync(true)) => self.waiting.push_back(PortChange::Synchronized),
                Some(Response::Sync(false)) | None => {}
            }
        }
    }

    fn take(&mut self, notification: Notification) {
        for gone in &notification.delete {
            let known = port_of(gone).and_then(|name| self.ports.remove(name));
            if let Some(number) = known.and_then(|known| known.number) {
                self.waiting.push_back(PortChange::Gone { number });
            }
        }
        for update in notification.update {
            let Some(path) = update.path else { continue };
            let (Some(name), Some(leaf)) = (port_of(&path), path.elem.last()) else { continue };
            let known = self.ports.entry(name.to_owned()).or_default();
            let value = update.val.and_then(|value| value.value);
            match (leaf.name.as_str(), value) {
                ("ifindex", Some(Value::Number(number))) => known.number = number.try_into().ok(),
                ("oper-status", Some(Value::Text(state))) => known.up = Some(state == "UP"),
                _ => continue,
            }
            if let (Some(number), Some(up)) = (known.number, known.up) {
                self.waiting.push_back(PortChange::Is { number, up });
            }
        }
    }
}

/// Returns the name in the element `interface[name=...]` of a path.
fn port_of(path: &Path) -> Option<&str> {
    path.elem.iter().find_map(|element| element.key.get("name")).map(String::as_str)
}

fn subscription(device_id: u64) -> SubscribeRequest {
    let element = |name: &str| PathElem { name: name.to_owned(), ..PathElem::default() };
    let state = |leaf: &str| {
        let any = PathElem {
            name: "interface".to_owned(),
            key: [("name".to_owned(), "*".to_owned())].into(),
        };
        let elem = vec![element("interfaces"), any, element("state"), element(leaf)];
        Subscription {
            path: Some(Path { elem, ..Path::default() }),
            mode: SubscriptionMode::OnChange as i32,
            ..Subscription::default()
        }
    };
    let list = SubscriptionList {
        prefix: Some(Path { target: device_id.to_string(), ..Path::default() }),
        subscription: vec![state("ifindex"), state("oper-status")],
        mode: Mode::Stream as i32,
        encoding: Encoding::Proto as i32,
        ..SubscriptionList::default()
    };
    SubscribeRequest { request: Some(Kind::Subscribe(list)) }
}

/// A stream of requests that consists of one request and then stays open.
struct Once(Option<SubscribeRequest>);

impl Stream for Once {
    type Item = SubscribeRequest;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.take().map_or(Poll::Pending, |request| Poll::Ready(Some(request)))
    }
}
