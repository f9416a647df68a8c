//! The settings of a search for faults with random requests.

/// The settings of a search for faults.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The seed of all random choices. The same seed generates the same requests for the same
    /// device.
    pub seed: u64,
    /// The number of requests that are sent.
    pub requests: u64,
    /// Whether the device must check the program's constraints.
    pub constraints: ConstraintDuty,
}

/// Whether a device must check the constraints that its program states on entries and action
/// arguments (`@entry_restriction`, `@action_restriction`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintDuty {
    /// The device must refuse updates that violate a constraint. Such updates are sent to test it.
    Checked,
    /// The device may accept updates that violate a constraint. No such updates are sent on
    /// purpose.
    Ignored,
}
