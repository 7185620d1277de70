//! The API versions of an etcd container.

use super::Container;
use crate::json;

/// Flag and variable that enable the API of version 2.
const FLAG: &str = "--enable-v2";
const VARIABLE: &str = "ETCD_ENABLE_V2";
/// Flag and variable of the configuration file, with which etcd ignores all others.
const FILE_FLAG: &str = "--config-file";
const FILE_VARIABLE: &str = "ETCD_CONFIG_FILE";

impl Container<'_> {
    /// Returns true if the container serves version 2 of etcd's API; `None` if it is not etcd, its image has no
    /// version, or a file or another object may enable it.
    ///
    /// Up to 3.3 it is enabled by default, up to 3.5 disabled by default, and later versions do not have it.
    pub(crate) fn serves_etcd_v2(self) -> Option<bool> {
        let image = self.raw().get("image")?.as_str()?;
        let (path, tag) = image.split_once('@').map_or(image, |(image, _)| image).rsplit_once(':')?;
        let name = path.rsplit('/').next()?;
        if !name.contains("etcd") {
            return None;
        }
        let mut numbers = tag.trim_start_matches('v').split(['.', '-']).map(str::parse::<u64>);
        let (major, minor) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
        Some(match (major, minor) {
            (..3, _) | (3, ..=3) => true,
            (3, 4..=5) => self.enables_etcd_v2()?,
            _ => false,
        })
    }

    /// Returns true if its flag or variable enables version 2 of the API; `None` if the pod does not contain the value.
    fn enables_etcd_v2(self) -> Option<bool> {
        let words = || self.command_line().flat_map(str::split_whitespace);
        let has_variable = |name: &str| self.env_names().any(|known| known == name);
        if words().any(|word| word.starts_with(FILE_FLAG)) || has_variable(FILE_VARIABLE) {
            return None;
        }
        match words().find_map(|word| word.strip_prefix(FLAG)).or_else(|| self.env(VARIABLE)) {
            Some(value) => Some(value.trim_start_matches('=') != "false"),
            None if has_variable(VARIABLE) || json::items(self.raw(), "envFrom").next().is_some() => None,
            None => Some(false),
        }
    }
}
