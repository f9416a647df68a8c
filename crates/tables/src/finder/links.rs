//! The numbers of a finder's entries, and for each the prefix or rule by which the search structure
//! finds it (called its link).
//!
//! Low numbers are assigned first, because entries are stored by number, so that memory after the
//! last entry can be freed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::few::{Few, MAX};
use crate::search::Link;

/// The prefix or rule by which each entry of a finder is found, by the entry's number.
#[derive(Default)]
pub(super) struct Links {
    /// The prefix or rule of each entry, at the entry's number less one.
    links: Vec<Option<Link>>,
    /// The numbers without an entry, up to the length of `links`.
    free: BinaryHeap<Reverse<u32>>,
    count: usize,
    /// The numbers of removed entries that searches still return, because memory did not suffice to
    /// remove the entries from the search structure.
    lost: Vec<u32>,
    /// The numbers of all entries, or `None` if there are more than [`MAX`] entries. Also `None` if
    /// only a few entries are left, but `links` is so long that a scan for them would take too much
    /// time.
    few: Option<Vec<u32>>,
}

/// The largest length of the list `links` at which the list is scanned to find out whether few
/// entries are left.
const SEARCHED: usize = 1024;

impl Links {
    /// Returns the number of entries.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Returns the number that the next entry gets, or `None` if all numbers are in use.
    pub(super) fn free_number(&self) -> Option<u32> {
        match self.free.peek() {
            Some(Reverse(number)) => Some(*number),
            None => u32::try_from(self.links.len() + 1).ok().filter(|number| *number < u32::MAX),
        }
    }

    /// Reserves memory for an entry with the next free number, so that [`Links::put`] takes a short
    /// time.
    pub(super) fn make_room(&mut self, number: u32) {
        let missing = (number as usize).saturating_sub(self.links.len());
        self.links.reserve(missing);
    }

    /// Adds an entry under the number that [`Links::free_number`] returned.
    pub(super) fn put(&mut self, number: u32, link: Link) {
        let place = number as usize - 1;
        if place < self.links.len() {
            self.free.pop();
            self.links[place] = Some(link);
        } else {
            self.links.push(Some(link));
        }
        self.count += 1;
        if self.count == 1 {
            self.few = Some(Vec::new());
        }
        match &mut self.few {
            Some(few) if few.len() < MAX => few.push(number),
            _ => self.few = None,
        }
    }

    /// Adds an entry again that [`Links::take`] removed.
    pub(super) fn put_back(&mut self, number: u32, link: Link) {
        if let Some(place) = self.links.get_mut(number as usize - 1) {
            *place = Some(link);
            self.count += 1;
            self.find_few();
        }
    }

    /// Removes an entry and returns its prefix or rule. The number stays in use until
    /// [`Links::free`] or [`Links::lose`] is called.
    pub(super) fn take(&mut self, number: u32) -> Option<Link> {
        let link = self.links.get_mut((number as usize).checked_sub(1)?)?.take()?;
        self.count -= 1;
        match &mut self.few {
            Some(few) => few.retain(|known| *known != number),
            None => self.find_few(),
        }
        Some(link)
    }

    /// Makes a number available to other entries.
    pub(super) fn free(&mut self, number: u32) {
        self.free.push(Reverse(number));
    }

    /// Marks the number of a removed entry as lost: searches still find it, so no entry may get it.
    pub(super) fn lose(&mut self, number: u32) {
        self.lost.push(number);
    }

    /// Makes lost numbers available again, after the search has been rebuilt and no longer finds
    /// them. The next [`Links::shrink`] frees them.
    pub(super) fn find_lost(&mut self) {
        self.lost.clear();
    }

    /// Returns all entries with their numbers.
    pub(super) fn all(&self) -> impl Iterator<Item = (u32, &Link)> {
        (1..).zip(&self.links).filter_map(|(number, link)| Some((number, link.as_ref()?)))
    }

    /// Writes all entries to the list for linear search, or clears the list if there are too many
    /// entries.
    pub(super) fn show_few(&self, few: &Few) {
        match &self.few {
            Some(numbers) => {
                let link = |number: &u32| {
                    let link = self.links.get(*number as usize - 1)?.as_ref()?;
                    Some((*number, link))
                };
                few.set(numbers.iter().filter_map(link));
            }
            None => few.clear(),
        }
    }

    /// Collects the numbers of all entries, if there may be few of them and `links` is short enough
    /// to be scanned.
    fn find_few(&mut self) {
        let is_soon_done = self.count <= MAX && self.links.len() <= SEARCHED;
        self.few = is_soon_done.then(|| self.all().map(|(number, _)| number).collect());
    }

    /// Frees memory that the numbers and prefixes or rules of removed entries took.
    pub(super) fn shrink(&mut self) {
        let last = self.links.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        let last = self.lost.iter().fold(last, |last, lost| last.max(*lost as usize));
        self.links.truncate(last);
        self.links.shrink_to(2 * last);
        let vacant = (1..).zip(&self.links).filter(|(_, link)| link.is_none());
        let free = vacant.map(|(number, _)| number).filter(|number| !self.lost.contains(number));
        self.free = free.map(Reverse).collect();
        self.find_few();
    }
}
