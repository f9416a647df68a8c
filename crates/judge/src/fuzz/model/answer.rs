//! The answers to an update that the specification demands or permits.

use tonic::Code;

use crate::channel::name;
use crate::fuzz::settings::ConstraintDuty;
use crate::subject::Breach;

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
    /// The device has to refuse the update.
    Refused(Refusal),
}

/// A refusal that the specification, or a constraint of the program, demands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::fuzz) struct Refusal {
    /// The codes that the device may answer, any if there are none.
    codes: Vec<Code>,
    /// The constraints that the update breaks.
    breaches: Vec<Breach>,
}

impl Expected {
    /// Returns whether an answer is as expected. A device may be full (9.1), in which case it does
    /// not carry out the update.
    pub(in crate::fuzz) fn admits(&self, code: Code) -> bool {
        let is_full_or_done = matches!(code, Code::Ok | Code::ResourceExhausted);
        match self {
            Self::Accepted => is_full_or_done,
            Self::Either(codes) => is_full_or_done || codes.is_empty() || codes.contains(&code),
            Self::Refused(refusal) if refusal.codes.is_empty() => code != Code::Ok,
            Self::Refused(refusal) => refusal.codes.contains(&code),
        }
    }

    /// Returns the part of a constraint that alone demands the refusal, as the owner of the
    /// constraint and the number of the part.
    pub(in crate::fuzz) fn near_miss(&self) -> Option<(&str, usize)> {
        let Self::Refused(Refusal { codes, breaches }) = self else { return None };
        let ([breach], [Code::InvalidArgument]) = (breaches.as_slice(), codes.as_slice()) else {
            return None;
        };
        let [part] = breach.parts.as_slice() else { return None };
        Some((&breach.owner, *part))
    }

    /// Returns the constraints that the update breaks, in words; empty if it breaks none.
    pub(in crate::fuzz) fn because(&self) -> String {
        let breaches = match self {
            Self::Accepted | Self::Either(_) => &[][..],
            Self::Refused(refusal) => &refusal.breaches,
        };
        let all = breaches
            .iter()
            .map(|Breach { owner, why, .. }| format!(", because in {owner} the constraint {why}"));
        all.collect()
    }

    /// Returns the expectation in words.
    pub(in crate::fuzz) fn words(&self) -> String {
        let names =
            |codes: &[Code]| codes.iter().map(|code| name(*code)).collect::<Vec<_>>().join(" or ");
        match self {
            Self::Accepted => "OK".to_owned(),
            Self::Either(codes) if codes.is_empty() => "any answer".to_owned(),
            Self::Either(codes) => format!("OK or {}", names(codes)),
            Self::Refused(refusal) if refusal.codes.is_empty() => "a refusal".to_owned(),
            Self::Refused(refusal) => names(&refusal.codes),
        }
    }
}

/// The faults of an update: the codes for each, of which none may be named.
#[derive(Debug, Default)]
pub(super) struct Faults {
    certain: Vec<&'static [Code]>,
    /// The codes with which a device may refuse what another accepts.
    possible: Vec<&'static [Code]>,
    breaches: Vec<Breach>,
}

impl Faults {
    /// Notes a fault with which the device has to refuse the update.
    pub(super) fn add(&mut self, is_fault: bool, codes: &'static [Code]) {
        if is_fault {
            self.certain.push(codes);
        }
    }

    /// Notes a constraint that the update breaks.
    pub(super) fn breaks(&mut self, breach: Option<Breach>) {
        self.breaches.extend(breach);
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

    pub(super) fn expected(mut self, duty: ConstraintDuty) -> Expected {
        let refusals = self.breaches.iter().map(|_| INVALID);
        match duty {
            ConstraintDuty::Checked => self.certain.extend(refusals),
            ConstraintDuty::Ignored => self.possible.extend(refusals),
        }
        let both = [self.certain.as_slice(), self.possible.as_slice()].concat();
        let mut codes = Vec::new();
        if both.iter().all(|codes| !codes.is_empty()) {
            for code in both.concat() {
                if !codes.contains(&code) {
                    codes.push(code);
                }
            }
        }
        match (self.certain.is_empty(), self.possible.is_empty()) {
            (true, true) => Expected::Accepted,
            (true, false) => Expected::Either(codes),
            (false, _) => Expected::Refused(Refusal { codes, breaches: self.breaches }),
        }
    }
}
