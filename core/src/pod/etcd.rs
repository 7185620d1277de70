//! The API versions of an etcd container.

use super::Container;

/// Flag and variable that enable the API of version 2.
const FLAG: &str = "--enable-v2";
const VARIABLE: &str = "ETCD_ENABLE_V2";

impl Container<'_> {
    /// Returns true if the container serves version 2 of etcd's API; `None` if it is not etcd, or its image has no version.
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
        let is_enabled = || {
            let flag = self.command_line().flat_map(str::split_whitespace).find_map(|word| word.strip_prefix(FLAG));
            flag.or_else(|| self.env(VARIABLE)).is_some_and(|value| value.trim_start_matches('=') != "false")
        };
        Some(match (major, minor) {
            (..3, _) | (3, ..=3) => true,
            (3, 4..=5) => is_enabled(),
            _ => false,
        })
    }
}
