//! Read-only collections of objects that are looked up by identifier or by name.

use std::collections::HashMap;

/// Objects of one kind, ordered by identifier.
///
/// The collection is a sorted slice instead of a map: it is built once and searched for every
/// update, and a binary search over a few dozen identifiers touches one or two cache lines.
#[derive(Debug, Clone)]
pub struct Catalog<I, T> {
    objects: Box<[(I, T)]>,
    names: HashMap<String, usize>,
}

impl<I: Copy + Ord, T> Catalog<I, T> {
    /// Returns the object with this identifier.
    pub fn get(&self, id: I) -> Option<&T> {
        let position = self.objects.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        self.objects.get(position).map(|(_, object)| object)
    }

    /// Returns the object with this fully qualified name or, if there is none, with this alias. If
    /// several objects have the name, the one with the smallest identifier is returned.
    pub fn by_name(&self, name: &str) -> Option<&T> {
        self.objects.get(*self.names.get(name)?).map(|(_, object)| object)
    }

    /// Returns all objects, ordered by identifier.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &T> {
        self.objects.iter().map(|(_, object)| object)
    }

    /// Returns the number of objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Returns whether the catalog contains no objects.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Creates a catalog of `objects`.
    ///
    /// # Errors
    /// Returns an identifier that two of the objects share.
    pub fn new(mut objects: Vec<(I, T)>, names: Names<T>) -> Result<Self, I> {
        objects.sort_by_key(|(id, _)| *id);
        if let Some(twice) = objects.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(twice[0].0);
        }
        let mut index = HashMap::new();
        for name_of in names {
            for (position, (_, object)) in objects.iter().enumerate() {
                let name = name_of(object);
                if !name.is_empty() {
                    index.entry(name.to_owned()).or_insert(position);
                }
            }
        }
        Ok(Self { objects: objects.into_boxed_slice(), names: index })
    }
}

/// Two functions, which return the name and the alias of an object.
pub type Names<T> = [fn(&T) -> &str; 2];

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog(
        objects: &[(u32, (&'static str, &'static str))],
    ) -> Result<Catalog<u32, (&'static str, &'static str)>, u32> {
        Catalog::new(objects.to_vec(), [|object| object.0, |object| object.1])
    }

    #[test]
    fn names_come_before_aliases() {
        let catalog = catalog(&[(7, ("b.x", "x")), (3, ("x", "")), (5, ("c.x", "x"))]).unwrap();
        assert_eq!(catalog.by_name("x"), Some(&("x", "")));
        assert_eq!(catalog.by_name("c.x"), Some(&("c.x", "x")));
        assert_eq!(catalog.by_name(""), None);
        assert_eq!(catalog.get(5), Some(&("c.x", "x")));
        assert_eq!(catalog.get(4), None);
        assert_eq!(catalog.iter().map(|object| object.0).collect::<Vec<_>>(), ["x", "c.x", "b.x"]);
        assert_eq!(catalog.len(), 3);
    }

    #[test]
    fn an_identifier_names_one_object() {
        assert_eq!(catalog(&[(2, ("a", "")), (1, ("b", "")), (2, ("c", ""))]).unwrap_err(), 2);
    }
}
