//! The part of Thrift's binary protocol that is needed to answer a call with an exception: the
//! message header and `TApplicationException` (doc/specs/thrift-binary-protocol.md and
//! thrift-rpc.md of Apache Thrift). Messages may be framed by their transport, and old clients
//! write them without a version.

/// The upper half of the first word of a message with a version.
const VERSION: u32 = 0x8001_0000;
const VERSION_MASK: u32 = 0xffff_0000;

/// The longest accepted name of a method in bytes, including the name of its service. BMv2's names
/// have fewer than 60.
const NAME_LIMIT: usize = 256;
/// The separator between service and method that clients use when several services share a
/// connection.
const SEPARATOR: u8 = b':';

/// The types of Thrift messages that are used here.
const CALL: u8 = 1;
const EXCEPTION: u8 = 3;
const ONE_WAY: u8 = 4;

/// The types of Thrift fields that are used here.
const STOP: u8 = 0;
const I32: u8 = 8;
const STRING: u8 = 11;

/// The `UNKNOWN_METHOD` type of a `TApplicationException`.
const UNKNOWN_METHOD: u32 = 1;

/// The header of a message that calls a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    name: Vec<u8>,
    sequence: u32,
    is_framed: bool,
    has_version: bool,
    is_one_way: bool,
}

/// The result of parsing the first bytes of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    /// An incomplete header; more bytes are needed.
    Beginning,
    Call(Call),
    /// Bytes that are not a call in Thrift's binary protocol.
    Foreign,
}

/// Parses the header of the first message of a connection.
pub(crate) fn parse(bytes: &[u8]) -> Parsed {
    let Some((first, rest)) = word(bytes) else { return Parsed::Beginning };
    let Some((second, _)) = word(rest) else { return Parsed::Beginning };
    // A frame begins with its length. A message without a version begins with the length of its
    // name, whose first byte is not a control character.
    let is_framed = first >> 31 == 0 && (second & VERSION_MASK == VERSION || second >> 24 == 0);
    let message = if is_framed { rest } else { bytes };
    match header(message, is_framed) {
        Some(parsed) => parsed,
        None => Parsed::Beginning,
    }
}

/// Parses the header of a message. `bytes` begins after the frame length, which precedes the header
/// if `is_framed` is set. Returns `None` if more bytes are needed.
fn header(bytes: &[u8], is_framed: bool) -> Option<Parsed> {
    let (first, rest) = word(bytes)?;
    let has_version = first >> 31 == 1;
    if has_version && first & VERSION_MASK != VERSION {
        return Some(Parsed::Foreign);
    }
    let (length, rest) = if has_version { word(rest)? } else { (first, rest) };
    let length = usize::try_from(length).ok().filter(|length| (1..=NAME_LIMIT).contains(length));
    let Some(length) = length else { return Some(Parsed::Foreign) };
    let known = &rest[..rest.len().min(length)];
    if !known.iter().all(u8::is_ascii_graphic) {
        return Some(Parsed::Foreign);
    }
    let (name, rest) = rest.split_at_checked(length)?;
    let (kind, rest) = match has_version {
        // The lowest byte of the word holds the type; the byte above it is unused.
        true => (first.to_be_bytes()[3], rest),
        false => rest.split_first().map(|(kind, rest)| (*kind, rest))?,
    };
    let (sequence, _) = word(rest)?;
    if !matches!(kind, CALL | ONE_WAY) {
        return Some(Parsed::Foreign);
    }
    let is_one_way = kind == ONE_WAY;
    Some(Parsed::Call(Call { name: name.to_vec(), sequence, is_framed, has_version, is_one_way }))
}

fn word(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (word, rest) = bytes.split_first_chunk()?;
    Some((u32::from_be_bytes(*word), rest))
}

impl Call {
    /// Returns the name of the called method. If the client named a service, its name comes first.
    pub(crate) fn name(&self) -> String {
        String::from_utf8_lossy(&self.name).into_owned()
    }

    /// Returns the exception that answers the call, in the encoding of the call. Returns `None` if
    /// the client waits for no answer.
    pub(crate) fn exception(&self, text: &str) -> Option<Vec<u8>> {
        if self.is_one_way {
            return None;
        }
        // The client's multiplexer strips the service from the method, so answers do not carry it.
        let method = self.name.rsplit(|byte| *byte == SEPARATOR).next().unwrap_or_default();
        let mut message = Vec::with_capacity(64 + method.len() + text.len());
        if self.has_version {
            put(&mut message, VERSION | u32::from(EXCEPTION));
            put_bytes(&mut message, method);
        } else {
            put_bytes(&mut message, method);
            message.push(EXCEPTION);
        }
        put(&mut message, self.sequence);
        message.extend([STRING, 0, 1]);
        put_bytes(&mut message, text.as_bytes());
        message.extend([I32, 0, 2]);
        put(&mut message, UNKNOWN_METHOD);
        message.push(STOP);
        if !self.is_framed {
            return Some(message);
        }
        let mut framed = Vec::with_capacity(4 + message.len());
        put_bytes(&mut framed, &message);
        Some(framed)
    }
}

fn put(message: &mut Vec<u8>, word: u32) {
    message.extend(word.to_be_bytes());
}

