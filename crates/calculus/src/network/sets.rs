//! Interned sets of flows, which are compared, divided and looked up in constant time.
//!
//! In a network of 40,000 flows that end at one root, each flow meets the 39,999 others there.
//! Lists of these would take more memory and time than all curves. However, the recursion over
//! cross traffic mostly needs the same sets for all flows of interest: all flows over a link, those
//! that continue to another server, or those that do not. They differ only in whether they contain
//! the flow of interest. So a [`Set`] is stored once and identified by its number, a [`Group`] is a
//! set with at most one flow added or removed, and [`Sets`] caches the sets that it derives from a
//! set.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::cache::Cache;
use super::elements::{FlowId, Priority, ServerId};
use super::model::Network;
use super::{AnalysisError, operations, simple};
use crate::{Curve, Rational};

/// An ascending list of flows. Each different list is stored only once, with a number of its own.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    number: u32,
    flows: Arc<[FlowId]>,
}

/// A set of flows that differs from a stored set in at most one flow. `toggled` is the flow that is
/// added, if it is not in the stored set, or removed, if it is.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    set: Set,
    toggled: Option<FlowId>,
}

/// The key of a group in caches. Groups of the same flows may have different keys, but groups of
/// different flows never have the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GroupKey {
    set: u32,
    toggled: Option<FlowId>,
}

impl Group {
    pub(crate) fn key(&self) -> GroupKey {
        GroupKey { set: self.set.number, toggled: self.toggled }
    }

    /// Returns whether the group is a stored set, without a flow added or removed. Other flows of
    /// interest are then likely to need it as well.
    pub(crate) fn is_plain(&self) -> bool {
        self.toggled.is_none()
    }

    pub(crate) fn contains(&self, flow: FlowId) -> bool {
        self.set.flows.binary_search(&flow).is_ok() != (self.toggled == Some(flow))
    }

    pub(crate) fn len(&self) -> usize {
        match self.toggled {
            None => self.set.flows.len(),
            Some(flow) if self.contains(flow) => self.set.flows.len() + 1,
            Some(_) => self.set.flows.len() - 1,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the flows of the group in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = FlowId> + '_ {
        let place = self.toggled.map_or(0, |flow| self.set.flows.partition_point(|id| *id < flow));
        let added = self.toggled.filter(|flow| self.contains(*flow));
        let (before, behind) = self.set.flows.split_at(place);
        let removed = self.toggled.filter(|_| added.is_none());
        let behind = behind.iter().copied().filter(move |id| Some(*id) != removed);
        before.iter().copied().chain(added).chain(behind)
    }

    /// Returns the two parts of a group, given the two parts of its stored set. `toggles_first`
    /// says whether the added or removed flow belongs to the first part.
    fn divided(&self, [first, second]: [Set; 2], toggles_first: bool) -> [Self; 2] {
        let toggled = |of_this: bool| self.toggled.filter(|_| of_this);
        [
            Self { set: first, toggled: toggled(toggles_first) },
            Self { set: second, toggled: toggled(!toggles_first) },
        ]
    }
}

/// The flows of a group at a server, divided by the server from which they come.
#[derive(Debug)]
pub(crate) struct Origins {
    /// The flows of the group that begin at the server.
    pub(crate) sources: Group,
    /// The flows of the group that come from other servers, in ascending order of these servers.
    pub(crate) over: Vec<Over>,
}

/// Flows at a server that come over one link, from the server `from`.
#[derive(Debug)]
pub(crate) struct Over {
    pub(crate) from: ServerId,
    pub(crate) flows: Group,
}

/// The flows of a stored set at a server, divided by the server from which they come.
#[derive(Debug)]
struct SetOrigins {
    sources: Set,
    over: Vec<(ServerId, Set)>,
}

/// A criterion by which a set of flows is divided into two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Division {
    /// The flows that come to the second server directly from the first one, and all others.
    Over(ServerId, ServerId),
    /// The flows that are at least as urgent as the priority, and all others.
    Until(Priority),
}

/// The stored sets of flows, with caches of the results that are derived from each.
#[derive(Debug)]
pub(crate) struct Sets<'n> {
    network: &'n Network,
    /// The number of each stored set.
    stored: Mutex<HashMap<Arc<[FlowId]>, u32>>,
    /// The empty set, which has the number 0.
    none: Set,
    /// All priorities of the network's flows, the most urgent first.
    priorities: Vec<Priority>,
    /// The flows that visit each server.
    at: Vec<OnceLock<Set>>,
    /// The flows at a server that are not in a set, by the number of the set.
    others: Cache<(u32, ServerId), Set>,
    /// The division of a set at a server by the servers from which its flows come.
    origins: Cache<(u32, ServerId), Arc<SetOrigins>>,
    /// The two parts of a set.
    divided: Cache<(u32, Division), [Set; 2]>,
    /// The sum of the arrival curves of a set.
    arrivals: Cache<u32, Arc<Curve>>,
    packets: Cache<u32, Rational>,
}

