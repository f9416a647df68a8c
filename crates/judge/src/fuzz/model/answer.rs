//! The answers to an update that the specification demands or permits.

use tonic::Code;

use crate::channel::name;
use crate::fuzz::settings::ConstraintDuty;
use crate::subject::Breach;

pub(super) const INVALID: &[Code] = &[Code::InvalidArgument];
/// The status codes for a byte string that is not a valid value of a field. Sections 8.3 and 9.1.1
/// name different codes.
pub(super) const BAD_VALUE: &[Code] = &[Code::OutOfRange, Code::InvalidArgument];

/// The answer to an update that the specification demands or permits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::fuzz) enum Expected {
    /// The device must accept the update.
    Accepted,
    /// The device may accept the update, or refuse it with one of these status codes. An empty list
    /// permits any code.
    Either(Vec<Code>),
    /// The device must refuse the update.
    Refused(Refusal),
}

/// A refusal that the specification, or a constraint of the program, demands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::fuzz) struct Refusal {
    /// The status codes that the device may answer. An empty list permits any code but OK.
    codes: Vec<Code>,
    /// The constraints that the update violates.
    breaches: Vec<Breach>,
}

impl Expected {
    /// Returns whether the device's answer is permitted. A full device may refuse any update (9.1),
    /// which then has no effect.
    pub(in crate::fuzz) fn admits(&self, code: Code) -> bool {
        let is_full_or_done = matches!(code, Code::Ok | Code::ResourceExhausted);
        match self {
            Self::Accepted => is_full_or_done,
            Self::Either(codes) => is_full_or_done || codes.is_empty() || codes.contains(&code),
            Self::Refused(refusal) if refusal.codes.is_empty() => code != Code::Ok,
            Self::Refused(refusal) => refusal.codes.contains(&code),
        }
    }

    /// Returns the owner of a constraint and the position of one of its parts, if the update
    /// violates only this part and is valid otherwise.
    pub(in crate::fuzz) fn near_miss(&self) -> Option<(&str, usize)> {
        let Self::Refused(Refusal { codes, breaches }) = self else { return None };
        let ([breach], [Code::InvalidArgument]) = (breaches.as_slice(), codes.as_slice()) else {
            return None;
        };
        let [part] = breach.parts.as_slice() else { return None };
        Some((&breach.owner, *part))
    }

    /// Returns a description of the constraints that the update violates; an empty string if there
    /// are none.
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

    /// Returns a description of the expected answer.
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

/// The faults that were found in an update, each with the status codes that the specification names
/// for it. The list of codes is empty if the specification names none.
#[derive(Debug, Default)]
pub(super) struct Faults {
    certain: Vec<&'static [Code]>,
    /// The status codes of faults that a device need not check.
    possible: Vec<&'static [Code]>,
    breaches: Vec<Breach>,
}

impl Faults {
    /// Records a fault for which the device must refuse the update.
    pub(super) fn add(&mut self, is_fault: bool, codes: &'static [Code]) {
        if is_fault {
            self.certain.push(codes);
        }
    }

    /// Records a constraint that the update violates.
    pub(super) fn breaks(&mut self, breach: Option<Breach>) {
        self.breaches.extend(breach);
    }

    /// Records a fault for which the device may refuse the update, but need not.
    pub(super) fn may(&mut self, is_present: bool, codes: &'static [Code]) {
        if is_present {
            self.possible.push(codes);
        }
    }

    /// Returns whether the update has no fault for which the device must refuse it. Violated
    /// constraints do not count.
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
