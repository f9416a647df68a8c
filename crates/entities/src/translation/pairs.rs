//! The pairs of strings and numbers of one translated type.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::error::EntityError;
use crate::value::ValueError;

/// The largest length of a translated string in bytes. Strings that are no longer used are kept
/// with their numbers, so their memory must have a limit.
pub const LONGEST_TEXT: usize = 1024;

/// The number of pairs beyond which a string that no entity uses can lose its number, although the
/// type has free numbers. The string that has been unused for the longest time loses its number
/// first.
const KEPT_UNUSED: usize = 1 << 16;

/// The description of a translated type, from which its first pairs are created.
#[derive(Debug, Clone, Default)]
pub struct TypeOfProgram {
    /// The name of the type in P4Info.
    pub name: String,
    /// The width of the type in the program, in bits.
    pub bits: u32,
    /// The strings to which the program itself assigns numbers, with these numbers.
    pub given: Vec<(Box<[u8]>, u128)>,
    /// The ports of the switch, or `None` if the values of the type are not ports.
    pub ports: Option<PortNames>,
}

/// The ports that a switch has when a program is loaded.
#[derive(Debug, Clone, Default)]
pub struct PortNames {
    /// The names of ports with their numbers. A controller may write such a name in place of the
    /// port's decimal digits.
    pub names: Vec<(String, u32)>,
    /// The numbers that are reserved for ports. A string that does not denote a port is never
    /// assigned one of them.
    pub reserved: BTreeSet<u32>,
}

/// The numbers and strings of one translated type that entities contain.
#[derive(Debug, Default)]
pub struct Used {
    /// The numbers that tables and other state contain.
    pub numbers: HashSet<u128>,
    /// The strings in entities that are stored in the form in which they were written.
    pub texts: HashSet<Box<[u8]>>,
}

impl Used {
    fn contains(&self, number: u128, pair: &Pair) -> bool {
        self.numbers.contains(&number) || self.texts.contains(&*pair.text)
    }
}

/// The string that belongs to a number, and the time at which it was last used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) text: Arc<[u8]>,
    /// Whether the program itself assigned the number, so that the number is never assigned to
    /// another string.
    is_given: bool,
    /// The value of `Pairs::clock` at the last write that contained the string.
    used: u64,
}

/// The reason why a string was not assigned a number.
#[derive(Debug)]
pub(super) enum NotAssigned {
    /// The strings and numbers that entities contain are needed, but the caller has not passed
    /// them.
    Undetermined,
    /// The string is refused.
    Refused(EntityError),
}

impl From<EntityError> for NotAssigned {
    fn from(error: EntityError) -> Self {
        Self::Refused(error)
    }
}

/// The information that is needed to undo a change of the pairs.
#[derive(Debug)]
pub(super) enum PairUndo {
    /// The string already had its number.
    Nothing,
    /// The number had no string before.
    Added(u128),
    /// The number had this string before.
    Replaced(u128, Pair),
}

/// The pairs of strings and numbers of one translated type. A number has one string at a time.
#[derive(Debug)]
pub(super) struct Pairs {
    pub(super) name: String,
    pub(super) bits: u32,
    highest: u128,
    by_text: HashMap<Arc<[u8]>, u128>,
    by_number: BTreeMap<u128, Pair>,
    /// The number of each port name, or `None` if the values of the type are not ports.
    ports: Option<HashMap<Box<[u8]>, u128>>,
    reserved: BTreeSet<u128>,
    /// The numbers that strings get when they are next assigned one. They are the numbers that the
    /// strings had in an earlier run or pipeline.
    planned: HashMap<Box<[u8]>, u128>,
    /// A number below which no number is free.
    lowest: u128,
    /// The number of times that strings have been used so far. It serves as a clock.
    clock: u64,
    /// The value of `clock` when the present update began. Strings that were used since then keep
    /// their numbers, although no entity contains them yet.
    update_began: u64,
    /// The numbers whose strings no entity contained when entities were last visited, by the time
    /// of the strings' last use.
    unused: BTreeMap<u64, u128>,
    /// The number of pairs beyond which numbers of unused strings are reused even if other numbers
    /// are free.
    limit: usize,
    /// The numbers that were assigned since the current batch began.
    pub(super) changed: Vec<u128>,
}

