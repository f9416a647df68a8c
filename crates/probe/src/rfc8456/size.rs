//! The search for the largest network that a controller discovers, 5.2.2. The size is doubled until
//! a network is not discovered, and the interval is then halved.

use super::bench::Measured;

/// The result of the search.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Largest {
    /// The maximum number of switches whose topology was discovered; 0 if none was.
    pub(super) known: u32,
    /// The fewest switches whose topology was not discovered, and the reason.
    pub(super) unknown: Option<(u32, Option<String>)>,
}

/// Searches between `least` and `most` switches. `trial` runs a trial with a number of switches; if
/// it returns `None`, the run is to end and so does the search, with `None`.
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
