//! Searches for the largest network whose topology a controller discovers (section 5.2.2). The
//! number of switches is doubled until a network is not discovered. The interval between the
//! largest discovered and the smallest undiscovered network is then halved repeatedly.

use super::bench::Measured;

/// The result of the search.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Largest {
    /// The largest number of switches whose topology was discovered, or 0 if none was.
    pub(super) known: u32,
    /// The smallest number of switches whose topology was not discovered, and the remark of the
    /// trial with this number, if it has one. `None` if every topology was discovered.
    pub(super) unknown: Option<(u32, Option<String>)>,
}

/// Searches for the largest number of switches, from `least` to `most`, whose topology is
/// discovered. `trial` runs a trial with a given number of switches. If it returns `None`, the run
/// must end, and this function returns `None` as well.
///
/// # Errors
///
/// Returns the error of a trial.
pub(super) fn largest<E>(
    least: u32,
    most: u32,
    mut trial: impl FnMut(u32) -> Result<Option<Measured>, E>,
) -> Result<Option<Largest>, E> {
    let mut found = Largest::default();
    let mut next = least.min(most);
    loop {
        let Some(measured) = trial(next)? else { return Ok(None) };
        match measured.value {
            Some(_) => found.known = next,
            None => found.unknown = Some((next, measured.remark)),
        }
        let known = found.known;
        next = match found.unknown {
            None if known >= most => break,
            None => known.saturating_mul(2).min(most),
            Some(_) if known == 0 => break,
            Some((unknown, _)) if unknown - known <= 1 => break,
            Some((unknown, _)) => known + (unknown - known) / 2,
        };
    }
    Ok(Some(found))
}