impl Pairs {
    pub(super) fn new(of: TypeOfProgram) -> Result<Self, EntityError> {
        let TypeOfProgram { name, bits, given, ports } = of;
        let highest = 1_u128.checked_shl(bits).map_or(u128::MAX, |numbers| numbers - 1);
        let number = |number: &u32| u128::from(*number);
        let reserved = ports.iter().flat_map(|ports| ports.reserved.iter().map(number)).collect();
        let names = |ports: PortNames| {
            let names = ports.names.into_iter();
            names.map(|(name, port)| (name.into_bytes().into(), port.into())).collect()
        };
        let mut pairs = Self {
            name,
            bits,
            highest,
            by_text: HashMap::new(),
            by_number: BTreeMap::new(),
            ports: ports.map(names),
            reserved,
            planned: HashMap::new(),
            lowest: 0,
            clock: 0,
            update_began: 0,
            unused: BTreeMap::new(),
            limit: KEPT_UNUSED,
            changed: Vec::new(),
        };
        for (text, number) in given {
            if number > highest {
                return Err(EntityError::invalid(format!(
                    "type '{}': the number {number} of the string '{}' needs more than {bits} bits",
                    pairs.name,
                    shown(&text)
                )));
            }
            pairs.put(number, &text, true);
        }
        Ok(pairs)
    }

    /// Returns the number of a string, or `None` if it has none.
    pub(super) fn number(&self, text: &[u8]) -> Option<u128> {
        self.by_text.get(text).copied().or_else(|| self.port(text))
    }

    /// Returns the string of a number. If the values of the type are ports, a number without a
    /// string is represented by its decimal digits. Otherwise, returns `None` for it.
    pub(super) fn text(&self, number: u128) -> Option<Arc<[u8]>> {
        if let Some(pair) = self.by_number.get(&number) {
            return Some(Arc::clone(&pair.text));
        }
        self.ports.is_some().then(|| number.to_string().into_bytes().into())
    }

    /// Returns the port that a string without a pair denotes, which is the name of a port or the
    /// port's decimal digits. Returns `None` for other strings.
    fn port(&self, text: &[u8]) -> Option<u128> {
        let named = self.ports.as_ref()?.get(text).copied();
        named.or_else(|| decimal(text)).filter(|port| *port <= self.highest)
    }

    /// Returns whether the values of the type are ports, but the string denotes no port.
    pub(super) fn is_no_port(&self, text: &[u8]) -> bool {
        self.ports.is_some() && self.port(text).is_none()
    }

