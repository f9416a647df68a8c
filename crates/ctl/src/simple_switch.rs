//! The commands of simple_switch_CLI, as BMv2's `tools/runtime_CLI.py` and
//! `targets/simple_switch/sswitch_CLI.py` define them.
//!
//! Four things differ between BMv2's command line and P4Runtime, and are translated here:
//!
//! * The entry with the smallest priority wins in BMv2, and the one with the largest in P4Runtime.
//! * Entries have numbers in BMv2 and only keys in P4Runtime ([`crate::handles`]).
//! * Members and groups are numbered from 0 in BMv2 and from 1 in P4Runtime, so number n of BMv2 is
//!   n + 1 in P4Runtime.
//! * Multicast groups consist of nodes in BMv2 and of replicas in P4Runtime ([`crate::nodes`]).

pub(crate) mod arrays;
pub(crate) mod profiles;
pub(crate) mod replication;
pub(crate) mod tables;
pub(crate) mod whole;
