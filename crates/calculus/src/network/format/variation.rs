//! Varies one quantity of a network over a range, such as `video.rate=0..60Mbps:20`.
//!
//! The file is read again for each value, with the value in place of the number. All checks of the
//! reader thus apply to every value, and every error names its position.

use std::borrow::Cow;
use std::str::FromStr;

use super::quantity::split;
use super::tree::{Node, Tree};
use super::{Format, FormatError, own};
use crate::excerpt::excerpt;
use crate::network::Network;
use crate::{ParseRationalError, Rational};

/// The largest number of steps of a variation. Each value is a network to be bounded.
const MAX_STEPS: u32 = 10_000;

/// A quantity of a network file, and the range of values that it takes.
///
/// Its text is `PART.QUANTITY=FROM..TO:STEPS`, such as `video.rate=0..60Mbps:20`. The part is the
/// name of a flow, server or port. It is `flow.NAME`, `server.NAME` or `port.NAME` if several
/// elements have that name, and `flow`, `server` or `port` for all of them. The quantity is the
/// name of a number in the file, such as `rate`, `burst` or `latency`. If the part has several
/// numbers of that name, `rate[1]` is the second of them, in the order of the file. Both ends of
/// the range are included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variation {
    part: String,
    quantity: String,
    /// The index of the varied number, from 0, among the numbers of the element that have the name
    /// `quantity`. It is `None` if the element must have only one.
    which: Option<usize>,
    from: Rational,
    to: Rational,
    unit: String,
    steps: u32,
}

/// The reason why a text is not a [`Variation`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VariationError {
    /// The text does not have the form `PART.QUANTITY=FROM..TO:STEPS`.
    #[error("'{}' is not of the form PART.QUANTITY=FROM..TO:STEPS, such as video.rate=0..60Mbps:20", excerpt(.0))]
    Form(String),
    /// An end of the range is not a number.
    #[error("'{}' is not an end of a range: {reason}", excerpt(text))]
    End {
        /// The text of the end of the range.
        text: String,
        /// The reason why the text is not a number.
        reason: ParseRationalError,
    },
    /// An end of the range is negative.
    #[error("'{}' is negative; quantities of networks are not", excerpt(.0))]
    Negative(String),
    /// The two ends of the range have different units.
    #[error("the ends of a range have one unit, not '{}' and '{}'", excerpt(from), excerpt(to))]
    Units {
        /// The unit of the first end of the range.
        from: String,
        /// The unit of the last end of the range.
        to: String,
    },
    /// The number of steps is zero or too large.
    #[error("'{}' is not a number of steps; give 1 to {MAX_STEPS}", excerpt(.0))]
    Steps(String),
}

impl FromStr for Variation {
    type Err = VariationError;

    fn from_str(text: &str) -> Result<Self, VariationError> {
        let form = || VariationError::Form(text.to_owned());
        let (place, range) = text.split_once('=').ok_or_else(form)?;
        let (part, quantity) = place.trim().rsplit_once('.').ok_or_else(form)?;
        let (quantity, which) = match quantity.strip_suffix(']').and_then(|q| q.split_once('[')) {
            None => (quantity, None),
            Some((quantity, which)) => (quantity, Some(which.parse().map_err(|_| form())?)),
        };
        let (ends, steps) = range.rsplit_once(':').ok_or_else(form)?;
        let (from, to) = ends.split_once("..").ok_or_else(form)?;
        if part.is_empty() || quantity.is_empty() {
            return Err(form());
        }
        let (from, from_unit) = end(from)?;
        let (to, unit) = end(to)?;
        if !from_unit.is_empty() && from_unit != unit {
            return Err(VariationError::Units { from: from_unit.to_owned(), to: unit.to_owned() });
        }
        let known = |steps: &u32| (1..=MAX_STEPS).contains(steps);
        let steps = steps.trim().parse().ok().filter(known);
        Ok(Self {
            part: part.to_owned(),
            quantity: quantity.to_owned(),
            which,
            from,
            to,
            unit: unit.to_owned(),
            steps: steps.ok_or_else(|| {
                VariationError::Steps(range.rsplit(':').next().unwrap_or_default().to_owned())
            })?,
        })
    }
}

