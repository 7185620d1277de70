//! The settings that a container's processes see, as far as the pod tells: its environment, and below it the file that
//! trainmesh lets NCCL read.

use std::collections::HashSet;

use serde_json::Value;

use super::raw::{mounts, text};
use crate::fabric::conf;
use crate::fabric::nccl::number;
use crate::keys;
use crate::pod::{Container, Pod};

/// The settings of one container that checks look at.
pub(super) struct Settings<'a> {
    container: Container<'a>,
    all: Vec<Setting<'a>>,
}

/// One setting.
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) name: &'a str,
    /// What it holds; `None` where that comes from elsewhere.
    pub(super) value: Option<&'a str>,
    /// Its index in the environment; `None` where it stands in the file.
    pub(super) index: Option<usize>,
}

/// The most settings of a container, and of the file, that are looked at: NCCL and its companions know some 200.
const SETTINGS: usize = 512;

/// The file that trainmesh lets NCCL read.
pub(super) struct File<'a> {
    settings: Vec<(&'a str, &'a str)>,
    /// The names of the volumes that hold it.
    volumes: HashSet<&'a str>,
}

/// Variables that some check looks at begin with one of these.
const PREFIXES: [&str; 5] = ["NCCL_", "FI_", "RDMAV_", "GLOO_", "TP_"];

impl<'a> Settings<'a> {
    pub(super) fn new(file: &File<'a>, container: Container<'a>) -> Self {
        let mut all: Vec<Setting<'a>> = Vec::new();
        let entries = container.raw().get("env").and_then(Value::as_array).into_iter().flatten().enumerate();
        for (index, entry) in entries {
            let Some(name) = text(entry, "name").filter(|name| is_seen(name)) else { continue };
            // What the kubelet puts together from other variables is not known here.
            let value = match entry.get("valueFrom") {
                Some(from) if !from.is_null() => None,
                _ => Some(text(entry, "value").unwrap_or_default()).filter(|value| !value.contains("$(")),
            };
            // The last entry of a name wins, as it does in the kubelet.
            all.retain(|known| known.name != name);
            if all.len() == SETTINGS {
                break;
            }
            all.push(Setting { name, value, index: Some(index) });
        }
        if file.is_read_by(container) {
            let of_environment: HashSet<&str> = all.iter().map(|known| known.name).collect();
            let unset = file.settings.iter().filter(|(name, _)| !of_environment.contains(name));
            all.extend(unset.map(|(name, value)| Setting { name, value: Some(value), index: None }));
        }
        Self { container, all }
    }

    /// Every setting.
    pub(super) fn all(&self) -> impl Iterator<Item = Setting<'a>> {
        self.all.iter().copied()
    }

    /// The setting of `name`.
    pub(super) fn get(&self, name: &str) -> Option<Setting<'a>> {
        self.all().find(|setting| setting.name == name)
    }

    /// What `name` is set to, where that is known. Empty is unset to NCCL.
    pub(super) fn value(&self, name: &str) -> Option<&'a str> {
        self.get(name)?.value.filter(|value| !value.is_empty())
    }

    /// The value of `name` as the number that NCCL reads.
    pub(super) fn number(&self, name: &str) -> Option<i64> {
        self.value(name).map(number)
    }

    /// JSON pointer of the setting of `name`.
    pub(super) fn field(&self, name: &str) -> String {
        match self.get(name).map(|setting| setting.index) {
            Some(Some(index)) => format!("{}/env/{index}", self.container.pointer()),
            _ => "/metadata/annotations/trainmesh.dev~1nccl-conf".to_owned(),
        }
    }
}

/// Whether the environment of `container` sets some variable of NCCL.
pub(super) fn sets_nccl(container: Container<'_>) -> bool {
    let entries = container.raw().get("env").and_then(Value::as_array).into_iter().flatten();
    entries.filter_map(|entry| text(entry, "name")).any(|name| name.starts_with("NCCL_"))
}

fn is_seen(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

impl<'a> File<'a> {
    /// The file in the annotation of `pod`, and the volumes that are made of it.
    pub(super) fn read(pod: Pod<'a>) -> Self {
        let Some(file) = pod.annotation(keys::NCCL_CONF) else {
            return Self { settings: Vec::new(), volumes: HashSet::new() };
        };
        let mut names = HashSet::new();
        let seen = conf::read(file).filter(|(name, _)| is_seen(name) && names.insert(*name));
        let settings = seen.take(SETTINGS).collect();
        let listed = pod.spec().and_then(|spec| spec.get("volumes")).and_then(Value::as_array);
        let ours = conf::field_path();
        let from_annotation = |volume: &&Value| {
            let items = volume.get("downwardAPI").and_then(|source| source.get("items")).and_then(Value::as_array);
            let mut paths = items.into_iter().flatten().filter_map(|item| text(item.get("fieldRef")?, "fieldPath"));
            paths.any(|path| path == ours)
        };
        let volumes = listed.into_iter().flatten().filter(from_annotation);
        Self { settings, volumes: volumes.filter_map(|volume| text(volume, "name")).collect() }
    }

    fn is_read_by(&self, container: Container<'_>) -> bool {
        !self.volumes.is_empty()
            && mounts(container).any(|(_, mount)| text(mount, "name").is_some_and(|name| self.volumes.contains(name)))
    }
}