impl<'n> Sets<'n> {
    pub(crate) fn new(network: &'n Network) -> Self {
        let none = Set { number: 0, flows: Arc::new([]) };
        let priorities: BTreeSet<Priority> =
            network.flows().map(|(_, flow)| flow.priority).collect();
        Self {
            network,
            stored: Mutex::new(HashMap::from([(Arc::clone(&none.flows), 0)])),
            none,
            priorities: priorities.into_iter().collect(),
            at: network.servers().map(|_| OnceLock::new()).collect(),
            others: Cache::default(),
            origins: Cache::default(),
            divided: Cache::default(),
            arrivals: Cache::default(),
            packets: Cache::default(),
        }
    }

    /// Returns the set for an ascending list of flows, and stores it if it is new.
    fn store(&self, flows: Vec<FlowId>) -> Set {
        let flows: Arc<[FlowId]> = flows.into();
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((flows, number)) = stored.get_key_value(&flows) {
            return Set { number: *number, flows: Arc::clone(flows) };
        }
        let number = u32::try_from(stored.len()).unwrap_or(u32::MAX);
        stored.insert(Arc::clone(&flows), number);
        Set { number, flows }
    }

    /// Returns the group that consists of an ascending list of flows.
    pub(crate) fn group(&self, flows: Vec<FlowId>) -> Group {
        Group { set: self.store(flows), toggled: None }
    }

    /// Returns the group that consists of one flow.
    pub(crate) fn alone(&self, flow: FlowId) -> Group {
        Group { set: self.none.clone(), toggled: Some(flow) }
    }

    fn set_at(&self, server: ServerId) -> Set {
        let all = || self.store(self.network.flows_at(server).to_vec());
        self.at.get(server.index()).map_or_else(all, |known| known.get_or_init(all).clone())
    }

    /// Returns the group of all flows that visit a server.
    pub(crate) fn at(&self, server: ServerId) -> Group {
        Group { set: self.set_at(server), toggled: None }
    }

    /// Returns a group without one of its flows, or unchanged if the flow is `None` or not in it.
    pub(crate) fn without(&self, group: Group, flow: Option<FlowId>) -> Group {
        let Some(flow) = flow.filter(|flow| group.contains(*flow)) else { return group };
        match group.toggled {
            None => Group { toggled: Some(flow), ..group },
            Some(added) if added == flow => Group { toggled: None, ..group },
            Some(_) => self.group(group.iter().filter(|other| *other != flow).collect()),
        }
    }

    /// Returns the flows that visit a server and are not in the group.
    pub(crate) fn others(&self, server: ServerId, group: &Group) -> Group {
        let all = || self.set_at(server);
        let set = match group.set.number {
            0 => all(),
            number => self.others.get_or_put((number, server), || {
                self.store(difference(&all().flows, &group.set.flows))
            }),
        };
        let is_here = |flow: &FlowId| self.network.flows_at(server).binary_search(flow).is_ok();
        Group { set, toggled: group.toggled.filter(is_here) }
    }

    /// Divides a group of flows at a server by the server from which they come.
    pub(crate) fn origins(&self, server: ServerId, group: &Group) -> Origins {
        let known = self.set_origins(server, &group.set);
        let plain = |set: &Set| Group { set: set.clone(), toggled: None };
        let over = known.over.iter().map(|(from, set)| Over { from: *from, flows: plain(set) });
        let mut origins = Origins { sources: plain(&known.sources), over: over.collect() };
        let Some(flow) = group.toggled else { return origins };
        match self.network.predecessor(flow, server) {
            None => origins.sources.toggled = Some(flow),
            Some(from) => match origins.over.binary_search_by_key(&from, |over| over.from) {
                Ok(place) => {
                    if let Some(over) = origins.over.get_mut(place) {
                        over.flows.toggled = Some(flow);
                    }
                    origins.over.retain(|over| !over.flows.is_empty());
                }
                Err(place) => origins.over.insert(place, Over { from, flows: self.alone(flow) }),
            },
        }
        origins
    }

    fn set_origins(&self, server: ServerId, set: &Set) -> Arc<SetOrigins> {
        self.origins.get_or_put((set.number, server), || {
            let mut sources = Vec::new();
            let mut over = BTreeMap::<ServerId, Vec<FlowId>>::new();
            for id in set.flows.iter() {
                match self.network.predecessor(*id, server) {
                    None => sources.push(*id),
                    Some(from) => over.entry(from).or_default().push(*id),
                }
            }
            let over = over.into_iter().map(|(from, flows)| (from, self.store(flows))).collect();
            Arc::new(SetOrigins { sources: self.store(sources), over })
        })
    }

