//! The outcomes of requests: canonical codes, the error of one update and the status of a batch.
//!
//! Every refusal in P4Runtime consists of a `google.rpc` code and a message for the author of the
//! controller. Entity operations return exactly this pair, since clients could not distinguish
//! anything finer. A batch in which any update was refused fails with UNKNOWN, and its status
//! carries one `p4.v1.Error` for each of its updates, including the successful ones (specification
//! 1.5, "Error Reporting" under the Write and Read RPCs). Clients such as p4runtime-shell rely on
//! this one-to-one correspondence.

use bytes::Bytes;
pub(crate) use entities::shortened;
pub use entities::{Code, EntityError};
use prost::Message as _;

use crate::proto::{rpc, v1};

/// The URL under which a `p4.v1.Error` travels in a `google.protobuf.Any`.
const ERROR_TYPE_URL: &str = "type.googleapis.com/p4.v1.Error";

/// The largest total size, in bytes, of the details and the message of a status that every client
/// receives. With their header names and the status code they stay below the 8 KB of metadata that
/// gRPC clients accept by default (specification 1.5, "gRPC Metadata Maximum Size").
const USUAL_METADATA_BYTES: usize = 7_750;

/// Converts the error of a request to the status with which an RPC or a stream ends.
pub(crate) fn refusal(error: &EntityError) -> tonic::Status {
    tonic::Status::new(tonic::Code::from_i32(error.code() as i32), error.message())
}

/// Converts the error of an update to its form in the details of a batch's status.
fn to_proto(error: &EntityError) -> v1::Error {
    v1::Error {
        canonical_code: error.code() as i32,
        message: error.message().to_owned(),
        ..v1::Error::default()
    }
}

/// Returns the status of a batch whose elements had these outcomes, in order.
///
/// If all elements succeeded, returns `Ok`. Otherwise, returns a status UNKNOWN with one
/// `p4.v1.Error` for each element.
pub fn batch_status(outcomes: &[Result<(), EntityError>]) -> Result<(), rpc::Status> {
    let Some(first) = outcomes.iter().find_map(|outcome| outcome.as_ref().err()) else {
        return Ok(());
    };
    let failed = outcomes.iter().filter(|outcome| outcome.is_err()).count();
    let message = format!("{failed} of {} failed; first: {first}", outcomes.len());
    let code = Code::Unknown as i32;
    let mut room = room_for_messages(outcomes, &message);
    let details = outcomes
        .iter()
        .map(|outcome| {
            let mut error = match outcome {
                Ok(()) => v1::Error::default(),
                Err(error) => to_proto(error),
            };
            // After the first message that does not fit, no other message is included, so the
            // included messages are always the first ones.
            match room.checked_sub(message_bytes(&error.message)) {
                Some(left) => room = left,
                None => {
                    room = 0;
                    error.message.clear();
                }
            }
            any(&error)
        })
        .collect();
    Err(rpc::Status { code, message, details })
}

/// Returns the number of bytes that the messages of a batch's errors may take in total. The codes
/// are always sent. If the details would exceed the usual limit even without messages, the number
/// is unlimited.
fn room_for_messages(outcomes: &[Result<(), EntityError>], status_message: &str) -> usize {
    let codes: usize = outcomes
        .iter()
        .map(|outcome| match outcome {
            Ok(()) => v1::Error::default(),
            Err(error) => to_proto(&EntityError::new(error.code(), "")),
        })
        .map(|error| any(&error).encoded_len() + 2)
        .sum();
    // Details are base64 in a header, and each non-ASCII byte of the message takes three
    // characters.
    let in_header: usize = status_message.bytes().map(|b| if b.is_ascii() { 1 } else { 3 }).sum();
    let usual = USUAL_METADATA_BYTES.saturating_sub(in_header) / 4 * 3;
    match usual.checked_sub(codes + message_bytes(status_message) + 2) {
        Some(room) => room,
        None => usize::MAX,
    }
}

/// Returns the number of bytes by which an error's message enlarges the details of a status. This
/// includes an allowance for length prefixes that may become longer.
fn message_bytes(message: &str) -> usize {
    const LENGTHS: usize = 8;
    if message.is_empty() { 0 } else { message.len() + LENGTHS }
}

fn any(error: &v1::Error) -> prost_types::Any {
    prost_types::Any { type_url: ERROR_TYPE_URL.to_owned(), value: error.encode_to_vec() }
}

/// Returns the gRPC status that carries `status` in its `grpc-status-details-bin` trailer.
pub fn to_grpc(status: &rpc::Status) -> tonic::Status {
    tonic::Status::with_details(
        tonic::Code::from_i32(status.code),
        status.message.clone(),
        Bytes::from(status.encode_to_vec()),
    )
}

/// Returns the errors of a batch's elements from the status that a server sent. This is the inverse
/// of [`batch_status`], for clients.
///
/// Returns an empty list if the status has no details, or details that cannot be decoded.
pub fn batch_errors(status: &tonic::Status) -> Vec<v1::Error> {
    let Ok(status) = rpc::Status::decode(status.details()) else {
        return Vec::new();
    };
    status
        .details
        .iter()
        .filter(|detail| detail.type_url.ends_with("/p4.v1.Error"))
        .filter_map(|detail| v1::Error::decode(detail.value.as_slice()).ok())
        .collect()
}