/// Splits the text of an end of the range into a number and its unit, which may be empty.
fn end(text: &str) -> Result<(Rational, &str), VariationError> {
    let (number, unit) = split(text.trim());
    let number: Rational = number
        .parse()
        .map_err(|reason| VariationError::End { text: text.trim().to_owned(), reason })?;
    if number.is_negative() {
        return Err(VariationError::Negative(text.trim().to_owned()));
    }
    Ok((number, unit))
}

impl Variation {
    /// Returns the varied part and quantity as they were written, such as `video.rate`.
    #[must_use]
    pub fn place(&self) -> String {
        let which = self.which.map_or_else(String::new, |which| format!("[{which}]"));
        format!("{}.{}{which}", self.part, self.quantity)
    }

    /// Returns the unit of the varied values (empty if it is the file's default unit).
    #[must_use]
    pub fn unit(&self) -> &str {
        &self.unit
    }

    /// Returns the values of the quantity: evenly spaced from the first end of the range to the
    /// last, and one more than there are steps.
    #[must_use]
    pub fn values(&self) -> Vec<Rational> {
        let step = &(&self.to - &self.from) / &Rational::from(i64::from(self.steps));
        let value = |index: u32| &self.from + &(&step * &Rational::from(i64::from(index)));
        (0..=self.steps).map(value).collect()
    }

    /// Reads the network of a file, with `value` in place of the varied quantity.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`super::read`]. Also returns an error if the file has no such part or
    /// quantity, or several between which the variation does not choose, or if its format has no
    /// named quantities.
    pub fn network(
        &self,
        text: &str,
        format: Format,
        value: &Rational,
    ) -> Result<Network, FormatError> {
        let mut root = match format {
            Format::Toml => Node::of_toml(text)?,
            Format::Json => Node::of_json(text)?,
            Format::Xml => return Err(other_format()),
        };
        if super::is_saihu(&root)? {
            return Err(other_format());
        }
        self.set(&mut root, &format!("{value}{}", self.unit))?;
        own::network(&root)
    }

    /// Replaces the varied number by `value` in all elements to which the variation applies.
    fn set(&self, root: &mut Node<'_>, value: &str) -> Result<(), FormatError> {
        let owners = self.owners(root)?;
        for (kind, index) in owners {
            let Some(owner) = root.field_mut(kind).and_then(|list| list.element_mut(index)) else {
                continue;
            };
            let found = self.numbers(owner).count();
            let which = match (found, self.which) {
                (0, _) => {
                    let known = names(owner).join(", ");
                    let text =
                        format!("has no number '{}'; it has {known}", excerpt(&self.quantity));
                    return Err(owner.fault(text));
                }
                (1, None) => 0,
                (_, None) => {
                    return Err(owner.fault(format!(
                        "has {found} numbers '{0}'; say which: {1}.{0}[0] to {1}.{0}[{2}]",
                        self.quantity,
                        self.part,
                        found - 1,
                    )));
                }
                (_, Some(which)) if which < found => which,
                (_, Some(which)) => {
                    return Err(owner.fault(format!(
                        "has {found} of the number '{}', so there is no [{which}]; they count from 0",
                        self.quantity
                    )));
                }
            };
            let mut left = which;
            replace(owner, &self.quantity, &mut left, value);
        }
        Ok(())
    }

