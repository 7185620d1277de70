//! Settings that the processes of a container see, as far as the pod shows them: the environment, and the configuration
//! file that trainmesh mounts for NCCL.

use std::collections::HashSet;

use serde_json::Value;

use super::raw::{mounts, text};
use crate::fabric::conf;
use crate::fabric::nccl::parse_c_integer;
use crate::keys;
use crate::pod::{Container, Pod};

/// Settings of one container that checks need.
pub(super) struct Settings<'a> {
    container: Container<'a>,
    all: Vec<Setting<'a>>,
}

/// One setting.
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) name: &'a str,
    /// The value; `None` if the pod does not show it.
    pub(super) value: Option<&'a str>,
    /// Index in the environment; `None` if the setting comes from the configuration file.
    pub(super) index: Option<usize>,
}

/// Maximum number of settings per container and per file. NCCL and related libraries have about 200.
const MAX_SETTINGS: usize = 512;

/// The configuration file that trainmesh mounts for NCCL.
pub(super) struct NcclConf<'a> {
    settings: Vec<(&'a str, &'a str)>,
    /// Names of the volumes with the file.
    volumes: HashSet<&'a str>,
}

/// Prefixes of the variables that checks need.
const PREFIXES: [&str; 5] = ["NCCL_", "FI_", "RDMAV_", "GLOO_", "TP_"];

impl<'a> Settings<'a> {
    pub(super) fn new(conf: &NcclConf<'a>, container: Container<'a>) -> Self {
        let mut all: Vec<Setting<'a>> = Vec::new();
        let entries = container.raw().get("env").and_then(Value::as_array).into_iter().flatten().enumerate();
        for (index, entry) in entries {
            let Some(name) = text(entry, "name").filter(|name| is_relevant(name)) else { continue };
            // The kubelet expands references to other variables; the result is unknown.
            let value = match entry.get("valueFrom") {
                Some(from) if !from.is_null() => None,
                _ => Some(text(entry, "value").unwrap_or_default()).filter(|value| !value.contains("$(")),
            };
            // As in the kubelet, the last entry of a name takes effect.
            all.retain(|known| known.name != name);
            if all.len() == MAX_SETTINGS {
                break;
            }
            all.push(Setting { name, value, index: Some(index) });
        }
        if conf.is_mounted(container) {
            let in_env: HashSet<&str> = all.iter().map(|known| known.name).collect();
            let unset = conf.settings.iter().filter(|(name, _)| !in_env.contains(name));
            all.extend(unset.map(|(name, value)| Setting { name, value: Some(value), index: None }));
        }
        Self { container, all }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Setting<'a>> {
        self.all.iter().copied()
    }

    pub(super) fn get(&self, name: &str) -> Option<Setting<'a>> {
        self.iter().find(|setting| setting.name == name)
    }

    /// Returns the value of `name` if it is known and not empty. NCCL treats an empty value as unset.
    pub(super) fn value(&self, name: &str) -> Option<&'a str> {
        self.get(name)?.value.filter(|value| !value.is_empty())
    }

    /// Returns the value of `name` as the number that NCCL reads.
    pub(super) fn number(&self, name: &str) -> Option<i64> {
        self.value(name).and_then(parse_c_integer)
    }

    /// Returns the JSON pointer of the setting `name`.
    pub(super) fn field(&self, name: &str) -> String {
        match self.get(name).map(|setting| setting.index) {
            Some(Some(index)) => format!("{}/env/{index}", self.container.pointer()),
            _ => "/metadata/annotations/trainmesh.dev~1nccl-conf".to_owned(),
        }
    }
}

/// Returns true if the environment of `container` sets an NCCL variable.
pub(super) fn sets_nccl(container: Container<'_>) -> bool {
    container.env_names().any(|name| name.starts_with("NCCL_"))
}

fn is_relevant(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

impl<'a> NcclConf<'a> {
    /// Parses the file in the annotation of `pod`, and finds the volumes that project it.
    pub(super) fn from_pod(pod: Pod<'a>) -> Self {
        let Some(file) = pod.annotation(keys::NCCL_CONF) else {
            return Self { settings: Vec::new(), volumes: HashSet::new() };
        };
        let mut names = HashSet::new();
        let relevant = conf::parse(file).filter(|(name, _)| is_relevant(name) && names.insert(*name));
        let settings = relevant.take(MAX_SETTINGS).collect();
        let listed = pod.spec().and_then(|spec| spec.get("volumes")).and_then(Value::as_array);
        let field_path = conf::field_path();
        let projects_annotation = |volume: &&Value| {
            let items = volume.get("downwardAPI").and_then(|source| source.get("items")).and_then(Value::as_array);
            let mut paths = items.into_iter().flatten().filter_map(|item| text(item.get("fieldRef")?, "fieldPath"));
            paths.any(|path| path == field_path)
        };
        let volumes = listed.into_iter().flatten().filter(projects_annotation);
        Self { settings, volumes: volumes.filter_map(|volume| text(volume, "name")).collect() }
    }

    fn is_mounted(&self, container: Container<'_>) -> bool {
        !self.volumes.is_empty()
            && mounts(container).any(|(_, mount)| text(mount, "name").is_some_and(|name| self.volumes.contains(name)))
    }
}
