//! What an error of HTTP/2 means to a call.

use h2::Reason;
use tonic::{Code, Status};

/// The status of a call that ended with this error ("Errors" in gRPC over HTTP2). One of the
/// connection itself is UNAVAILABLE: the call may be made again on another one.
pub(crate) fn status(error: &h2::Error) -> Status {
    let code = match error.reason() {
        Some(Reason::REFUSED_STREAM) => Code::Unavailable,
        Some(Reason::CANCEL) => Code::Cancelled,
        Some(Reason::ENHANCE_YOUR_CALM) => Code::ResourceExhausted,
        Some(Reason::INADEQUATE_SECURITY) => Code::PermissionDenied,
        Some(_) if error.is_reset() => Code::Internal,
        _ => Code::Unavailable,
    };
    Status::new(code, format!("HTTP/2: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