    /// Assigns a number to a string that has none, and records that the string was used. `used`
    /// contains the numbers and strings that entities contain. If it is `None` but needed, because
    /// the number of an unused string must be reused, returns `NotAssigned::Undetermined`.
    pub(super) fn assign(
        &mut self,
        text: &[u8],
        used: Option<&Used>,
    ) -> Result<PairUndo, NotAssigned> {
        if let Some(number) = self.by_text.get(text).copied() {
            self.touch(number);
            return Ok(PairUndo::Nothing);
        }
        if text.is_empty() {
            return Err(EntityError::from(ValueError::Empty).into());
        }
        if text.len() > LONGEST_TEXT {
            return Err(EntityError::out_of_range(format!(
                "the string has {} bytes, a string of type '{}' has at most {LONGEST_TEXT}",
                text.len(),
                self.name
            ))
            .into());
        }
        if self.ports.is_some() {
            if let Some(port) = self.port(text) {
                return self.take_port(port, text, used);
            }
            if let Some(port) = decimal(text) {
                return Err(EntityError::out_of_range(format!(
                    "the port {port} needs more than the {} bits of type '{}'",
                    self.bits, self.name
                ))
                .into());
            }
        }
        if let Some(planned) = self.planned.get(text).copied()
            && self.may_take(planned)
        {
            return Ok(self.put(planned, text, false));
        }
        while self.by_number.contains_key(&self.lowest) || self.reserved.contains(&self.lowest) {
            self.lowest += 1;
        }
        let is_free = self.lowest <= self.highest;
        if is_free && self.by_number.len() < self.limit {
            return Ok(self.put(self.lowest, text, false));
        }
        match self.unused_longest(used)? {
            Some(number) => Ok(self.put(number, text, false)),
            None if is_free => Ok(self.put(self.lowest, text, false)),
            None => Err(EntityError::exhausted(format!(
                "all numbers of the {} bits of type '{}' are in use; delete the entities that use one \
                 of its strings first",
                self.bits, self.name
            ))
            .into()),
        }
    }

    /// Makes `text`, a string that denotes a port, the string of this port. Returns an error if
    /// another string is in use for the port.
    fn take_port(
        &mut self,
        port: u128,
        text: &[u8],
        used: Option<&Used>,
    ) -> Result<PairUndo, NotAssigned> {
        if let Some(pair) = self.by_number.get(&port) {
            let is_kept = pair.is_given || pair.used > self.update_began;
            if is_kept || used.ok_or(NotAssigned::Undetermined)?.contains(port, pair) {
                return Err(EntityError::in_use(format!(
                    "port {port} of type '{}' is in use as '{}' and has one string at a time; write \
                     it that way instead of '{}'",
                    self.name,
                    shown(&pair.text),
                    shown(text)
                ))
                .into());
            }
        }
        Ok(self.put(port, text, false))
    }

    /// Returns whether a planned number can be assigned: it fits the type, is not reserved, and its
    /// present string, if it has one, can lose it.
    fn may_take(&self, number: u128) -> bool {
        let pair = self.by_number.get(&number);
        number <= self.highest
            && !self.reserved.contains(&number)
            && pair.is_none_or(|pair| !pair.is_given && pair.used <= self.update_began)
    }

    /// Removes from `unused` the number whose string has been unused for the longest time, and
    /// returns it. Returns `None` if all strings are in use.
    fn unused_longest(&mut self, used: Option<&Used>) -> Result<Option<u128>, NotAssigned> {
        if self.unused.is_empty() {
            let used = used.ok_or(NotAssigned::Undetermined)?;
            let is_unused = |(number, pair): &(&u128, &Pair)| {
                !pair.is_given && pair.used <= self.update_began && !used.contains(**number, pair)
            };
            let unused = self.by_number.iter().filter(is_unused);
            self.unused = unused.map(|(number, pair)| (pair.used, *number)).collect();
            if self.unused.len() < self.limit / 2 {
                // Most strings are in use. With a higher limit, that is determined less often.
                self.limit = self.limit.max(self.by_number.len()).saturating_mul(2);
            }
        }
        Ok(self.unused.pop_first().map(|(_, number)| number))
    }

    fn touch(&mut self, number: u128) {
        self.clock += 1;
        if let Some(pair) = self.by_number.get_mut(&number) {
            self.unused.remove(&pair.used);
            pair.used = self.clock;
        }
    }

    /// Assigns a number to a string, and returns the information that undoes this.
    fn put(&mut self, number: u128, text: &[u8], is_given: bool) -> PairUndo {
        self.clock += 1;
        let text: Arc<[u8]> = text.into();
        let pair = Pair { text: Arc::clone(&text), is_given, used: self.clock };
        let before = self.by_number.insert(number, pair);
        if let Some(before) = &before {
            self.by_text.remove(&before.text);
            self.unused.remove(&before.used);
        }
        self.by_text.insert(text, number);
        if !is_given {
            self.changed.push(number);
        }
        before.map_or(PairUndo::Added(number), |before| PairUndo::Replaced(number, before))
    }

