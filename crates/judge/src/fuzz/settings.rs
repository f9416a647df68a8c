//! The settings of a search for faults.

/// The settings of a search.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The seed of all random choices. The same seed makes the same requests on the same device.
    pub seed: u64,
    /// The number of requests.
    pub requests: u64,
    /// The duty of the device to check the program's constraints.
    pub constraints: ConstraintDuty,
}

/// Whether a device has to check the constraints that its program states on entries and arguments
/// (`@entry_restriction`, `@action_restriction`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintDuty {
    /// The device has to refuse what breaks one, and such updates are made.
    Checked,
    /// The device may accept what breaks one, and no such updates are made on purpose.
    Ignored,
}
