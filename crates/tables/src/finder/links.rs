//! The numbers of a finder's entries, and how each entry is found.
//!
//! Low numbers are assigned first: entries are stored by their numbers, so that memory behind the
//! last entry can be freed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::few::{Few, MOST};
use crate::search::Link;

/// See the module.
#[derive(Default)]
pub(super) struct Links {
    /// The link of each entry, at the entry's number less one.
    links: Vec<Option<Link>>,
    /// Numbers that no entry has, up to the length of the above.
    free: BinaryHeap<Reverse<u32>>,
    count: usize,
    /// Numbers that are still found although their entries are gone, as memory did not suffice.
    lost: Vec<u32>,
    /// The numbers of all entries, while they are few.
    few: Option<Vec<u32>>,
}

/// Numbers up to which all are looked through for the few that entries have.
const SEARCHED: usize = 1024;

impl Links {
    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The number that the next entry gets, if there is one left.
    pub(super) fn free_number(&self) -> Option<u32> {
        match self.free.peek() {
            Some(Reverse(number)) => Some(*number),
            None => u32::try_from(self.links.len() + 1).ok().filter(|number| *number < u32::MAX),
        }
    }

    /// Makes room for an entry with the next free number, so that [`Links::put`] does not take
    /// long.
    pub(super) fn make_room(&mut self, number: u32) {
        let missing = (number as usize).saturating_sub(self.links.len());
        self.links.reserve(missing);
    }

    /// Takes an entry with the number that was free.
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
            Some(few) if few.len() < MOST => few.push(number),
            _ => self.few = None,
        }
    }

    /// Takes an entry back that was given away by [`Links::take`].
    pub(super) fn put_back(&mut self, number: u32, link: Link) {
        if let Some(place) = self.links.get_mut(number as usize - 1) {
            *place = Some(link);
            self.count += 1;
            self.find_few();
        }
    }

    /// Removes and returns the link of an entry, which keeps its number until that is freed or
    /// lost.
    pub(super) fn take(&mut self, number: u32) -> Option<Link> {
        let link = self.links.get_mut((number as usize).checked_sub(1)?)?.take()?;
        self.count -= 1;
        match &mut self.few {
            Some(few) => few.retain(|known| *known != number),
            None => self.find_few(),
        }
        Some(link)
    }

    /// Another entry may have this number.
    pub(super) fn free(&mut self, number: u32) {
        self.free.push(Reverse(number));
    }

    /// No entry may have this number any more.
    pub(super) fn lose(&mut self, number: u32) {
        self.lost.push(number);
    }

    /// Those that were lost may be used again: nothing leads to them.
    pub(super) fn find_lost(&mut self) {
        self.lost.clear();
    }

    /// All entries with their numbers.
    pub(super) fn all(&self) -> impl Iterator<Item = (u32, &Link)> {
        (1..).zip(&self.links).filter_map(|(number, link)| Some((number, link.as_ref()?)))
    }

    /// Has the entries compared one by one if they are few, or not if they are many.
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

    /// Looks for the numbers of all entries, if these are few and that does not take long.
    fn find_few(&mut self) {
        let is_soon_done = self.count <= MOST && self.links.len() <= SEARCHED;
        self.few = is_soon_done.then(|| self.all().map(|(number, _)| number).collect());
    }

    /// Frees memory that is not needed.
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
