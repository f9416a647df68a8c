//! Measured device models: what a device's basic functions cost, and what that says about programs made of them.
//!
//! A device is measured with its baseline function alone and with each further function added to it (a
//! [`Campaign`]). Differences to the baseline are what the functions cost; a device that does several of them is
//! predicted by putting the costs together, and verified against what it was measured to take. The method is that of
//! Helm et al., "Application of Network Calculus Models on Programmable Device Behavior" (ITC 33, 2021); equation
//! numbers in this crate are the paper's.

pub mod campaign;

pub use campaign::Campaign;
