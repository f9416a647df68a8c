//! The answers to an update that the specification demands or permits.

use tonic::Code;

use crate::channel::name;

pub(super) const INVALID: &[Code] = &[Code::InvalidArgument];
/// Sections 8.3 and 9.1.1 name different codes for a byte string that is no value.
pub(super) const BAD_VALUE: &[Code] = &[Code::OutOfRange, Code::InvalidArgument];

/// The answer to an update that the specification demands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::fuzz) enum Expected {
    /// The device has to accept the update.
    Accepted,
    /// The device may accept the update, or refuse it with one of these codes, or with any if there
    /// are none.
    Either(Vec<Code>),
    /// The device has to refuse the update with one of these codes, or with any if there are none.
    Refused(Vec<Code>),
}

impl Expected {
    /// Returns whether an answer is as expected.
    pub(in crate::fuzz) fn admits(&self, code: Code) -> bool {
        match self {
            Self::Accepted => code == Code::Ok,
            Self::Either(codes) => code == Code::Ok || codes.is_empty() || codes.contains(&code),
            Self::Refused(codes) if codes.is_empty() => code != Code::Ok,
            Self::Refused(codes) => codes.contains(&code),
        }
    }

    /// Returns the expectation in words.
    pub(in crate::fuzz) fn words(&self) -> String {
        let names =
            |codes: &[Code]| codes.iter().map(|code| name(*code)).collect::<Vec<_>>().join(" or ");
        match self {
            Self::Accepted => "OK".to_owned(),
            Self::Either(codes) if codes.is_empty() => "any answer".to_owned(),
            Self::Either(codes) => format!("OK or {}", names(codes)),
            Self::Refused(codes) if codes.is_empty() => "a refusal".to_owned(),
            Self::Refused(codes) => names(codes),
        }
    }
}

/// The faults of an update: the codes for each, of which none may be named.
#[derive(Debug, Default)]
pub(super) struct Faults {
    certain: Vec<&'static [Code]>,
    /// The codes with which a device may refuse what another accepts.
    possible: Vec<&'static [Code]>,
}

impl Faults {
    /// Notes a fault with which the device has to refuse the update.
    pub(super) fn add(&mut self, is_fault: bool, codes: &'static [Code]) {
        if is_fault {
            self.certain.push(codes);
        }
    }

    /// Notes what only some devices accept.
    pub(super) fn may(&mut self, is_present: bool, codes: &'static [Code]) {
        if is_present {
            self.possible.push(codes);
        }
    }

    /// Returns whether no fault was found.
    pub(super) fn is_empty(&self) -> bool {
        self.certain.is_empty()
    }

    pub(super) fn expected(self) -> Expected {
        let both = [self.certain.as_slice(), self.possible.as_slice()].concat();
        let codes = match both.iter().any(|codes| codes.is_empty()) {
            true => Vec::new(),
            false => both.concat(),
        };
        match (self.certain.is_empty(), self.possible.is_empty()) {
            (true, true) => Expected::Accepted,
            (true, false) => Expected::Either(codes),
            (false, _) => Expected::Refused(codes),
        }
    }
}
