//! Known claims, templates and classes. [`ClaimView`] contains those of one namespace.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use super::classes::DeviceClasses;
use super::kind::DeviceKind;
use super::selectors::Traits;
use super::spec::ClaimSpec;
use super::unknown_cause::UnknownCause;

/// Known claims, templates and classes. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ClaimFacts {
    /// Device classes, or why they are unknown.
    pub classes: Result<Arc<DeviceClasses>, UnknownCause>,
    /// `ResourceClaimTemplates`.
    pub templates: Arc<ClaimSpecs>,
    /// `ResourceClaims` that Kubernetes did not create for a pod.
    pub claims: Arc<ClaimSpecs>,
}

/// Claims or templates, by namespace and name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimSpecs {
    by_namespace: HashMap<String, NamespaceSpecs>,
    /// Why the objects of other namespaces are unknown.
    others: UnknownCause,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct NamespaceSpecs {
    by_name: HashMap<String, Arc<ClaimSpec>>,
    /// Why other objects are unknown.
    others: UnknownCause,
}

/// Known claims, templates and classes that a pod of one namespace can refer to.
#[derive(Clone, Copy, Debug)]
pub struct ClaimView<'a> {
    namespace: &'a str,
    facts: &'a ClaimFacts,
}

/// Facts without any object.
static NONE: LazyLock<ClaimFacts> = LazyLock::new(ClaimFacts::default);
/// The classes that are known without their objects.
static CLASSES_OF_DRIVERS: LazyLock<DeviceClasses> = LazyLock::new(DeviceClasses::default);

/// Maximum number of claims or templates per namespace, because tenants can create any number of them. A
/// `ComputeDomain` adds one template for each job.
pub const MAX_SPECS: usize = 1000;
/// Maximum size in bytes of all claims or all templates of a namespace in memory: 1 KiB each. Claims in vendors' examples take a
/// quarter of that.
pub const MAX_SPECS_SIZE: usize = 1024 * MAX_SPECS;
/// Maximum number of claims or templates in all namespaces that the webhook keeps: those of ten namespaces at their limit.
pub const MAX_ALL_SPECS: usize = 10 * MAX_SPECS;
/// Maximum size in bytes of all claims or all templates that the webhook keeps.
pub const MAX_ALL_SPECS_SIZE: usize = 10 * MAX_SPECS_SIZE;

impl ClaimFacts {
    /// Creates facts of a cluster whose objects are not listed yet.
    #[must_use]
    pub fn not_listed() -> Self {
        let specs = Arc::new(ClaimSpecs::unknown(UnknownCause::NotListed));
        Self { classes: Err(UnknownCause::NotListed), templates: Arc::clone(&specs), claims: specs }
    }

    /// Returns true if no list of a cluster is in progress.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        let Self { classes, templates, claims } = self;
        let causes = [classes.as_ref().err().copied(), Some(templates.others), Some(claims.others)];
        !causes.contains(&Some(UnknownCause::NotListed))
    }

    /// Returns the facts for pods in `namespace`.
    #[must_use]
    pub fn view<'a>(&'a self, namespace: &'a str) -> ClaimView<'a> {
        ClaimView { namespace, facts: self }
    }
}

impl Default for ClaimFacts {
    fn default() -> Self {
        let cause = UnknownCause::default();
        Self { classes: Err(cause), templates: Arc::default(), claims: Arc::default() }
    }
}

impl ClaimSpecs {
    /// Creates an empty collection whose objects are unknown for `cause`.
    #[must_use]
    pub fn unknown(cause: UnknownCause) -> Self {
        Self { by_namespace: HashMap::new(), others: cause }
    }

    /// Creates an empty collection of the objects of all namespaces.
    #[must_use]
    pub fn of_all_namespaces() -> Self {
        Self::unknown(UnknownCause::Missing)
    }

    /// Sets why objects of `namespace` are unknown that are not in the collection.
    pub fn set_others(&mut self, namespace: &str, cause: UnknownCause) {
        self.specs_mut(namespace).others = cause;
    }

    /// Adds or replaces an object, unless its namespace already has [`MAX_SPECS`].
    pub fn insert(&mut self, namespace: &str, name: &str, spec: Arc<ClaimSpec>) {
        let specs = self.specs_mut(namespace);
        if specs.by_name.len() < MAX_SPECS || specs.by_name.contains_key(name) {
            specs.by_name.insert(name.to_owned(), spec);
        } else {
            specs.others = UnknownCause::LeftOut;
        }
    }

