//! Known claims, templates and classes. [`ClaimView`] contains those of one namespace.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use super::classes::DeviceClasses;
use super::kind::DeviceKind;
use super::spec::ClaimSpec;

/// Known claims, templates and classes; `None` marks unknown ones. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct ClaimFacts {
    /// Device classes.
    pub classes: Option<Arc<DeviceClasses>>,
    /// `ResourceClaimTemplates`.
    pub templates: Option<Arc<ClaimSpecs>>,
    /// `ResourceClaims` that Kubernetes did not create for a pod.
    pub claims: Option<Arc<ClaimSpecs>>,
}

/// Claims or templates, by namespace and name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimSpecs {
    by_namespace: HashMap<String, NamespaceSpecs>,
    /// True if a namespace that is not listed has no object.
    all_namespaces: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct NamespaceSpecs {
    by_name: HashMap<String, Arc<ClaimSpec>>,
    /// True if `by_name` contains all objects of the namespace, unless `has_more` is set.
    is_complete: bool,
    /// True if there are more objects than are kept.
    has_more: bool,
}

/// Known claims, templates and classes that a pod of one namespace can refer to.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClaimView<'a> {
    namespace: &'a str,
    classes: Option<&'a DeviceClasses>,
    templates: Option<&'a ClaimSpecs>,
    claims: Option<&'a ClaimSpecs>,
}

/// The classes that are known without their objects.
static CLASSES_OF_DRIVERS: LazyLock<DeviceClasses> = LazyLock::new(DeviceClasses::default);

/// Maximum number of claims or templates per namespace, because tenants can create any number of them. A
/// `ComputeDomain` adds one template for each job.
pub const MAX_SPECS: usize = 1000;
/// Maximum size in bytes of all claims or all templates of a namespace in memory: 1 KiB each. Claims in vendors' examples take a
/// quarter of that.
pub const MAX_SPECS_SIZE: usize = 1024 * MAX_SPECS;

impl ClaimFacts {
    /// Returns the facts for pods in `namespace`.
    #[must_use]
    pub fn view<'a>(&'a self, namespace: &'a str) -> ClaimView<'a> {
        ClaimView {
            namespace,
            classes: self.classes.as_deref(),
            templates: self.templates.as_deref(),
            claims: self.claims.as_deref(),
        }
    }
}

impl ClaimSpecs {
    /// Creates an empty collection of the objects of all namespaces.
    #[must_use]
    pub fn of_all_namespaces() -> Self {
        Self { all_namespaces: true, ..Self::default() }
    }

    /// Marks the objects of `namespace` as complete.
    pub fn mark_complete(&mut self, namespace: &str) {
        self.by_namespace.entry(namespace.to_owned()).or_default().is_complete = true;
    }

    /// Records that objects of `namespace` were left out: one that is not listed may exist.
    pub fn mark_truncated(&mut self, namespace: &str) {
        self.by_namespace.entry(namespace.to_owned()).or_default().has_more = true;
    }

    /// Adds or replaces an object, unless its namespace already has [`MAX_SPECS`].
    pub fn insert(&mut self, namespace: &str, name: &str, spec: Arc<ClaimSpec>) {
        let specs = self.by_namespace.entry(namespace.to_owned()).or_default();
        if specs.by_name.len() < MAX_SPECS || specs.by_name.contains_key(name) {
            specs.by_name.insert(name.to_owned(), spec);
        } else {
            specs.has_more = true;
        }
    }

    fn find(&self, namespace: &str, name: &str) -> Option<&ClaimSpec> {
        self.by_namespace.get(namespace)?.by_name.get(name).map(|spec| &**spec)
    }

    /// Returns true if the object certainly does not exist.
    fn is_missing(&self, namespace: &str, name: &str) -> bool {
        match self.by_namespace.get(namespace) {
            None => self.all_namespaces,
            Some(specs) => {
                let is_complete = (self.all_namespaces || specs.is_complete) && !specs.has_more;
                is_complete && !specs.by_name.contains_key(name)
            }
        }
    }
}

impl<'a> ClaimView<'a> {
    /// Returns the known classes, at least those of drivers.
    #[must_use]
    pub fn classes(self) -> &'a DeviceClasses {
        self.classes.unwrap_or(&CLASSES_OF_DRIVERS)
    }

    /// Returns the kind of the devices that extended resource `resource` stands for, if it stands for a class.
    #[must_use]
    pub fn kind_of_resource(self, resource: &str) -> Option<DeviceKind> {
        self.classes().kind_of_resource(resource)
    }

    /// Returns true if the namespace certainly has no `ResourceClaimTemplate` of this name.
    #[must_use]
    pub fn is_missing_template(self, name: &str) -> bool {
        self.templates.is_some_and(|templates| templates.is_missing(self.namespace, name))
    }

    pub(super) fn template(self, name: &str) -> Option<&'a ClaimSpec> {
        self.templates?.find(self.namespace, name)
    }

    pub(super) fn claim(self, name: &str) -> Option<&'a ClaimSpec> {
        self.claims?.find(self.namespace, name)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn view_of(templates: ClaimSpecs, read: impl FnOnce(ClaimView<'_>) -> bool) -> bool {
        let facts = ClaimFacts { templates: Some(Arc::new(templates)), ..ClaimFacts::default() };
        read(facts.view("team-a"))
    }

    #[rstest]
    #[case::of_the_input(ClaimSpecs::default(), None, 1, false)]
    #[case::of_the_cluster(ClaimSpecs::of_all_namespaces(), None, 1, true)]
    #[case::of_the_cluster_without_any(ClaimSpecs::of_all_namespaces(), None, 0, true)]
    #[case::of_the_namespace(ClaimSpecs::default(), Some("team-a"), 1, true)]
    #[case::of_another_namespace(ClaimSpecs::default(), Some("team-b"), 1, false)]
    #[case::as_many_as_are_kept(ClaimSpecs::of_all_namespaces(), None, MAX_SPECS, true)]
    #[case::more_than_are_kept(ClaimSpecs::of_all_namespaces(), None, MAX_SPECS + 1, false)]
    fn absence_is_certain_only_if_all_objects_are_known(
        #[case] mut templates: ClaimSpecs,
        #[case] complete: Option<&str>,
        #[case] count: usize,
        #[case] expected: bool,
    ) {
        if let Some(namespace) = complete {
            templates.mark_complete(namespace);
        }
        let spec = Arc::new(ClaimSpec::channel());
        (0..count).for_each(|index| templates.insert("team-a", &index.to_string(), Arc::clone(&spec)));
        assert_eq!(view_of(templates.clone(), |view| view.is_missing_template("other")), expected);
        assert!(!view_of(templates, |view| count > 0 && view.is_missing_template("0")));
    }

    #[test]
    fn a_namespace_keeps_a_bounded_number_of_objects() {
        let mut templates = ClaimSpecs::default();
        let spec = Arc::new(ClaimSpec::channel());
        (0..=MAX_SPECS).for_each(|index| templates.insert("team-a", &index.to_string(), Arc::clone(&spec)));
        templates.insert("team-b", "x", spec);
        assert!(templates.find("team-a", &(MAX_SPECS - 1).to_string()).is_some());
        assert!(templates.find("team-a", &MAX_SPECS.to_string()).is_none());
        assert!(templates.find("team-b", "x").is_some());
    }
}
