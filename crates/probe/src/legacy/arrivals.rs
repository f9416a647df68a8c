//! Inter-arrival times of OFCProbe, which are defined by a mean in milliseconds and a distribution.

/// The distribution of the times between two events at which a switch of OFCProbe sends packets.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Interval {
    /// The mean in milliseconds. It is positive and finite.
    pub(super) mean_ms: f64,
    /// The distribution in the form that the setting `traffic.arrivals` takes.
    pub(super) arrivals: String,
    /// A note on the difference from the original tools' distribution, if there is one.
    pub(super) note: Option<&'static str>,
}

impl Interval {
    /// Creates a constant interval.
    pub(super) fn constant(milliseconds: u64) -> Self {
        Self { mean_ms: milliseconds as f64, arrivals: "constant".to_owned(), note: None }
    }

    /// Creates a distribution from the name and the parameters that the original tools use. The
    /// tools treat any unknown name as a normal distribution; here it is an error.
    pub(super) fn distributed(name: &str, first: f64, second: f64) -> Result<Self, String> {
        let positive = |value: f64, what: &str| {
            if value > 0.0 && value.is_finite() {
                Ok(value)
            } else {
                Err(format!("{what} of a {name} distribution is {value}, which is not above 0"))
            }
        };
        let (mean_ms, arrivals, note) = match name {
            "Normal" => {
                let mean = positive(first, "the mean (parameter 1)")?;
                let deviation = positive(second, "the standard deviation (parameter 2)")?;
                let note = (deviation > mean / 3.0).then_some(
                    "negative intervals are drawn again, where those tools drop the sign",
                );
                (mean, format!("normal:{}", deviation / mean), note)
            }
            "Exponential" => {
                (positive(first, "the mean (parameter 1)")?, "exponential".to_owned(), None)
            }
            "Gamma" => {
                let shape = positive(first, "the shape (parameter 1)")?;
                let scale = positive(second, "the scale (parameter 2)")?;
                (shape * scale, format!("gamma:{shape}"), None)
            }
            // Chi-squared with k degrees of freedom is gamma with shape k/2 and scale 2.
            "ChiSquared" => {
                let freedom = positive(first, "the degrees of freedom (parameter 1)")?;
                (freedom, format!("gamma:{}", freedom / 2.0), None)
            }
            "Poisson" => {
                let mean = positive(first, "the mean (parameter 1)")?;
                let note = "intervals that are Poisson numbers of milliseconds become a gamma \
                            distribution with the same mean and variance";
                (mean, format!("gamma:{mean}"), Some(note))
            }
            other => {
                return Err(format!(
                    "\"{other}\" is not a distribution; expected Normal, Exponential, Gamma, ChiSquared or Poisson"
                ));
            }
        };
        Ok(Self { mean_ms, arrivals, note })
    }

    /// Returns the rate in packets per second if `packets` packets are sent at each event.
    pub(super) fn rate(&self, packets: f64) -> f64 {
        packets * 1000.0 / self.mean_ms
    }
}
