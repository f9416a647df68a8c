//! The shortening of trailers that are too long for a client.
//!
//! A client announces the size of metadata that it accepts, and may close the connection if
//! metadata are larger. A status that exceeds the limit is sent with shorter details or, if even
//! those are too long, without details.

use bytes::Bytes;
use tonic::{
    Status,
    codegen::http::{HeaderMap, HeaderName, HeaderValue, header::USER_AGENT},
};

/// The header that carries the details of a status.
const DETAILS: &str = "grpc-status-details-bin";
/// The number of bytes with which each header counts towards the limit, in addition to its name and
/// value (RFC 9113, section 6.5.2).
const OVERHEAD: usize = 32;
/// The beginning of the user agent of grpc-js, which runs on Node.js.
const NODE: &[u8] = b"grpc-node-js/";
/// The largest size in bytes of response headers that Node.js accepts ([`limit`] applies it).
const NODE_LIMIT: usize = 64 << 10;
/// The number of bytes with which the `:status` header counts towards the limit. It is added later
/// if the status is sent in the headers of the response.
const STATUS: usize = 7 + 3 + OVERHEAD;

/// Returns the header limit of a request's client, given the limit that it announced. Node.js
/// announces no limit, but its HTTP/2 library nghttp2 accepts headers of at most 64 KiB and hangs
/// if they are longer.
pub(super) fn limit(request: &HeaderMap, announced: usize) -> usize {
    let agent = request.get(USER_AGENT).map(HeaderValue::as_bytes).unwrap_or_default();
    let node = agent.windows(NODE.len()).any(|part| part == NODE);
    if node { announced.min(NODE_LIMIT) } else { announced }
}

/// Shortens a status in `headers` so that the headers have at most `limit` bytes, if that is
/// possible.
pub(super) fn fit(headers: &mut HeaderMap, limit: usize, shorter: fn(&[u8]) -> Bytes) {
    if size(headers) <= limit || !headers.contains_key(DETAILS) {
        return;
    }
    let Some(full) = Status::from_header_map(headers) else { return };
    for (details, omitted) in [(shorter(full.details()), "Messages in its"), (Bytes::new(), "Its")]
    {
        let message = format!(
            "{} ({omitted} details were left out, since the client takes no more than {limit} bytes of \
             metadata)",
            full.message(),
        );
        headers.remove(DETAILS);
        // The text comes from a header, so it is valid in a header.
        let _ = Status::with_details(full.code(), message, details).add_header(headers);
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

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;

    /// Returns the first half of the details of a status.
    fn half(details: &[u8]) -> Bytes {
        Bytes::copy_from_slice(&details[..details.len() / 2])
    }

    fn fitted(details: usize, limit: usize) -> (usize, Status) {
        let details = Bytes::from(vec![7; details]);
        let status = Status::with_details(Code::Unknown, "some failed", details);
        let mut headers = HeaderMap::new();
        status.add_header(&mut headers).expect("said in a header");
        fit(&mut headers, limit, half);
        (size(&headers), Status::from_header_map(&headers).expect("a status"))
    }

    #[test]
    fn grpc_js_accepts_less_metadata_than_it_announces() {
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
    fn details_are_shortened_and_then_omitted() {
        for (details, limit, left) in [(600, 1500, 600), (1400, 1500, 700), (6000, 1500, 0)] {
            let (size, status) = fitted(details, limit);
            assert!(size <= limit, "{size} for {limit}");
            assert_eq!(status.code(), Code::Unknown);
            assert!(status.message().starts_with("some failed"), "{status:?}");
            assert_eq!(status.message().contains("left out"), left != details, "{status:?}");
            assert_eq!(status.details().len(), left, "{details} {limit}");
        }
    }
}
