//! Describes what a figure measures by named dimensions.
//!
//! Reports describe it in words, for people. A program that selects figures, such as those of 16
//! switches, needs the values by name: `switches` is 16. Units are parts of names, as in
//! `rate_per_s`.

/// The named dimensions of a figure, in the order in which reports state them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dimensions(Vec<(String, Coordinate)>);

/// The value of a dimension.
#[derive(Clone, Debug, PartialEq)]
pub enum Coordinate {
    /// A number. The end of the dimension's name states its unit, as in `rate_per_s`.
    Number(f64),
    /// A name, such as that of a protocol or a flow.
    Name(String),
}

impl From<f64> for Coordinate {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<u32> for Coordinate {
    fn from(value: u32) -> Self {
        Self::Number(f64::from(value))
    }
}

impl From<String> for Coordinate {
    fn from(value: String) -> Self {
        Self::Name(value)
    }
}

impl From<&str> for Coordinate {
    fn from(value: &str) -> Self {
        Self::Name(value.to_owned())
    }
}

impl Dimensions {
    /// Returns the dimensions with one more at the end.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Coordinate>) -> Self {
        self.0.push((name.into(), value.into()));
        self
    }

    /// Returns the dimensions with one more at the end, unless its value is `None`.
    #[must_use]
    pub fn with_some(self, name: &str, value: Option<impl Into<Coordinate>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Returns the dimensions with one more at the end, whose value is a JSON number or text. It is
    /// left out if the value is null or missing.
    #[must_use]
    pub(super) fn with_json(self, name: &str, value: &serde_json::Value) -> Self {
        match (value.as_f64(), value.as_str()) {
            (Some(number), _) => self.with(name, number),
            (None, Some(text)) => self.with(name, crate::format::printable(text)),
            (None, None) => self,
        }
    }

    /// Returns the value of a dimension, or `None` if the figure does not have it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Coordinate> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Returns the names and values in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Coordinate)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}
