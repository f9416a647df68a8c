//! Converts the errors of gRPC calls to the errors that commands report.

use ::ctl::DeviceError;
use entities::Code;
use p4runtime::client::WriteError;

/// Converts the status of a failed gRPC call to an error.
pub(super) fn refused(status: &tonic::Status) -> DeviceError {
    /// The beginning of the message that tonic returns, with the code UNKNOWN, for a call that it
    /// could not send.
    const NOT_SENT: &str = "Service was not ready: ";
    /// The beginnings of messages which mean that the connection has ended.
    const LOST: [&str; 3] = ["HTTP/2: ", "The server ", "The switch ends"];
    if let Some(reason) = status.message().strip_prefix(NOT_SENT) {
        return DeviceError::Connection(format!("the device is not available: {reason}"));
    }
    // A device that answers UNAVAILABLE may be there all the same, as one whose disk is full.
    let is_lost = || LOST.iter().any(|start| status.message().starts_with(start));
    match status.code() {
        tonic::Code::Unavailable if is_lost() => {
            DeviceError::Connection(format!("the device is not available: {}", status.message()))
        }
        code => DeviceError::Refused {
            code: Code::from_number(code as i32),
            message: status.message().to_owned(),
        },
    }
}

/// Converts the status of a failed call of the switch's own service, which the device may lack.
pub(super) fn without_service(status: &tonic::Status) -> DeviceError {
    match status.code() {
        tonic::Code::Unimplemented => DeviceError::Unsupported(format!(
            "it does not serve planimeter.switch.v1.SwitchControl, which has queues, injected packets and the clock, as \
             `planimeter switch` does ({})",
            status.message()
        )),
        _ => refused(status),
    }
}

pub(super) fn write_error(error: WriteError) -> DeviceError {
    match error {
        WriteError::Updates { updates, refused } => match (refused.first(), updates) {
            (Some(first), 1) => {
                DeviceError::Refused { code: first.code, message: first.message.clone() }
            }
            (Some(first), _) => {
                let message = format!(
                    "{} of {updates} updates; the first of them: {}",
                    refused.len(),
                    first.message
                );
                DeviceError::Refused { code: first.code, message }
            }
            (None, _) => DeviceError::Refused {
                code: Code::Unknown,
                message: "an update, without saying which".to_owned(),
            },
        },
        WriteError::Rpc(status) => refused(&status),
        other => DeviceError::Refused { code: Code::Unknown, message: other.to_string() },
    }
}

/// Converts the status of a failed Read. Its details say which part of the request was refused.
pub(super) fn read_error(status: &tonic::Status) -> DeviceError {
    let errors = p4runtime::status::batch_errors(status);
    let first = errors.iter().find(|error| error.canonical_code != Code::Ok as i32);
    match first {
        Some(first) => DeviceError::Refused {
            code: Code::from_number(first.canonical_code),
            message: first.message.clone(),
        },
        None => refused(status),
    }
}