    /// Undoes a change of the pairs. Changes must be undone in the reverse order.
    pub(super) fn undo(&mut self, undo: PairUndo) {
        let (number, before) = match undo {
            PairUndo::Nothing => return,
            PairUndo::Added(number) => (number, None),
            PairUndo::Replaced(number, before) => (number, Some(before)),
        };
        if let Some(pair) = self.by_number.remove(&number) {
            self.by_text.remove(&pair.text);
        }
        match before {
            Some(before) => {
                self.by_text.insert(Arc::clone(&before.text), number);
                self.by_number.insert(number, before);
            }
            None => self.lowest = self.lowest.min(number),
        }
    }

    /// Reserves a number, so that it is assigned to no string.
    pub(super) fn reserve(&mut self, number: u128) {
        self.reserved.insert(number);
    }

    /// Assigns a number that the program itself uses to the string of its decimal digits, unless
    /// the number or that string is taken. No other string is then assigned the number.
    pub(super) fn give_digits(&mut self, number: u128) {
        if self.ports.is_some() {
            // Its digits are the string of a port without a pair.
            self.reserved.insert(number);
        }
        let digits = number.to_string().into_bytes();
        let is_taken = self.by_number.contains_key(&number) || self.number(&digits).is_some();
        if self.ports.is_none() && number <= self.highest && !is_taken {
            self.put(number, &digits, true);
        }
    }

    pub(super) fn begin_batch(&mut self) {
        self.changed.clear();
    }

    pub(super) fn begin_update(&mut self) {
        self.update_began = self.clock;
    }

    /// Forgets which strings are unused. This is necessary after an update was undone, which may
    /// have restored an entity that contains one of them.
    pub(super) fn forget_unused(&mut self) {
        self.unused.clear();
    }

    /// Returns the pair of a number, unless the program itself assigned the number.
    pub(super) fn assigned(&self, number: u128) -> Option<&Pair> {
        self.by_number.get(&number).filter(|pair| !pair.is_given)
    }

    /// Returns all pairs, ordered by number, except those that the program itself assigned.
    pub(super) fn all_assigned(&self) -> impl Iterator<Item = (u128, &Pair)> {
        let pairs = self.by_number.iter().filter(|(_, pair)| !pair.is_given);
        pairs.map(|(number, pair)| (*number, pair))
    }

    pub(super) fn plan(&mut self, text: &[u8], number: u128) {
        self.planned.insert(text.into(), number);
    }

    /// Assigns the planned numbers that are still free to their strings, if these have no number
    /// yet.
    pub(super) fn settle(&mut self) {
        let mut planned: Vec<_> = std::mem::take(&mut self.planned).into_iter().collect();
        planned.sort_by_key(|(_, number)| *number);
        for (text, number) in planned {
            let is_taken =
                self.by_text.contains_key(&*text) || self.by_number.contains_key(&number);
            if !is_taken && self.may_take(number) {
                self.put(number, &text, false);
            }
        }
    }
}

/// Returns the number that a string denotes, or `None` unless the string consists of decimal digits
/// without leading zeros.
fn decimal(text: &[u8]) -> Option<u128> {
    let digits = std::str::from_utf8(text).ok()?;
    let is_canonical = digits == "0" || !digits.starts_with('0');
    let is_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_canonical && is_digits)
}

/// Formats a translated string for an error message.
pub(super) fn shown(text: &[u8]) -> String {
    const MOST: usize = 64;
    let start = text.get(..MOST).unwrap_or(text);
    let more = if start.len() < text.len() { "\u{2026}" } else { "" };
    format!("{}{more}", String::from_utf8_lossy(start).escape_debug())
}