/// Returns the details of a batch's status with codes but without messages. If `details` cannot be
/// decoded, the result is empty.
pub(crate) fn shorter_details(details: &[u8]) -> Bytes {
    let Ok(status) = rpc::Status::decode(details) else { return Bytes::new() };
    Bytes::from(codes_alone(status).encode_to_vec())
}

/// Removes the messages of a batch's elements from its status and keeps their codes.
fn codes_alone(mut status: rpc::Status) -> rpc::Status {
    for detail in &mut status.details {
        if let Ok(error) = v1::Error::decode(detail.value.as_slice()) {
            let code = v1::Error { canonical_code: error.canonical_code, ..v1::Error::default() };
            detail.value = code.encode_to_vec();
        }
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;
    use entities::LONGEST_MESSAGE;

    #[test]
    fn a_batch_without_failure_is_ok() {
        assert_eq!(batch_status(&[Ok(()), Ok(())]), Ok(()));
        assert_eq!(batch_status(&[]), Ok(()));
    }

    #[test]
    fn details_keep_the_order_and_include_successes() {
        let outcomes =
            [Err(EntityError::exhausted("full")), Ok(()), Err(EntityError::exists("there"))];
        let status = batch_status(&outcomes).unwrap_err();
        let grpc = to_grpc(&status);
        assert_eq!(grpc.code(), tonic::Code::Unknown);
        assert_eq!(grpc.message(), "2 of 3 failed; first: full");
        let errors = batch_errors(&grpc);
        let codes: Vec<i32> = errors.iter().map(|error| error.canonical_code).collect();
        assert_eq!(codes, [8, 0, 6]);
        assert_eq!(errors[1], v1::Error::default());
    }

    /// Checks that messages are dropped if a client with the usual limit can then receive the code
    /// of every update.
    #[test]
    fn a_hundred_errors_fit_the_header_limits_of_clients() {
        let refused = || Err(EntityError::exists("x".repeat(100)));
        let of = |count| to_grpc(&batch_status(&vec![refused(); count]).unwrap_err());
        for count in [1, 20, 40, 60, 100] {
            let status = of(count);
            let encoded = status.details().len().div_ceil(3) * 4 + status.message().len();
            assert!(encoded <= 7_800, "{count} errors take {encoded} bytes");
            let errors = batch_errors(&status);
            assert_eq!(errors.len(), count);
            assert!(errors.iter().all(|error| error.canonical_code == Code::AlreadyExists as i32));
            let with_message = errors.iter().take_while(|error| !error.message.is_empty()).count();
            assert!(with_message >= count.min(5), "{with_message} messages of {count}");
            assert!(errors[with_message..].iter().all(|error| error.message.is_empty()));
        }
        assert!(batch_errors(&of(30)).iter().all(|error| !error.message.is_empty()));
        // Beyond that size the client must raise its limit, and then receives every message.
        assert!(batch_errors(&of(1000)).iter().all(|error| !error.message.is_empty()));
    }

    /// Checks messages with names that clients invent, which may be as long as a request.
    #[test]
    fn no_message_is_so_long_that_its_status_does_not_arrive() {
        let long = "\u{00e9}".repeat(100_000);
        let error = EntityError::not_found(long.clone()).within(&long);
        assert!(error.message().len() <= LONGEST_MESSAGE);
        assert!(error.message().ends_with('\u{2026}'));
        for count in [1, 100] {
            let status = to_grpc(&batch_status(&vec![Err(error.clone()); count]).unwrap_err());
            // Each non-ASCII byte takes three characters in a header.
            let encoded = status.details().len().div_ceil(3) * 4 + 3 * status.message().len();
            assert!(encoded <= 8_000, "{count} errors take {encoded} bytes");
        }
        assert_eq!(EntityError::invalid("short").message(), "short");
    }

    #[test]
    fn details_that_are_no_status_are_none() {
        let status =
            tonic::Status::with_details(tonic::Code::Unknown, "", Bytes::from_static(b"\xff"));
        assert_eq!(batch_errors(&status), []);
    }

    /// Checks that a client with a small metadata limit receives only the codes.
    #[test]
    fn shorter_details_are_codes_alone() {
        let outcomes = vec![Err(EntityError::exists("this entry exists already")); 200];
        let status = to_grpc(&batch_status(&outcomes).unwrap_err());
        let shorter = shorter_details(status.details());
        assert!(shorter.len() < status.details().len());
        let errors = batch_errors(&tonic::Status::with_details(tonic::Code::Unknown, "", shorter));
        assert_eq!(errors.len(), 200);
        assert!(errors.iter().all(|error| error.canonical_code == Code::AlreadyExists as i32));
        assert!(errors.iter().all(|error| error.message.is_empty()));
        assert!(shorter_details(b"\xff").is_empty());
    }
}
