//! The deadline of a call: the header `grpc-timeout` ("gRPC over HTTP2", Requests). Clients enforce
//! their deadlines themselves. The server enforces them too, so that a controller which can no
//! longer cancel its call does not remain the primary.

use std::time::Duration;

use tonic::codegen::http::HeaderMap;

/// Returns the timeout of a request, or `None` if the request has no valid timeout.
pub(super) fn timeout(request: &HeaderMap) -> Option<Duration> {
    let (unit, digits) = request.get("grpc-timeout")?.as_bytes().split_last()?;
    if !(1..=8).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let count = digits.iter().fold(0, |count, digit| 10 * count + u64::from(digit - b'0'));
    Some(match unit {
        b'H' => Duration::from_secs(count * 3600),
        b'M' => Duration::from_secs(count * 60),
        b'S' => Duration::from_secs(count),
        b'm' => Duration::from_millis(count),
        b'u' => Duration::from_micros(count),
        b'n' => Duration::from_nanos(count),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use tonic::codegen::http::HeaderValue;

    use super::*;

    #[test]
    fn timeouts_have_a_unit_and_at_most_eight_digits() {
        for (text, expected) in [
            ("99999999H", Some(Duration::from_secs(99_999_999 * 3600))),
            ("2M", Some(Duration::from_secs(120))),
            ("0S", Some(Duration::ZERO)),
            ("150m", Some(Duration::from_millis(150))),
            ("7u", Some(Duration::from_micros(7))),
            ("00000009n", Some(Duration::from_nanos(9))),
            ("123456789n", None),
            ("S", None),
            ("", None),
            ("1", None),
            ("1s", None),
            ("-1S", None),
            ("1.5S", None),
        ] {
            let value = HeaderValue::from_static(text);
            let mut headers = HeaderMap::new();
            headers.insert("grpc-timeout", value);
            assert_eq!(timeout(&headers), expected, "{text}");
        }
        assert_eq!(timeout(&HeaderMap::new()), None);
    }
}
