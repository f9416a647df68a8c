//! Random constraints, and their meaning as the specification of p4-constraints states it, on
//! integers. A table has one key of each kind, named by its first letter, and a priority.

use std::fmt;

use constraints::{Key, KeyType, Kind, Match};
use fastrand::Rng;

pub(crate) fn keys(width: u32) -> [Key; 5] {
    let key = |name: &str, kind| Key { name: name.into(), kind, ty: KeyType::Bits(width) };
    [
        key("e", Kind::Exact),
        key("t.v", Kind::Ternary),
        key("l", Kind::Lpm),
        key("r", Kind::Range),
        key("o", Kind::Optional),
    ]
}

/// An entry of the table as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Small {
    pub(crate) exact: i64,
    pub(crate) ternary: (i64, i64),
    pub(crate) lpm: (i64, i64),
    /// `None` is the key left out, which is the full range.
    pub(crate) range: Option<(i64, i64)>,
    pub(crate) optional: Option<i64>,
    pub(crate) priority: i64,
}

fn ones(width: u32) -> i64 {
    (1 << width) - 1
}

fn byte(value: i64) -> Vec<u8> {
    vec![u8::try_from(value).expect("a small value")]
}

fn number(bytes: &[u8]) -> i64 {
    bytes.iter().fold(0, |number, byte| number << 8 | i64::from(*byte))
}

impl Small {
    pub(crate) fn matches(&self) -> Vec<Match<'static>> {
        let any_or = |is_any, of| if is_any { Match::Any } else { of };
        let (value, mask) = (byte(self.ternary.0).into(), byte(self.ternary.1).into());
        let prefix_length = u32::try_from(self.lpm.1).expect("a small length");
        vec![
            Match::Exact(byte(self.exact).into()),
            any_or(self.ternary.1 == 0, Match::Ternary { value, mask }),
            any_or(
                prefix_length == 0,
                Match::Lpm { value: byte(self.lpm.0).into(), prefix_length },
            ),
            self.range.map_or(Match::Any, |(low, high)| Match::Range {
                low: byte(low).into(),
                high: byte(high).into(),
            }),
            self.optional.map_or(Match::Any, |value| Match::Exact(byte(value).into())),
        ]
    }

    /// Reads the matches of a solution.
    pub(crate) fn of(matches: &[Match<'_>], priority: i64) -> Self {
        let [exact, ternary, lpm, range, optional] = matches else { panic!("five keys") };
        let Match::Exact(exact) = exact else { panic!("an exact match: {exact:?}") };
        Self {
            exact: number(exact),
            ternary: match ternary {
                Match::Any => (0, 0),
                Match::Ternary { value, mask } => (number(value), number(mask)),
                other => panic!("a ternary match: {other:?}"),
            },
            lpm: match lpm {
                Match::Any => (0, 0),
                Match::Lpm { value, prefix_length } => (number(value), (*prefix_length).into()),
                other => panic!("a prefix: {other:?}"),
            },
            range: match range {
                Match::Any => None,
                Match::Range { low, high } => Some((number(low), number(high))),
                other => panic!("a range: {other:?}"),
            },
            optional: match optional {
                Match::Any => None,
                Match::Exact(value) => Some(number(value)),
                other => panic!("an optional match: {other:?}"),
            },
            priority,
        }
    }

    /// Returns whether a packet with these values matches the entry, and the entry is well-formed
    /// (the specification's "Assumed P4Runtime Well-Formedness Constraints").
    pub(crate) fn accepts(&self, packet: &[i64], width: u32) -> bool {
        let prefix = ones(width) & !(ones(width) >> self.lpm.1);
        let (low, high) = self.range.unwrap_or((0, ones(width)));
        self.ternary.0 & !self.ternary.1 == 0
            && self.lpm.0 & !prefix == 0
            && self.exact == packet[0]
            && packet[1] & self.ternary.1 == self.ternary.0
            && packet[2] & prefix == self.lpm.0
            && (low..=high).contains(&packet[3])
            && self.optional.is_none_or(|value| value == packet[4])
    }
}