    /// Divides a group of flows at a server into those that come from another server and the rest.
    pub(crate) fn over(&self, from: ServerId, server: ServerId, group: &Group) -> [Group; 2] {
        let is = |id: FlowId| self.network.predecessor(id, server) == Some(from);
        self.divided(group, Division::Over(from, server), is)
    }

    /// Divides a group into the flows that are at least as urgent as `priority`, and the rest.
    pub(crate) fn until(&self, priority: Priority, group: &Group) -> [Group; 2] {
        let is = |id: FlowId| self.network.flow(id).priority <= priority;
        self.divided(group, Division::Until(priority), is)
    }

    fn divided(&self, group: &Group, by: Division, is: impl Fn(FlowId) -> bool) -> [Group; 2] {
        let sets = self.divided.get_or_put((group.set.number, by), || {
            let (first, second) = group.set.flows.iter().partition(|id| is(**id));
            [self.store(first), self.store(second)]
        });
        group.divided(sets, group.toggled.is_some_and(is))
    }

    /// Divides a group into one group for each priority, the most urgent first.
    pub(crate) fn classes(&self, group: &Group) -> Vec<Group> {
        let (mut classes, mut rest) = (Vec::new(), group.clone());
        for priority in &self.priorities {
            let [class, less_urgent] = self.until(*priority, &rest);
            classes.push(class);
            rest = less_urgent;
        }
        classes.retain(|class| !class.is_empty());
        classes
    }

    /// Returns the group of the flows that visit a server and have the given priority.
    pub(crate) fn of_priority(&self, server: ServerId, priority: Priority) -> Group {
        let [until, _] = self.until(priority, &self.at(server));
        match priority.0.checked_sub(1) {
            None => until,
            Some(more_urgent) => {
                let [_, of_priority] = self.until(Priority(more_urgent), &until);
                of_priority
            }
        }
    }

    /// Returns the union of groups that have no flows in common.
    pub(crate) fn union(&self, mut groups: Vec<Group>) -> Group {
        groups.retain(|group| !group.is_empty());
        if groups.len() < 2 {
            return groups.pop().unwrap_or_else(|| self.group(Vec::new()));
        }
        let mut flows: Vec<FlowId> = groups.iter().flat_map(Group::iter).collect();
        flows.sort_unstable();
        self.group(flows)
    }

    /// Returns the sum of the arrival curves that the flows of a group have at their sources.
    pub(crate) fn at_sources(&self, group: &Group) -> Result<Arc<Curve>, AnalysisError> {
        let of = |id: FlowId| &self.network.flow(id).arrival;
        let add = |sum: Curve, id: FlowId| operations::sum(&sum, of(id));
        let of_set = match self.arrivals.get(&group.set.number) {
            Some(known) => known,
            None => {
                let sum = group.set.flows.iter().copied().try_fold(Curve::zero(), add)?;
                let sum = Arc::new(sum);
                self.arrivals.put(group.set.number, Arc::clone(&sum));
                sum
            }
        };
        let Some(flow) = group.toggled else { return Ok(of_set) };
        if group.contains(flow) {
            return Ok(Arc::new(operations::sum(&of_set, of(flow))?));
        }
        Ok(Arc::new(match simple::difference(&of_set, of(flow)) {
            Some(rest) => rest,
            None => group.iter().try_fold(Curve::zero(), add)?,
        }))
    }

    /// Returns the size of the largest packet among the flows of a group.
    pub(crate) fn largest_packet(&self, group: &Group) -> Rational {
        let of = |id: FlowId| &self.network.flow(id).maximum_packet;
        let most = |ids: &mut dyn Iterator<Item = FlowId>| {
            ids.map(of).max().cloned().unwrap_or(Rational::ZERO)
        };
        let of_set = || {
            let all = || most(&mut group.set.flows.iter().copied());
            self.packets.get_or_put(group.set.number, all)
        };
        match group.toggled {
            None => of_set(),
            Some(flow) if group.contains(flow) => of_set().max(of(flow).clone()),
            Some(flow) if *of(flow) < of_set() => of_set(),
            Some(_) => most(&mut group.iter()),
        }
    }
}

/// Returns the flows that are in the first ascending list and not in the second.
fn difference(a: &[FlowId], b: &[FlowId]) -> Vec<FlowId> {
    let mut b = b.iter().peekable();
    let only = a.iter().filter(|flow| {
        while b.next_if(|other| other < flow).is_some() {}
        b.peek() != Some(flow)
    });
    only.copied().collect()
}