    /// Returns the elements to which the variation applies, each as the name of its list in the
    /// file ("flow", "server" or "port") and its index there.
    fn owners(&self, root: &Node<'_>) -> Result<Vec<(&'static str, usize)>, FormatError> {
        let fields = root.any_fields()?;
        let mut named = Vec::new();
        let mut all = Vec::new();
        let mut known = Vec::new();
        for kind in ["flow", "server", "port"] {
            let short = self.part.strip_prefix(kind).and_then(|rest| rest.strip_prefix('.'));
            for (index, node) in
                fields.get(kind).map_or(Ok(&[][..]), Node::list)?.iter().enumerate()
            {
                let name = node.any_fields()?.get("name").map_or(Ok(""), Node::text)?;
                if name == self.part || short == Some(name) {
                    named.push((kind, index));
                }
                if self.part == kind {
                    all.push((kind, index));
                }
                known.push(excerpt(name).into_owned());
            }
        }
        let part = excerpt(&self.part);
        match (named.len(), all.is_empty()) {
            (1, _) => Ok(named),
            (0, false) => Ok(all),
            (0, true) => {
                let rest = known.len().saturating_sub(10);
                known.truncate(10);
                let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
                Err(root.fault(format!(
                    "has no flow, server or port '{part}'; there are {}{more}, and 'flow', 'server' and 'port' for all",
                    known.join(", ")
                )))
            }
            _ => {
                let which: Vec<String> =
                    named.iter().map(|(kind, _)| format!("{kind}.{part}")).collect();
                let which = which.join(" or ");
                Err(root.fault(format!("has several of the name '{part}'; say which: {which}")))
            }
        }
    }

    fn numbers<'n, 't>(&self, owner: &'n Node<'t>) -> impl Iterator<Item = &'n Node<'t>> {
        let mut found = Vec::new();
        collect(owner, &mut found);
        found.into_iter().filter(|node| node.name() == self.quantity)
    }
}

fn other_format() -> FormatError {
    FormatError::Field {
        line: 0,
        path: "the file".to_owned(),
        message: "is not in Planimeter's own format, whose numbers have names; only those can vary"
            .to_owned(),
    }
}

/// Returns the names of all numbers in an element, without duplicates.
fn names(owner: &Node<'_>) -> Vec<String> {
    let mut found = Vec::new();
    collect(owner, &mut found);
    let mut names: Vec<String> =
        found.iter().map(|node| excerpt(node.name()).into_owned()).collect();
    names.sort();
    names.dedup();
    names
}

/// Returns whether a node of a file is a number in a named field, with or without a unit.
fn is_number(node: &Node<'_>) -> bool {
    let number = match &node.value {
        Tree::Number(_) => true,
        Tree::Text(text) => split(text.trim()).0.parse::<Rational>().is_ok(),
        _ => false,
    };
    // Priorities are an order, not a quantity, and a name may look like a number.
    number && !matches!(node.name(), "" | "name" | "priority")
}

fn collect<'n, 't>(node: &'n Node<'t>, found: &mut Vec<&'n Node<'t>>) {
    match &node.value {
        Tree::Object(nodes) | Tree::Array(nodes) => {
            nodes.iter().for_each(|node| collect(node, found));
        }
        _ if is_number(node) => found.push(node),
        _ => {}
    }
}

