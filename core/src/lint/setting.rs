//! Settings that the processes of a container see, as far as the pod shows them. They come from the environment, from
//! the configuration file that trainmesh mounts for NCCL, and from the command.

use std::collections::HashSet;

use serde_json::Value;

use super::command::CommandSettings;
use super::raw::{mounts, str_at};
use crate::fabric::conf;
use crate::fabric::nccl::{self, parse_c_integer};
use crate::json;
use crate::keys;
use crate::pod::{Container, Pod};

/// Settings of one container that checks need.
pub(super) struct ContainerSettings<'a> {
    container: Container<'a>,
    all: Vec<ContainerSetting<'a>>,
    /// True if the command of the container runs `mpirun`.
    pub(super) runs_mpirun: bool,
    /// Variables that `mpirun -x` in the command passes to the ranks.
    pub(super) passed_variables: Vec<&'a str>,
    /// True if `mpirun -x` passes variables that are not known.
    pub(super) passes_unknown: bool,
}

/// One setting.
#[derive(Clone, Copy)]
pub(super) struct ContainerSetting<'a> {
    pub(super) name: &'a str,
    /// The value; `None` if the pod does not show it.
    pub(super) value: Option<&'a str>,
    pub(super) origin: Origin,
}

/// Place that contains a setting.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The container's environment, with the index.
    Env(usize),
    /// The configuration file.
    Conf,
    /// The shell's `export` in the command line, with the index.
    Export(usize),
    /// `mpirun -x` in the command line, with the index: the setting is for the ranks, which run in other pods.
    Mpirun(usize),
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
const PREFIXES: [&str; 9] =
    [nccl::PREFIX, "FI_", "RDMAV_", "GLOO_", "TP_", "UCX_", "OMPI_MCA_", "PRTE_MCA_", "NVIDIA_IMEX_CHANNELS"];

impl<'a> ContainerSettings<'a> {
    pub(super) fn new(conf: &NcclConf<'a>, container: Container<'a>) -> Self {
        let mut all: Vec<ContainerSetting<'a>> = Vec::new();
        let entries = json::items(container.raw(), "env").enumerate();
        for (index, entry) in entries {
            let Some(name) = str_at(entry, "name").filter(|name| is_relevant(name)) else { continue };
            // The kubelet expands references to other variables; the result is unknown.
            let value = match entry.get("valueFrom") {
                Some(from) if !from.is_null() => None,
                _ => Some(str_at(entry, "value").unwrap_or_default()).filter(|value| !value.contains("$(")),
            };
            // As in the kubelet, the last entry of a name takes effect.
            all.retain(|known| known.name != name);
            if all.len() == MAX_SETTINGS {
                break;
            }
            all.push(ContainerSetting { name, value, origin: Origin::Env(index) });
        }
        if conf.is_mounted(container) {
            let in_env: HashSet<&str> = all.iter().map(|known| known.name).collect();
            let unset = conf.settings.iter().filter(|(name, _)| !in_env.contains(name));
            all.extend(unset.map(|(name, value)| ContainerSetting { name, value: Some(value), origin: Origin::Conf }));
        }
        let command = CommandSettings::parse(container);
        for found in command.settings.iter().filter(|found| is_relevant(found.name)).take(MAX_SETTINGS) {
            let origin = if found.passed { Origin::Mpirun(found.index) } else { Origin::Export(found.index) };
            let known = all.iter().position(|known| known.name == found.name);
            match (known, found.value) {
                // `mpirun -x NAME` passes the value of its own environment.
                (Some(_), None) if found.passed => {}
                (Some(known), value) => all[known] = ContainerSetting { name: found.name, value, origin },
                (None, value) => all.push(ContainerSetting { name: found.name, value, origin }),
            }
        }
        let passed = command.settings.iter().filter(|found| found.passed);
        let passed_variables = passed.map(|found| found.name).collect();
        Self {
            container,
            all,
            runs_mpirun: command.runs_mpirun,
            passed_variables,
            passes_unknown: command.passes_unknown,
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = ContainerSetting<'a>> {
        self.all.iter().copied()
    }

    pub(super) fn get(&self, name: &str) -> Option<ContainerSetting<'a>> {
        self.iter().find(|setting| setting.name == name)
    }

    /// Returns the value of `name` if it is known and not empty. NCCL treats an empty value as unset.
    pub(super) fn value(&self, name: &str) -> Option<&'a str> {
        self.get(name)?.value.filter(|value| !value.is_empty())
    }

    /// Returns the value of `name` as the number that NCCL reads, or `None` if NCCL uses the default.
    pub(super) fn number(&self, name: &str) -> Option<i64> {
        self.value(name).and_then(parse_c_integer)
    }

    /// Returns the JSON pointer of the setting `name`.
    pub(super) fn field(&self, name: &str) -> String {
        let pointer = self.container.pointer();
        match self.get(name).map(|setting| setting.origin) {
            Some(Origin::Env(index)) => format!("{pointer}/env/{index}"),
            Some(Origin::Export(index) | Origin::Mpirun(index)) => self.container.argument_pointer(index),
            Some(Origin::Conf) | None => "/metadata/annotations/trainmesh.dev~1nccl-conf".to_owned(),
        }
    }
}

/// Returns true if the environment of `container` sets an NCCL variable.
pub(super) fn sets_nccl(container: Container<'_>) -> bool {
    container.env_names().any(|name| name.starts_with(nccl::PREFIX))
}

fn is_relevant(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || nccl::has_misspelled_prefix(name)
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
            let mut paths = items.into_iter().flatten().filter_map(|item| str_at(item.get("fieldRef")?, "fieldPath"));
            paths.any(|path| path == field_path)
        };
        let volumes = listed.into_iter().flatten().filter(projects_annotation);
        Self { settings, volumes: volumes.filter_map(|volume| str_at(volume, "name")).collect() }
    }

    fn is_mounted(&self, container: Container<'_>) -> bool {
        !self.volumes.is_empty() && mounts(container).any(|(_, mount)| self.is_at(mount))
    }

    /// Returns true if `mount` is one of the file.
    pub(super) fn is_at(&self, mount: &Value) -> bool {
        str_at(mount, "name").is_some_and(|name| self.volumes.contains(name))
    }

    /// Returns true if `container` mounts the file, and the file sets the variable `name`.
    pub(super) fn provides(&self, name: &str, container: Container<'_>) -> bool {
        self.is_mounted(container) && self.settings.iter().any(|(known, _)| *known == name)
    }
}
