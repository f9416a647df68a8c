//! Whether a switch answers an update before or after packets obey it.

use super::bracket::Bracket;
use super::time::{Range, Span};

/// Whether a switch answered a request before or after packets obeyed the changed rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// A probe that was sent after the answer had arrived met the old state. The switch thus
    /// reported an update that packets did not obey yet.
    Early {
        /// The time from the answer until packets obeyed.
        by: Range,
    },
    /// A probe that met the new state arrived before the answer. The answer thus came after packets
    /// obeyed.
    Late {
        /// The time from when packets obeyed the rule until the answer.
        by: Range,
    },
    /// The probes do not show whether the answer came before or after packets obeyed the rule.
    Undecided,
}

impl Timing {
    /// Compares the arrival of an answer with the moment at which a rule changed.
    #[must_use]
    pub fn of(bracket: Bracket, answer: Span) -> Self {
        let obeyed = bracket.span();
        if obeyed.earliest > answer.latest {
            Self::Early { by: obeyed.since(answer) }
        } else if obeyed.latest < answer.earliest {
            Self::Late { by: answer.since(obeyed) }
        } else {
            Self::Undecided
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effects::time::{Gap, Moment};

    #[test]
    fn an_answer_is_early_or_late_only_if_it_is_outside_the_bracket() {
        let bracket = Bracket { after: Moment(100), until: Moment(120) };
        let answer = |earliest, latest| {
            let answer = Span { earliest: Moment(earliest), latest: Moment(latest) };
            Timing::of(bracket, answer)
        };
        let range = |least, most| Range { least: Gap(least), most: Gap(most) };
        assert_eq!(answer(50, 60), Timing::Early { by: range(40, 70) });
        assert_eq!(answer(150, 155), Timing::Late { by: range(30, 55) });
        for (earliest, latest) in [(90, 100), (105, 110), (120, 130), (90, 130)] {
            assert_eq!(answer(earliest, latest), Timing::Undecided);
        }
    }
}