/// Replaces a number named `quantity` by `value`, after it has skipped `left` numbers of that name.
/// Returns whether it has replaced one.
fn replace(node: &mut Node<'_>, quantity: &str, left: &mut usize, value: &str) -> bool {
    if let Tree::Object(nodes) | Tree::Array(nodes) = &mut node.value {
        return nodes.iter_mut().any(|node| replace(node, quantity, left, value));
    }
    if !is_number(node) || node.name() != quantity {
        return false;
    }
    if *left > 0 {
        *left -= 1;
        return false;
    }
    node.value = Tree::Text(Cow::Owned(value.to_owned()));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        [[server]]
        name = "port"
        service = { rate-latency = { rate = "100Mbps", latency = "20us" } }
        [[server]]
        name = "twin"
        service = { rate = "1Gbps" }
        [[flow]]
        name = "video.hd"
        path = ["port", "twin"]
        arrival = [
            { token-bucket = { burst = "20kB", rate = "24Mbps" } },
            { token-bucket = { burst = 1518, rate = "40Mbps" } },
        ]
        [[flow]]
        name = "twin"
        path = ["port"]
        arrival = { token-bucket = { burst = "1kB", rate = "1Mbps" } }
        priority = 3
    "#;

    fn variation(text: &str) -> Variation {
        text.parse().expect(text)
    }

    fn network(text: &str, value: i64) -> Result<Network, FormatError> {
        variation(text).network(FILE, Format::Toml, &Rational::from(value))
    }

    #[test]
    fn values_are_exact_and_both_ends_belong() {
        let variation = variation("video.rate=0..10Mbps:3");
        let values: Vec<String> = variation.values().iter().map(ToString::to_string).collect();
        assert_eq!(values, ["0", "10/3", "20/3", "10"]);
        assert_eq!((variation.unit(), variation.place().as_str()), ("Mbps", "video.rate"));
        assert_eq!(
            super::Variation::from_str("a.b.rate[1]=2us..1us:1").expect("it").values().len(),
            2
        );
    }

    #[test]
    fn the_number_that_is_meant_is_replaced_and_no_other() {
        let rate = |network: &Network, name: &str| {
            let id = network.flow_named(name).expect("the flow");
            network.flow(id).arrival.ultimate_rate().to_string()
        };
        let changed = network("flow.twin.rate=0..9Mbps:9", 5).expect("a network");
        assert_eq!(rate(&changed, "twin"), "5000000");
        assert_eq!(rate(&changed, "video.hd"), "24000000");
        // In the long run the slower of the two buckets determines the rate.
        let changed = network("video.hd.rate[1]=0..9Mbps:9", 7).expect("a network");
        assert_eq!(rate(&changed, "video.hd"), "7000000");
        let changed = network("port.latency=0..9us:9", 3).expect("a network");
        let port = changed.server_named("port").expect("the server");
        assert_eq!(
            changed.server(port).service,
            crate::Curve::rate_latency(100_000_000, Rational::ratio(3, 1_000_000))
                .expect("a curve")
        );
        let changed = network("server.rate=0..9Gbps:9", 2).expect("a network");
        let rates: Vec<String> = changed
            .servers()
            .map(|(_, server)| server.service.ultimate_rate().to_string())
            .collect();
        assert_eq!(rates, ["2000000000", "2000000000"]);
    }

    #[test]
    fn what_is_not_there_is_said_with_what_is() {
        for (text, said) in [
            (
                "audio.rate=0..1:1",
                "has no flow, server or port 'audio'; there are video.hd, twin, port, twin",
            ),
            (
                "twin.rate=0..1:1",
                "has several of the name 'twin'; say which: flow.twin or server.twin",
            ),
            (
                "video.hd.rate=0..1:1",
                "flow[0] has 2 numbers 'rate'; say which: video.hd.rate[0] to",
            ),
            ("video.hd.rate[2]=0..1:1", "has 2 of the number 'rate', so there is no [2]"),
            ("port.burst=0..1:1", "server[0] has no number 'burst'; it has latency, rate"),
            ("flow.twin.priority=0..1:1", "has no number 'priority'; it has burst, rate"),
            ("port.rate=0..1us:1", "has no unit of rate"),
        ] {
            let error = network(text, 1).expect_err(text).to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
        let saihu = r#"{"network": {}, "servers": [], "flows": []}"#;
        let error = variation("a.rate=0..1:1").network(saihu, Format::Json, &Rational::ONE);
        assert!(error.expect_err("Saihu's").to_string().contains("own format"));
    }

    #[test]
    fn what_is_no_variation_is_refused() {
        for text in
            ["", "rate=0..1:1", "a.rate=0..1", "a.rate=1:1", "a.rate[x]=0..1:1", ".rate=0..1:2"]
        {
            assert!(matches!(text.parse::<Variation>(), Err(VariationError::Form(_))), "{text}");
        }
        for (text, said) in [
            ("a.rate=0..x:2", "'x' is not an end of a range"),
            ("a.rate=-1..1:2", "negative"),
            ("a.rate=1kbps..1Mbps:2", "not 'kbps' and 'Mbps'"),
            ("a.rate=0..1:0", "'0' is not a number of steps; give 1 to 10000"),
        ] {
            let error = text.parse::<Variation>().expect_err(text).to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