    fn specs_mut(&mut self, namespace: &str) -> &mut NamespaceSpecs {
        let others = self.others;
        let specs = || NamespaceSpecs { by_name: HashMap::new(), others };
        self.by_namespace.entry(namespace.to_owned()).or_insert_with(specs)
    }

    fn find(&self, namespace: &str, name: &str) -> Result<&ClaimSpec, UnknownCause> {
        let specs = self.by_namespace.get(namespace).ok_or(self.others)?;
        specs.by_name.get(name).map(|spec| &**spec).ok_or(specs.others)
    }
}

impl<'a> ClaimView<'a> {
    /// Returns the known classes, at least those of drivers.
    #[must_use]
    pub fn classes(self) -> &'a DeviceClasses {
        self.facts.classes.as_deref().unwrap_or(&CLASSES_OF_DRIVERS)
    }

    /// Returns why the classes of the cluster are unknown, if so.
    pub(super) fn unknown_classes(self) -> Option<UnknownCause> {
        self.facts.classes.as_ref().err().copied()
    }

    /// Returns the kind of the devices that extended resource `resource` stands for, if it stands for a class.
    #[must_use]
    pub fn kind_of_resource(self, resource: &str) -> Option<DeviceKind> {
        self.classes().kind_of_resource(resource)
    }

    /// Returns the kind of the devices of extended resource or class `name`.
    #[must_use]
    pub fn kind_of_name(self, name: &str) -> Option<DeviceKind> {
        self.kind_of_resource(name).or_else(|| self.classes().kind(name, Traits::default()))
    }

    /// Returns true if the namespace certainly has no `ResourceClaimTemplate` of this name.
    #[must_use]
    pub fn is_missing_template(self, name: &str) -> bool {
        self.template(name) == Err(UnknownCause::Missing)
    }

    pub(super) fn template(self, name: &str) -> Result<&'a ClaimSpec, UnknownCause> {
        self.facts.templates.find(self.namespace, name)
    }

    pub(super) fn claim(self, name: &str) -> Result<&'a ClaimSpec, UnknownCause> {
        self.facts.claims.find(self.namespace, name)
    }
}

impl Default for ClaimView<'_> {
    fn default() -> Self {
        NONE.view("")
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn view_of(templates: ClaimSpecs, read: impl FnOnce(ClaimView<'_>) -> bool) -> bool {
        let facts = ClaimFacts { templates: Arc::new(templates), ..ClaimFacts::default() };
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
            templates.set_others(namespace, UnknownCause::Missing);
        }
        let spec = Arc::new(ClaimSpec::channel());
        (0..count).for_each(|index| templates.insert("team-a", &index.to_string(), Arc::clone(&spec)));
        assert_eq!(view_of(templates.clone(), |view| view.is_missing_template("other")), expected);
        assert!(!view_of(templates, |view| count > 0 && view.is_missing_template("0")));
    }

    #[rstest]
    #[case::nothing(ClaimFacts::default(), true)]
    #[case::nothing_yet(ClaimFacts::not_listed(), false)]
    #[case::two_of_three(ClaimFacts { classes: Ok(Arc::default()), templates: Arc::default(), ..ClaimFacts::not_listed() }, false)]
    #[case::forbidden(ClaimFacts { classes: Err(UnknownCause::NotReadable), ..ClaimFacts::default() }, true)]
    fn lists_are_complete_or_rejected(#[case] facts: ClaimFacts, #[case] expected: bool) {
        assert_eq!(facts.is_listed(), expected);
    }

    #[test]
    fn a_namespace_keeps_a_bounded_number_of_objects() {
        let mut templates = ClaimSpecs::default();
        let spec = Arc::new(ClaimSpec::channel());
        (0..=MAX_SPECS).for_each(|index| templates.insert("team-a", &index.to_string(), Arc::clone(&spec)));
        templates.insert("team-b", "x", spec);
        assert!(templates.find("team-a", &(MAX_SPECS - 1).to_string()).is_ok());
        assert_eq!(templates.find("team-a", &MAX_SPECS.to_string()), Err(UnknownCause::LeftOut));
        assert!(templates.find("team-b", "x").is_ok());
    }
}
