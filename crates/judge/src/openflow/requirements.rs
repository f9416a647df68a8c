//! The requirements of OpenFlow, in modules by subject.

mod flows;
mod groups;
mod messages;
mod refusals;
mod roles;

use super::Trial;

/// Returns the requirements of both versions.
pub(super) fn all() -> impl Iterator<Item = &'static Trial> {
    [messages::ALL, flows::ALL, refusals::ALL, groups::ALL, roles::ALL].into_iter().flatten()
}
