//! Trailers that the client takes.
//!
//! A client announces how much metadata it takes, and may close the connection over more. Then
//! the errors of a batch go without their sentences, and if even their codes are too many, the
//! status goes without details.

use bytes::Bytes;
use prost::Message as _;
use tonic::{
    Status,
    codegen::http::{HeaderMap, HeaderName, HeaderValue, header::USER_AGENT},
};

use crate::{proto::rpc, status};

/// The header in which the details of a status travel.
const DETAILS: &str = "grpc-status-details-bin";
/// What a header counts beside its name and its value (RFC 9113, section 6.5.2).
const OVERHEAD: usize = 32;
/// What grpc-js calls itself.
const NODE: &[u8] = b"grpc-node-js/";
/// See [`limit`].
const NODE_LIMIT: usize = 64 << 10;
/// `:status`, which is no header yet where the status goes with the head of the response.
const STATUS: usize = 7 + 3 + OVERHEAD;

/// What the client of a request takes, given what it announced. Node.js announces nothing, but
/// nghttp2 inside it takes headers of 64 KiB and lets a connection hang over longer ones.
pub(super) fn limit(request: &HeaderMap, announced: usize) -> usize {
    let agent = request.get(USER_AGENT).map(HeaderValue::as_bytes).unwrap_or_default();
    let node = agent.windows(NODE.len()).any(|part| part == NODE);
    if node { announced.min(NODE_LIMIT) } else { announced }
}

/// Shortens a status in `headers` so that all of them are at most `limit` bytes long, if that is
/// possible.
pub(super) fn fit(headers: &mut HeaderMap, limit: usize) {
    if size(headers) <= limit || !headers.contains_key(DETAILS) {
        return;
    }
    let Some(full) = Status::from_header_map(headers) else { return };
    for (details, said) in [(codes(full.details()), "Messages"), (Bytes::new(), "Errors")] {
        let said = format!(
            "{} ({said} of single updates were left out, since the client takes no more than \
             {limit} bytes of metadata)",
            full.message(),
        );
        headers.remove(DETAILS);
        // What was in a header fits into one.
        let _ = Status::with_details(full.code(), said, details).add_header(headers);
        if size(headers) <= limit {
            return;
        }
    }
}

fn size(headers: &HeaderMap) -> usize {
    let each =
        |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len() + OVERHEAD;
    STATUS + headers.iter().map(each).sum::<usize>()
}

/// The details with nothing but codes.
fn codes(details: &[u8]) -> Bytes {
    let Ok(status) = rpc::Status::decode(details) else { return Bytes::new() };
    Bytes::from(status::codes_alone(status).encode_to_vec())
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;
    use crate::status::{EntityError, batch_errors, batch_status, to_grpc};

    /// The headers of a batch of failed updates, fitted, and what a client reads from them.
    fn fitted(updates: usize, limit: usize) -> (usize, Status) {
        let outcomes = vec![Err(EntityError::exists("this entry exists already")); updates];
        let status = to_grpc(&batch_status(&outcomes).expect_err("failed"));
        let mut headers = HeaderMap::new();
        status.add_header(&mut headers).expect("said in a header");
        fit(&mut headers, limit);
        (size(&headers), Status::from_header_map(&headers).expect("a status"))
    }

    #[test]
    fn clients_of_node_take_less_than_they_say() {
        let agent = |name| HeaderMap::from_iter([(USER_AGENT, HeaderValue::from_static(name))]);
        for (request, announced, expected) in [
            (agent("planimeter grpc-node-js/1.14.0"), usize::MAX, NODE_LIMIT),
            (agent("grpc-node-js/1.14.0"), 8192, 8192),
            (agent("grpc-go/1.76.0"), usize::MAX, usize::MAX),
            (HeaderMap::new(), 5, 5),
        ] {
            assert_eq!(limit(&request, announced), expected, "{request:?}");
        }
    }

    #[test]
    fn sentences_go_first_then_codes() {
        for (updates, limit, errors, messages) in [
            (200, 32 << 10, 200, true),
            (200, 16 << 10, 200, false),
            (1000, 8 << 10, 0, false),
            (1000, 16 << 20, 1000, true),
        ] {
            let (size, status) = fitted(updates, limit);
            assert!(size <= limit, "{size} for {limit}");
            assert_eq!(status.code(), Code::Unknown);
            let said = format!("{updates} of {updates} failed; first: this entry exists already");
            assert!(status.message().starts_with(&said), "{status:?}");
            let complete = messages && errors > 0;
            assert_eq!(status.message().contains("left out"), !complete, "{status:?}");
            let told = batch_errors(&status);
            assert_eq!(told.len(), errors, "{updates} {limit}");
            assert!(told.iter().all(|error| error.canonical_code == Code::AlreadyExists as i32));
            assert!(told.iter().all(|error| error.message.is_empty() != messages));
        }
    }
}