/// Returns every well-formed entry with keys of this width, with three priorities.
pub(crate) fn all_entries(width: u32) -> Vec<Small> {
    let all = 0..=ones(width);
    let ternaries = all.clone().flat_map(|mask| (0..=ones(width)).map(move |value| (value, mask)));
    let ternaries: Vec<_> = ternaries.filter(|(value, mask)| value & !mask == 0).collect();
    let lengths = (0..=i64::from(width)).flat_map(|length| all.clone().map(move |v| (v, length)));
    let lpms: Vec<_> =
        lengths.filter(|(value, length)| value & (ones(width) >> length) == 0).collect();
    let ranges = all.clone().flat_map(|low| (low..=ones(width)).map(move |high| (low, high)));
    let ranges: Vec<_> = ranges.map(|range| (range != (0, ones(width))).then_some(range)).collect();
    let mut entries = Vec::new();
    for exact in all.clone() {
        for ternary in ternaries.iter().copied() {
            for lpm in lpms.iter().copied() {
                for range in ranges.iter().copied() {
                    for optional in std::iter::once(None).chain(all.clone().map(Some)) {
                        for priority in [1, 2, 900] {
                            entries.push(Small { exact, ternary, lpm, range, optional, priority });
                        }
                    }
                }
            }
        }
    }
    entries
}

