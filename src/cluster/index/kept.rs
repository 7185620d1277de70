//! Objects that an index keeps, within the limits of each namespace and of all.

use std::collections::BTreeSet;

use super::Objects;

/// Limits of the objects; further ones are left out.
pub(crate) struct Limit<V> {
    /// Limit of each namespace.
    pub(crate) of_namespace: Amount,
    /// Limit of all namespaces together.
    pub(crate) of_all: Amount,
    /// Returns the size of an object in bytes, without its key.
    pub(crate) size_of: fn(&V) -> usize,
}

/// Number of objects, and the sum of their sizes with their keys in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) objects: usize,
    pub(crate) size: usize,
}

#[derive(PartialEq)]
pub(super) struct Kept<V> {
    pub(super) objects: Objects<V>,
    /// Namespaces from which objects were left out since the list began: which ones is not known.
    pub(super) truncated: BTreeSet<String>,
    /// Amount of all objects. Zero without a limit.
    amount: Amount,
}

impl Amount {
    fn plus(self, other: Self) -> Self {
        Self { objects: self.objects.saturating_add(other.objects), size: self.size.saturating_add(other.size) }
    }

    fn minus(self, other: Self) -> Self {
        Self { objects: self.objects.saturating_sub(other.objects), size: self.size.saturating_sub(other.size) }
    }

    fn fits_in(self, limit: Self) -> bool {
        self.objects <= limit.objects && self.size <= limit.size
    }
}

impl<V> Limit<V> {
    fn amount(&self, key: &str, value: &V) -> Amount {
        Amount { objects: 1, size: key.len().saturating_add((self.size_of)(value)) }
    }
}

impl<V> Default for Kept<V> {
    fn default() -> Self {
        Self { objects: Objects::new(), truncated: BTreeSet::new(), amount: Amount::default() }
    }
}

impl<V> Kept<V> {
    /// Inserts or replaces an object unless that would exceed `limit`. Returns true if the content has changed.
    pub(super) fn insert(&mut self, key: String, value: V, limit: Option<&Limit<V>>) -> bool {
        let Some(limit) = limit else {
            self.objects.insert(key, value);
            return true;
        };
        // Of an object that has grown, the former value is no longer true.
        let was_known = self.remove(&key, Some(limit));
        let namespace = key.split_once('/').map_or("", |(namespace, _)| namespace);
        let amount = limit.amount(&key, &value);
        let in_namespace = self.amount_of(namespace, limit).plus(amount);
        let in_all = self.amount.plus(amount);
        if !in_namespace.fits_in(limit.of_namespace) || !in_all.fits_in(limit.of_all) {
            return self.truncated.insert(namespace.to_owned()) || was_known;
        }
        self.amount = in_all;
        self.objects.insert(key, value);
        true
    }

    /// Removes an object. Returns true if it was known.
    pub(super) fn remove(&mut self, key: &str, limit: Option<&Limit<V>>) -> bool {
        let Some(value) = self.objects.remove(key) else { return false };
        if let Some(limit) = limit {
            self.amount = self.amount.minus(limit.amount(key, &value));
        }
        true
    }

    fn amount_of(&self, namespace: &str, limit: &Limit<V>) -> Amount {
        let is_in_namespace = |other: &str| other.split_once('/').is_none_or(|(other, _)| other == namespace);
        let others = self.objects.range(format!("{namespace}/")..).take_while(|(key, _)| is_in_namespace(key));
        others.fold(Amount::default(), |sum, (key, value)| sum.plus(limit.amount(key, value)))
    }
}
