//! The conversion of HTTP/2 errors to the status of a call.

use h2::Reason;
use tonic::{
    Code, Status,
    codegen::http::{self, HeaderMap},
    metadata::MetadataMap,
};

use crate::admission::Limit;

/// Returns the status of a call that ended with this error ("Errors" in gRPC over HTTP2). Reasons
/// are mapped to statuses as for RST_STREAM frames. If the connection ended, regardless of the
/// reason in its GOAWAY frame, the status is UNAVAILABLE, because the call may be repeated on
/// another connection.
pub fn status(error: &h2::Error) -> Status {
    let code = match error.reason() {
        _ if error.is_go_away() => Code::Unavailable,
        Some(Reason::REFUSED_STREAM) => Code::Unavailable,
        Some(Reason::CANCEL) => Code::Cancelled,
        Some(Reason::ENHANCE_YOUR_CALM) => Code::ResourceExhausted,
        Some(Reason::INADEQUATE_SECURITY) => Code::PermissionDenied,
        Some(_) if error.is_reset() => Code::Internal,
        _ => Code::Unavailable,
    };
    Status::new(code, format!("HTTP/2: {error}"))
}

/// Removes status details that are not base64 from the headers or trailers of a response, because
/// tonic would panic on them.
pub fn without_unreadable_details(headers: &mut HeaderMap) {
    const DETAILS: &str = "grpc-status-details-bin";
    let Some(details) = headers.get(DETAILS) else { return };
    let alone = HeaderMap::from_iter([(http::HeaderName::from_static(DETAILS), details.clone())]);
    let alone = MetadataMap::from_headers(alone);
    if alone.get_bin(DETAILS).is_none_or(|details| details.to_bytes().is_err()) {
        headers.remove(DETAILS);
    }
}

/// Returns the status of a call with a message of `length` bytes, which is longer than the limit.
pub(crate) fn too_long(length: usize, limit: usize) -> Status {
    let message = format!("The message has {length} bytes; {limit} are allowed.");
    Status::resource_exhausted(message)
}

/// Returns the status of a call that would hold more memory than allowed.
pub(crate) fn too_much(limit: Limit) -> Status {
    Status::resource_exhausted(format!("The call is ended, since {limit}."))
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    #[test]
    fn details_are_read_with_and_without_padding_and_dropped_otherwise() {
        for (value, length) in [("CAISAWE=", Some(5)), ("CAISAWE", Some(5)), ("!", None)] {
            let value = http::HeaderValue::from_static(value);
            let ok = http::HeaderValue::from_static("2");
            let mut headers = HeaderMap::new();
            headers.insert("grpc-status", ok);
            headers.insert("grpc-status-details-bin", value.clone());
            without_unreadable_details(&mut headers);
            let status = Status::from_header_map(&headers).expect("a status");
            assert_eq!(status.code(), Code::Unknown);
            assert_eq!(status.details().len(), length.unwrap_or_default(), "{value:?}");
        }
    }

    #[test]
    fn reasons_have_their_codes() {
        for (reason, code) in [
            (Reason::REFUSED_STREAM, Code::Unavailable),
            (Reason::CANCEL, Code::Cancelled),
            (Reason::ENHANCE_YOUR_CALM, Code::ResourceExhausted),
            (Reason::INADEQUATE_SECURITY, Code::PermissionDenied),
        ] {
            assert_eq!(status(&reason.into()).code(), code, "{reason}");
        }
    }

    #[test]
    fn a_connection_that_ended_is_unavailable_whatever_the_reason() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        for reason in [Reason::ENHANCE_YOUR_CALM, Reason::INADEQUATE_SECURITY, Reason::CANCEL] {
            let error = runtime.block_on(ended_by_goaway(reason));
            assert!(error.is_go_away(), "{error}");
            assert_eq!(status(&error).code(), Code::Unavailable, "{reason}");
        }
    }

    /// Returns the error of a client's connection whose server sends GOAWAY.
    async fn ended_by_goaway(reason: Reason) -> h2::Error {
        let (near, mut far) = tokio::io::duplex(1024);
        let (_calls, connection) = h2::client::handshake(near).await.expect("a connection");
        let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
        let mut goaway = vec![0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        goaway.extend(u32::from(reason).to_be_bytes());
        far.write_all(&[&settings[..], &goaway].concat()).await.expect("room");
        connection.await.expect_err("the server ended the connection")
    }
}