#[derive(Debug, Clone)]
pub(crate) enum Condition {
    Bool(bool),
    Not(Box<Condition>),
    /// The operator `&&`, `||`, `->` or `;`, and its operands.
    Join(&'static str, Box<Condition>, Box<Condition>),
    /// Equality of conditions.
    Same(bool, Box<Condition>, Box<Condition>),
    Compare(&'static str, Term, Term),
    /// Equality of a key as a whole with a number.
    Whole(bool, char, i64),
}

#[derive(Debug, Clone)]
pub(crate) enum Term {
    Number(i64),
    Slot(&'static str),
    Minus(Box<Term>),
}

/// The fields of keys, and whether each is an `int` rather than bits.
const SLOTS: [(&str, bool); 12] = [
    ("e", false),
    ("e::value", false),
    ("t.v::value", false),
    ("t.v::mask", false),
    ("l::value", false),
    ("l::prefix_length", true),
    ("r::low", false),
    ("r::high", false),
    ("o::value", false),
    ("o::mask", false),
    ("::priority", true),
    ("l::prefix_length", true),
];

impl Term {
    fn is_integer(&self) -> bool {
        match self {
            Self::Number(_) => true,
            Self::Slot(name) => SLOTS.iter().any(|(slot, integer)| slot == name && *integer),
            Self::Minus(inner) => inner.is_integer(),
        }
    }

    fn value(&self, entry: &Small, width: u32) -> i64 {
        match self {
            Self::Number(value) => *value,
            Self::Minus(inner) if inner.is_integer() => -inner.value(entry, width),
            Self::Minus(inner) => (-inner.value(entry, width)).rem_euclid(1 << width),
            Self::Slot(name) => match *name {
                "e" | "e::value" => entry.exact,
                "t.v::value" => entry.ternary.0,
                "t.v::mask" => entry.ternary.1,
                "l::value" => entry.lpm.0,
                "l::prefix_length" => entry.lpm.1,
                "r::low" => entry.range.map_or(0, |range| range.0),
                "r::high" => entry.range.map_or(ones(width), |range| range.1),
                "o::value" => entry.optional.unwrap_or(0),
                "o::mask" => entry.optional.map_or(0, |_| ones(width)),
                "::priority" => entry.priority,
                other => panic!("{other}"),
            },
        }
    }
}

impl Condition {
    pub(crate) fn holds(&self, entry: &Small, width: u32) -> bool {
        match self {
            Self::Bool(value) => *value,
            Self::Not(inner) => !inner.holds(entry, width),
            Self::Join(operator, left, right) => {
                let (left, right) = (left.holds(entry, width), right.holds(entry, width));
                match *operator {
                    "&&" | ";" => left && right,
                    "||" => left || right,
                    _ => !left || right,
                }
            }
            Self::Same(equal, left, right) => {
                (left.holds(entry, width) == right.holds(entry, width)) == *equal
            }
            Self::Compare(operator, left, right) => {
                let (mut a, mut b) = (left.value(entry, width), right.value(entry, width));
                // An integer beside bits becomes bits.
                if left.is_integer() != right.is_integer() {
                    (a, b) = (a.rem_euclid(1 << width), b.rem_euclid(1 << width));
                }
                match *operator {
                    "==" => a == b,
                    "!=" => a != b,
                    "<" => a < b,
                    "<=" => a <= b,
                    ">" => a > b,
                    _ => a >= b,
                }
            }
            Self::Whole(equal, key, number) => {
                let number = number.rem_euclid(1 << width);
                let is = match key {
                    't' => entry.ternary == (number, ones(width)),
                    'l' => entry.lpm == (number, i64::from(width)),
                    'r' => entry.range == Some((number, number)),
                    _ => entry.optional == Some(number),
                };
                is == *equal
            }
        }
    }

    fn strength(&self) -> u8 {
        match self {
            Self::Join(";", ..) => 0,
            Self::Join("->", ..) => 1,
            Self::Join("||", ..) => 2,
            Self::Join(..) => 3,
            Self::Same(..) | Self::Compare(..) | Self::Whole(..) => 4,
            Self::Not(_) => 5,
            Self::Bool(_) => 6,
        }
    }

    /// Writes the condition, in parentheses if it binds weaker than `least`.
    fn write(&self, f: &mut fmt::Formatter<'_>, least: u8) -> fmt::Result {
        if self.strength() < least {
            write!(f, "(")?;
            self.write(f, 0)?;
            return write!(f, ")");
        }
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Not(inner) => {
                write!(f, "!")?;
                inner.write(f, 5)
            }
            Self::Join(operator, left, right) => {
                let strength = self.strength();
                // `->` does not associate; the others associate to the left.
                left.write(f, if *operator == "->" { strength + 1 } else { strength })?;
                write!(f, " {operator} ")?;
                right.write(f, strength + 1)
            }
            Self::Same(equal, left, right) => {
                left.write(f, 5)?;
                write!(f, " {} ", if *equal { "==" } else { "!=" })?;
                right.write(f, 5)
            }
            Self::Compare(operator, left, right) => write!(f, "{left} {operator} {right}"),
            Self::Whole(equal, key, number) => {
                let key = if *key == 't' { "t.v".to_owned() } else { key.to_string() };
                write!(f, "{key} {} {number}", if *equal { "==" } else { "!=" })
            }
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(value) if *value > 9 => write!(f, "{value:#x}"),
            Self::Number(value) => write!(f, "{value}"),
            Self::Slot(name) => write!(f, "{name}"),
            Self::Minus(inner) => write!(f, "-{inner}"),
        }
    }
}

/// A source of random conditions.
pub(crate) struct Generator {
    random: Rng,
    width: u32,
}

impl Generator {
    pub(crate) fn new(seed: u64, width: u32) -> Self {
        Self { random: Rng::with_seed(seed), width }
    }

    pub(crate) fn conjunction(&mut self, count: u32) -> Condition {
        let mut whole = self.condition(2);
        for _ in 1..count {
            let operator = if self.random.bool() { ";" } else { "&&" };
            whole = Condition::Join(operator, Box::new(whole), Box::new(self.condition(2)));
        }
        whole
    }

    pub(crate) fn condition(&mut self, depth: u32) -> Condition {
        if depth == 0 {
            return self.comparison();
        }
        let mut part = || Box::new(self.condition(depth - 1));
        let (left, right) = (part(), part());
        match self.random.u8(0..8) {
            0 => Condition::Not(left),
            1 => Condition::Join("&&", left, right),
            2 => Condition::Join("||", left, right),
            3 => Condition::Join("->", left, right),
            4 => Condition::Join(";", left, right),
            5 => Condition::Same(self.random.bool(), left, right),
            _ => self.comparison(),
        }
    }

    fn comparison(&mut self) -> Condition {
        match self.random.u8(0..10) {
            0 => return Condition::Bool(self.random.bool()),
            1..=3 => {
                let key = self.random.choice(['t', 'l', 'r', 'o']).expect("a key");
                return Condition::Whole(self.random.bool(), key, self.number());
            }
            _ => {}
        }
        let operators = ["==", "!=", "<", "<=", ">", ">="];
        let operator = self.random.choice(operators).expect("an operator");
        let (left, right) = (self.term(), self.term());
        // Both sides of one comparison may be constants, but rarely.
        match (&left, &right) {
            (Term::Number(_), Term::Number(_)) if self.random.u8(0..4) > 0 => {
                Condition::Compare(operator, Term::Slot("e"), right)
            }
            _ => Condition::Compare(operator, left, right),
        }
    }

    fn number(&mut self) -> i64 {
        self.random.i64(-1..=ones(self.width) + 1)
    }

    fn term(&mut self) -> Term {
        match self.random.u8(0..8) {
            0..=3 => Term::Number(self.random.i64(0..=ones(self.width) + 1)),
            4 => Term::Minus(Box::new(self.term())),
            _ => {
                let position = self.random.usize(..SLOTS.len());
                Term::Slot(SLOTS[position].0)
            }
        }
    }
}