/// Appends the length of `bytes`, which always fits in 32 bits, followed by `bytes`.
fn put_bytes(message: &mut Vec<u8>, bytes: &[u8]) {
    put(message, u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    message.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call of `m` with the sequence number 7, in each encoding, written by hand from the
    /// specification.
    const FORMS: [&[u8]; 4] = [
        b"\x80\x01\x00\x01\x00\x00\x00\x01m\x00\x00\x00\x07\x00",
        b"\x00\x00\x00\x0e\x80\x01\x00\x01\x00\x00\x00\x01m\x00\x00\x00\x07\x00",
        b"\x00\x00\x00\x01m\x01\x00\x00\x00\x07\x00",
        b"\x00\x00\x00\x0b\x00\x00\x00\x01m\x01\x00\x00\x00\x07\x00",
    ];

    fn called(bytes: &[u8]) -> Call {
        match parse(bytes) {
            Parsed::Call(call) => call,
            other => panic!("{bytes:x?} is {other:?}"),
        }
    }

    #[test]
    fn a_reply_corresponds_to_its_call() {
        let body = b"\x0b\x00\x01\x00\x00\x00\x02no\x08\x00\x02\x00\x00\x00\x01\x00";
        for (form, head) in FORMS.into_iter().zip([
            &b"\x80\x01\x00\x03\x00\x00\x00\x01m\x00\x00\x00\x07"[..],
            b"\x00\x00\x00\x1e\x80\x01\x00\x03\x00\x00\x00\x01m\x00\x00\x00\x07",
            b"\x00\x00\x00\x01m\x03\x00\x00\x00\x07",
            b"\x00\x00\x00\x1b\x00\x00\x00\x01m\x03\x00\x00\x00\x07",
        ]) {
            let call = called(form);
            assert_eq!((call.name(), call.sequence), ("m".to_owned(), 7));
            assert_eq!(call.exception("no"), Some([head, body].concat()), "{form:x?}");
        }
    }

    /// Tests that the reply to a call of `service:method` names only `method`, as a client of
    /// several services expects.
    #[test]
    fn the_reply_omits_the_name_of_the_service() {
        let call = called(b"\x80\x01\x00\x01\x00\x00\x00\x0bstandard:bm\x00\x00\x00\x00");
        assert_eq!(call.name(), "standard:bm");
        let answer = call.exception("").expect("it waits");
        assert!(answer.starts_with(b"\x80\x01\x00\x03\x00\x00\x00\x02bm\x00\x00\x00\x00"));
    }

    #[test]
    fn a_call_that_waits_for_nothing_is_not_answered() {
        let call = called(b"\x80\x01\x00\x04\x00\x00\x00\x01m\x00\x00\x00\x07\x00");
        assert_eq!(call.exception("no"), None);
    }

    /// Tests that each proper prefix of a header is incomplete, since bytes may arrive in pieces of
    /// any size, and that no bytes after the header are needed.
    #[test]
    fn incomplete_calls_wait_for_more_bytes() {
        for form in FORMS {
            let header = form.len() - 1;
            for length in 0..header {
                assert_eq!(parse(&form[..length]), Parsed::Beginning, "{:x?}", &form[..length]);
            }
            assert_eq!(called(&form[..header]), called(form));
        }
    }

    /// Tests that bytes of another protocol are recognised at the first wrong byte, so that the
    /// switch does not wait for more.
    #[test]
    fn other_protocols_are_recognised() {
        for bytes in [
            &b"GET / HTTP/1.1\r\n"[..],
            b"PRI * HTTP/2.0\r\n",
            b"\x82\x21\x01\x01m\x00\x00\x00\x00",
            b"\x80\x02\x00\x01\x00\x00\x00\x01m",
            b"\x80\x01\x00\x02\x00\x00\x00\x01m\x00\x00\x00\x07",
            b"\x80\x01\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07",
            b"\x80\x01\x00\x01\xff\xff\xff\xffm\x00\x00\x00\x07",
            b"\x80\x01\x00\x01\x00\x00\x10\x00m\x00\x00\x00\x07",
            b"\x80\x01\x00\x01\x00\x00\x00\x02m\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01",
        ] {
            assert_eq!(parse(bytes), Parsed::Foreign, "{bytes:x?}");
        }
    }

    /// Tests that the parser returns a result for any bytes, and never waits for more than the
    /// longest header.
    #[test]
    fn any_bytes_are_something() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..20_000 {
            let mut bytes = FORMS[random.usize(..FORMS.len())].to_vec();
            for _ in 0..random.usize(..4) {
                let position = random.usize(..bytes.len());
                bytes[position] = random.u8(..);
            }
            bytes.truncate(random.usize(..=bytes.len()));
            bytes.extend((0..random.usize(..NAME_LIMIT + 32)).map(|_| random.u8(32..127)));
            let parsed = parse(&bytes);
            assert!(parsed != Parsed::Beginning || bytes.len() < NAME_LIMIT + 16, "{bytes:x?}");
            if let Parsed::Call(call) = parsed
                && let Some(answer) = call.exception("no")
            {
                assert!(answer.len() < NAME_LIMIT + 64);
            }
        }
    }
}
