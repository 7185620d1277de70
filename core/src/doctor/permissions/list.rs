//! Lists permissions for people: one part for each resource, with all its verbs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Permission, Server};
use crate::names::join_up_to;

/// Maximum number of namespaces in a part; the others are counted.
const MAX_NAMESPACES: usize = 8;

/// The permissions on a resource that have the same verbs.
struct ResourcePermissions<'a> {
    /// Position of the first of them.
    position: usize,
    permission: &'a Permission,
    verbs: Vec<&'static str>,
    namespaces: Vec<&'a str>,
}

/// Server, group, resource and name.
type Objects<'a> = (Server, &'static str, &'static str, &'a str);

/// Lists all of `permissions`, so that the roles can be corrected at once, but names only the first namespaces of each part. Those on
/// pods come first: without them, no sidecar is terminated.
pub(super) fn list(permissions: &[Permission]) -> String {
    // One permission for each opted-in namespace and verb is possible.
    let mut by_namespace: BTreeMap<(Objects<'_>, Option<&str>), ResourcePermissions<'_>> = BTreeMap::new();
    for (position, permission) in permissions.iter().enumerate() {
        let namespace = permission.namespace.as_deref();
        let part = by_namespace.entry((objects(permission), namespace)).or_insert_with(|| ResourcePermissions {
            position,
            permission,
            verbs: Vec::new(),
            namespaces: namespace.into_iter().collect(),
        });
        part.verbs.push(permission.verb);
    }
    let mut by_verbs: BTreeMap<_, ResourcePermissions<'_>> = BTreeMap::new();
    for part in by_namespace.into_values() {
        let key = (objects(part.permission), part.verbs.clone(), part.namespaces.is_empty());
        match by_verbs.get_mut(&key) {
            Some(same) => {
                same.position = same.position.min(part.position);
                same.namespaces.extend(part.namespaces);
            }
            None => {
                by_verbs.insert(key, part);
            }
        }
    }
    let mut parts: Vec<ResourcePermissions<'_>> = by_verbs.into_values().collect();
    parts.sort_by_key(|part| (!part.permission.resource.starts_with("pods/"), part.position));
    parts.iter().map(describe).collect::<Vec<_>>().join("; ")
}

fn objects(permission: &Permission) -> Objects<'_> {
    let Permission { server, group, resource, name, .. } = permission;
    (*server, group, resource, name)
}

fn describe(part: &ResourcePermissions<'_>) -> String {
    let ResourcePermissions { permission: Permission { server, group, resource, name, .. }, verbs, namespaces, .. } =
        part;
    let server = match server {
        Server::Webhook => "webhook",
        Server::Controller => "controller",
    };
    let mut text = format!("{server}: {} {resource}", verbs.join(", "));
    // Writing to a string never fails. No rule has a subresource of a group.
    for (separator, part) in [(".", *group), (" ", &**name)] {
        if !part.is_empty() {
            let _ = write!(text, "{separator}{part}");
        }
    }
    if !namespaces.is_empty() {
        let _ = write!(text, " in {}", join_up_to(MAX_NAMESPACES, namespaces));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `get` is denied in all namespaces but one. Of the namespaces, in reverse order, the last one sorts first.
    #[test]
    fn groups_namespaces_with_the_same_verbs() {
        let permission = |verb, resource, namespace: usize| Permission {
            server: Server::Controller,
            verb,
            group: "",
            resource,
            name: "".into(),
            namespace: Some(format!("team-{namespace:04}")),
        };
        let denied = (0..2000).rev().flat_map(|namespace| {
            let get = (namespace != 1000).then(|| permission("get", "pods/exec", namespace));
            let events = (namespace == 1000).then(|| permission("create", "events", namespace));
            get.into_iter().chain([permission("create", "pods/exec", namespace)]).chain(events)
        });
        let expected = "controller: get, create pods/exec in team-0000, team-0001, team-0002, team-0003, team-0004, team-0005, \
                        team-0006, team-0007 and 1991 more; controller: create pods/exec in team-1000; \
                        controller: create events in team-1000";
        assert_eq!(list(&denied.collect::<Vec<_>>()), expected);
    }
}
