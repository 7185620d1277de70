//! Compares the requests of a job with a constraint.

use std::collections::BTreeSet;

use serde::Serialize;

use super::demand::quantity;
use super::{CapacityGroup, Constraint, ConstraintKind, Counted, Demand, RoleAccount, Scope};

/// Result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// The pods fit.
    Fits,
    /// The templates fit, but not the pods with what admission adds.
    FitsWithoutAdditions,
    /// Neither fits.
    DoesNotFit,
    /// The number of pods is not known.
    Unknown,
}

/// A resource of which a constraint has less than the pods request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shortage {
    /// Name of the resource.
    pub resource: String,
    /// Amount that the templates request.
    pub templates: String,
    /// Amount that the pods request.
    pub pods: String,
    /// Amount that is left.
    pub available: String,
}

/// Comparison of a job with a constraint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// Kind of the constraint.
    pub kind: ConstraintKind,
    /// Name of the object.
    pub name: String,
    /// Requests that its controller counts.
    pub counts: Counted,
    /// Result.
    pub verdict: Verdict,
    /// True if the controller admits the job, because what it counts fits; `None` if unknown.
    pub admits: Option<bool>,
    /// Resources that are missing for the pods.
    pub shortages: Vec<Shortage>,
    /// Requests and limits that the pods must specify, but do not.
    pub unspecified: BTreeSet<String>,
}

impl Verdict {
    /// Returns the verdict for people.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::FitsWithoutAdditions => "fits without the injected parts only",
            Self::DoesNotFit => "does not fit",
            Self::Unknown => "unknown number of pods",
        }
    }
}

impl Comparison {
    /// Compares `roles` with `constraint`.
    #[must_use]
    pub(super) fn new(constraint: &Constraint, roles: &[RoleAccount]) -> Self {
        let needs = |counted| needs(roles, counted, constraint.scope);
        let (templates, pods) = (needs(Counted::Templates), needs(Counted::Pods));
        let unspecified = pods.iter().flatten().flat_map(|need| constraint.missing(need)).collect();
        let (verdict, admits, shortages) = match templates.zip(pods) {
            None => (Verdict::Unknown, None, Vec::new()),
            Some((templates, pods)) => {
                let [templates_fit, pods_fit] = [&templates, &pods].map(|needs| fits(constraint, needs));
                let verdict = match (templates_fit, pods_fit) {
                    (_, true) => Verdict::Fits,
                    (true, false) => Verdict::FitsWithoutAdditions,
                    (false, false) => Verdict::DoesNotFit,
                };
                let admits = if constraint.counts == Counted::Templates { templates_fit } else { pods_fit };
                let shortages = if pods_fit { Vec::new() } else { shortages(constraint, &templates, &pods) };
                (verdict, Some(admits), shortages)
            }
        };
        Self {
            kind: constraint.kind,
            name: constraint.name.clone(),
            counts: constraint.counts,
            verdict,
            admits,
            shortages,
            unspecified,
        }
    }
}

/// Returns what must fit into one offer each; `None` if a number of pods is unknown. Roles without pods need nothing.
fn needs(roles: &[RoleAccount], counted: Counted, scope: Scope) -> Option<Vec<Demand>> {
    let need = |role: &RoleAccount| {
        let one = if counted == Counted::Templates { &role.template } else { &role.pod };
        let count = match scope {
            Scope::Job => role.replicas?,
            Scope::Pod => role.replicas.unwrap_or(1).min(1),
        };
        let mut need = Demand::default();
        need.add(one, count);
        Some(need)
    };
    roles.iter().map(need).collect()
}

/// Returns true if each need fits into one offer of each group. The needs of a job share the offers, in their order, as Kueue
/// assigns flavors; those of single pods do not.
fn fits(constraint: &Constraint, needs: &[Demand]) -> bool {
    let is_covered = |need: &Demand| need.iter().all(|(name, amount)| amount == 0 || constraint.covers(name));
    let is_specified = |need: &Demand| constraint.missing(need).is_empty();
    needs.iter().all(|need| is_covered(need) && is_specified(need))
        && constraint.groups.iter().all(|group| group_fits(group, needs, constraint.scope))
}

fn group_fits(group: &CapacityGroup, needs: &[Demand], scope: Scope) -> bool {
    let mut left: Vec<Demand> = group.offers.clone();
    needs.iter().all(|need| {
        let relevant: Vec<(&str, u64)> =
            need.iter().filter(|(name, amount)| *amount > 0 && group.resources.contains(*name)).collect();
        let is_enough = |offer: &&mut Demand| relevant.iter().all(|(name, amount)| offer.amount(name) >= *amount);
        let Some(offer) = left.iter_mut().find(is_enough) else { return relevant.is_empty() };
        if scope == Scope::Job {
            for (name, amount) in relevant {
                offer.set(name, offer.amount(name).saturating_sub(amount));
            }
        }
        true
    })
}

/// Returns the resources of which all needs together, or one of single pods, exceed the offer that lacks the fewest.
fn shortages(constraint: &Constraint, templates: &[Demand], pods: &[Demand]) -> Vec<Shortage> {
    let total = |needs: &[Demand]| {
        let mut total = Demand::default();
        for need in needs {
            if constraint.scope == Scope::Job {
                total.add(need, 1);
                continue;
            }
            // The largest amount of a single pod.
            for (name, amount) in need.iter() {
                total.set(name, total.amount(name).max(amount));
            }
        }
        total
    };
    let (templates, pods) = (total(templates), total(pods));
    let shortage = |name: &str, available: u64| Shortage {
        resource: name.to_owned(),
        templates: quantity(name, templates.amount(name)),
        pods: quantity(name, pods.amount(name)),
        available: quantity(name, available),
    };
    let uncovered = pods.iter().filter(|(name, amount)| *amount > 0 && !constraint.covers(name));
    let mut found: Vec<Shortage> = uncovered.map(|(name, _)| shortage(name, 0)).collect();
    for group in &constraint.groups {
        let missing = |offer: &Demand| -> Vec<(&str, u64)> {
            let relevant = pods.iter().filter(|(name, _)| group.resources.contains(*name));
            let short = relevant.filter(|(name, amount)| offer.amount(name) < *amount);
            short.map(|(name, _)| (name, offer.amount(name))).collect()
        };
        let deficit = |(name, available): &(&str, u64)| u128::from(pods.amount(name).saturating_sub(*available));
        let offers = group.offers.iter().map(missing);
        let best = offers.min_by_key(|missing| (missing.len(), missing.iter().map(deficit).sum::<u128>()));
        let best = best.unwrap_or_else(|| missing(&Demand::default()));
        found.extend(best.into_iter().map(|(name, available)| shortage(name, available)));
    }
    found
}
